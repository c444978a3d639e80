import { always, maybe, oneOf, personal, type Relation } from './relation.ts';

const source = always('source', 'text', "The source in leadsync's configuration that listed the lead.");
const leadId = always('lead_id', 'bigint', "The service's identifier of the lead; unique within its source.");
const sink = always('sink', 'text', "The sink's name in leadsync's configuration.");

const RAW = "The lead's JSON as received, with U+FFFD where _leadsync_replaced says so.";
const replaced = always(
  '_leadsync_replaced',
  'boolean',
  'Whether U+FFFD stands in a text for a NUL or half a surrogate pair; _leadsync_original has the original.',
);
const original = personal(
  maybe(
    '_leadsync_original',
    'text',
    "The lead's JSON exactly as received, where U+FFFD was put into it; null where it is the text as it stands.",
  ),
);

/** The fields of a lead as the service has them, in its order. */
export const leadFields = [
  source,
  always('id', 'bigint', "The service's identifier of the lead; unique within its source."),
  always('service_name', 'text', 'Display name of the service category.'),
  always('service_slug', 'text', 'Slug of the service category.'),
  always(
    'created_at',
    'time',
    'When the lead was created, as the service says. A time without an offset is taken as UTC.',
  ),
  personal(always('client_name', 'text', 'Name of the client.')),
  personal(always('client_email', 'text', 'Email address of the client.')),
  personal(always('client_phone_number', 'text', 'Phone number of the client.')),
  personal(
    maybe(
      'client_address',
      'text',
      'The address as one line of text, as the client or the service wrote it; null when there is none.',
    ),
  ),
  personal(always('all_details_one_liner', 'text', 'Questions, answers and address in one text.')),
  personal(always('service_question_answers', 'jsonb', 'The answers in order: [{question, slug, answer}].')),
  personal(always('answers', 'jsonb', 'The answers by slug; an array where a slug repeats.')),
];

/** The tables of the synced store. In the ledger some of them are views over its private tables. */
export const tables: readonly Relation[] = [
  {
    name: 'leads',
    kind: 'table',
    grain: 'lead: its current content',
    key: ['source', 'id'],
    notes: 'Written by leadsync.',
    columns: [
      ...leadFields,
      always('_leadsync_first_seen_at', 'time', 'When leadsync first listed the lead. Never changes.'),
      always('_leadsync_changed_at', 'time', 'When leadsync first listed this content.'),
      always(
        '_leadsync_synced_at',
        'time',
        'When this row was last written to this store: in the ledger, when this content was first listed.',
      ),
      always(
        '_leadsync_last_listed_at',
        'time',
        'When the lead is known to have been listed. Ledger: the last complete listing that had it. PostgreSQL: the first listing of this content. v_gone_leads says the same in both.',
      ),
      always('_leadsync_version', 'integer', 'Counts the contents that the lead has had, from 1.'),
      always('_leadsync_hash', 'text', 'Names this content of the lead: the same text, the same hash.'),
      personal(always('_leadsync_raw', 'json', RAW)),
      replaced,
      original,
    ],
  },
  {
    name: 'lead_answers',
    kind: 'table',
    grain: "answer of a lead's current content",
    key: ['source', 'lead_id', 'position'],
    notes: 'Written by leadsync.',
    columns: [
      source,
      leadId,
      always('position', 'integer', "Place among the lead's answers, from 0."),
      always('question', 'text', 'The question as it was put.'),
      always('slug', 'text', "The question's slug. May repeat within a lead."),
      personal(always('answer', 'text', 'What the client answered.')),
    ],
  },
  {
    name: 'lead_versions',
    kind: 'table',
    grain: 'content that a lead has had',
    key: ['source', 'lead_id', 'version'],
    notes: 'A lead whose content never changed has one.',
    columns: [
      source,
      leadId,
      always('version', 'integer', 'Counts the contents of the lead, from 1.'),
      always('valid_from', 'time', 'When this content of the lead was first listed.'),
      maybe('valid_to', 'time', 'When the next content was first listed; null for the current one.'),
      always('is_current', 'boolean', 'Whether no newer content is known.'),
      maybe(
        'changed_fields',
        'json',
        'The names of the fields that differ from the version before, as an array; null for the first, and where `retention` had removed the one before.',
      ),
      always(
        'poll_id',
        'bigint',
        'The poll that first listed this content; not unique where ledgers were made anew.',
      ),
      always('_leadsync_hash', 'text', 'Names this content of the lead: the same text, the same hash.'),
      personal(always('raw', 'json', RAW)),
      always('_leadsync_no', 'bigint', 'Its number in the ledger; grows with time.'),
      replaced,
      original,
    ],
  },
  {
    name: 'polls',
    kind: 'table',
    grain: 'poll: one reading of a source',
    key: ['source', 'started_at'],
    notes: 'Freshness is measured here and not on leads: a quiet hour is not a fault.',
    columns: [
      always('poll_id', 'bigint', 'Grows with time; unique within one ledger.'),
      always('source', 'text', "The source in leadsync's configuration that was read."),
      always('started_at', 'time', 'When the poll began.'),
      maybe('finished_at', 'time', 'When the poll ended; null while it runs.'),
      oneOf(
        'status',
        ['running', 'success', 'unchanged', 'partial', 'failed'],
        'running, success, unchanged (nothing new at the service), partial (broken off after some of it) or failed.',
      ),
      always(
        'leads_listed',
        'bigint',
        'Leads in the listing, each once, without what was rejected: of a partial one those that were read, of an unchanged one those of the poll before.',
      ),
      always('leads_new', 'bigint', 'Leads listed for the first time.'),
      always('leads_changed', 'bigint', 'Leads listed with another content than before.'),
      always('leads_rejected', 'bigint', "Elements that broke the service's description."),
      always('bytes', 'bigint', 'Size of the listing.'),
      maybe('http_status', 'integer', 'What the service answered; null when it did not.'),
      maybe('error', 'text', 'Why it failed. Holds no personal data.'),
    ],
  },
  {
    name: 'deliveries',
    kind: 'table',
    grain: 'content of a lead that is owed to a sink, and one more for each replay',
    key: ['delivery_id'],
    notes: '',
    columns: [
      always(
        'delivery_id',
        'text',
        'Names the delivery; receivers get it as the id by which they recognise a repeat. Another one only when its lead changes before the first attempt.',
      ),
      source,
      leadId,
      always('lead_version', 'integer', 'Which content of the lead.'),
      sink,
      oneOf(
        'event',
        ['created', 'updated', 'erased'],
        'created, updated for every further content, or erased: the word that the lead was erased.',
      ),
      oneOf(
        'state',
        ['pending', 'delivered', 'dead', 'skipped'],
        'pending, delivered, dead (given up) or skipped (left out on purpose).',
      ),
      maybe('reason', 'text', 'Why it is dead or skipped, or why the last attempt failed.'),
      always(
        'attempts',
        'integer',
        'Attempts that count for the retry schedule; the table attempts has all of them.',
      ),
      always('owed_at', 'time', 'Since when it is owed.'),
      maybe(
        'first_attempt_at',
        'time',
        'When it was first attempted, or may have been: of one that was left out before its outcome was known, when its batch was made.',
      ),
      maybe('next_attempt_at', 'time', 'When it is due; null once it is settled.'),
      maybe('settled_at', 'time', 'When it was delivered, given up or left out.'),
      always('replay', 'boolean', 'Whether somebody asked for the lead to be sent again.'),
      always('_leadsync_no', 'bigint', 'Its number in the ledger; grows with time.'),
    ],
  },
  {
    name: 'attempts',
    kind: 'table',
    grain: 'attempt of a delivery',
    key: ['delivery_id', 'started_at'],
    notes: 'Attempts that failed alike, one after another, while a sink was down, are one row.',
    columns: [
      always('delivery_id', 'text', 'The delivery.'),
      source,
      leadId,
      sink,
      always('started_at', 'time', 'When the attempt began; the first of them where several are one row.'),
      always(
        'duration_ms',
        'integer',
        'How long the attempt took, in milliseconds; the last of them where several are one row.',
      ),
      oneOf(
        'outcome',
        ['delivered', 'refused', 'unavailable'],
        'delivered, refused (this lead is not wanted) or unavailable (the destination did not work).',
      ),
      maybe('http_status', 'integer', 'What a destination that speaks HTTP answered.'),
      maybe('error', 'text', 'Why it failed. Holds no personal data.'),
      always('times', 'integer', 'How many attempts the row stands for.'),
      maybe('last_started_at', 'time', 'When the last of them began; null for a single one.'),
      always('_leadsync_no', 'bigint', 'Its number in the ledger; grows with time.'),
    ],
  },
  {
    name: 'rejected_leads',
    kind: 'table',
    grain: "element of a listing that broke the service's description",
    key: ['source', 'hash'],
    notes: 'One that stands in many listings is one row.',
    columns: [
      always('rejected_id', 'bigint', 'Its number in the ledger.'),
      always('source', 'text', "The source in leadsync's configuration that listed the element."),
      always('poll_id', 'bigint', 'The first poll that listed it so.'),
      always('last_poll_id', 'bigint', 'The last poll that listed it so.'),
      always('position', 'integer', 'Its place in that listing, from 0.'),
      maybe('lead_id', 'bigint', "The lead's id, where one could be read."),
      always('reason', 'text', 'What is wrong with it. Holds no personal data.'),
      always('path', 'text', 'Where in it; empty for the whole.'),
      maybe('resolved_at', 'time', 'When the lead came right; null while it has not.'),
      always('hash', 'text', 'Names the text.'),
      personal(always('raw', 'text', 'Its text as received.'), 'May be personal data.'),
    ],
  },
];
