import { always, maybe, oneOf, personal, type Relation } from './relation.ts';

const source = always(
  'source',
  'text',
  "The source that listed the lead, by its name in leadsync's configuration.",
);
const leadId = always(
  'lead_id',
  'bigint',
  "The service's identifier for the lead; unique within the source.",
);
const sink = always('sink', 'text', "The sink's name in leadsync's configuration.");

const RAW =
  "The lead's JSON as received; if _leadsync_replaced is true, with U+FFFD in place of NUL and lone surrogates.";
const replaced = always(
  '_leadsync_replaced',
  'boolean',
  'Whether the JSON has U+FFFD in place of NUL or a lone surrogate; _leadsync_original then has the original text.',
);
const original = personal(
  maybe(
    '_leadsync_original',
    'text',
    "The lead's JSON exactly as received; null unless _leadsync_replaced is true.",
  ),
);

/** The fields of a lead, under the service's names and in the service's order. */
export const leadFields = [
  source,
  always('id', 'bigint', "The service's identifier for the lead; unique within the source."),
  always('service_name', 'text', 'Display name of the service category.'),
  always('service_slug', 'text', 'Slug of the service category.'),
  always(
    'created_at',
    'time',
    'When the lead was created, according to the service. A time without an offset is UTC.',
  ),
  personal(always('client_name', 'text', 'Name of the client.')),
  personal(always('client_email', 'text', 'Email address of the client.')),
  personal(always('client_phone_number', 'text', 'Phone number of the client.')),
  personal(
    maybe(
      'client_address',
      'text',
      'The address as one line of text, as the client or the service wrote it; null if the lead has no address.',
    ),
  ),
  personal(always('all_details_one_liner', 'text', 'Questions, answers and address in one text.')),
  personal(always('service_question_answers', 'jsonb', 'The answers in order: [{question, slug, answer}].')),
  personal(always('answers', 'jsonb', 'The answers by slug, with an array for a repeated slug.')),
];

/** The tables of the synced store. In the ledger or in PostgreSQL, some of them are views over private tables. */
export const tables: readonly Relation[] = [
  {
    name: 'leads',
    kind: 'table',
    grain: 'lead: its current content',
    key: ['source', 'id'],
    notes: 'Written by leadsync.',
    columns: [
      ...leadFields,
      always(
        '_leadsync_first_seen_at',
        'time',
        'When leadsync first saw the lead in a listing. Never changes.',
      ),
      always('_leadsync_changed_at', 'time', 'When leadsync first saw this content in a listing.'),
      always(
        '_leadsync_synced_at',
        'time',
        'When this row was last written to this store. In the ledger, when this content was first listed.',
      ),
      always(
        '_leadsync_last_listed_at',
        'time',
        'When the lead was last known to be listed. In the ledger, the last complete listing that contained it; in PostgreSQL, the first listing that contained this content. `v_gone_leads` is the same in both stores.',
      ),
      always('_leadsync_version', 'integer', 'Number of the content, counted from 1 for each lead.'),
      always('_leadsync_hash', 'text', 'Hash of the content: equal texts have equal hashes.'),
      personal(
        maybe(
          '_leadsync_raw',
          'json',
          `${RAW} In PostgreSQL, null if the other columns hold everything that the lead has, unless the sink has \`raw: true\`.`,
        ),
      ),
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
      always('position', 'integer', "Index among the lead's answers, from 0."),
      always('question', 'text', 'The question as the service worded it.'),
      always('slug', 'text', "The question's slug. May repeat within a lead."),
      personal(always('answer', 'text', "The client's answer.")),
    ],
  },
  {
    name: 'lead_versions',
    kind: 'table',
    grain: 'content that a lead has had',
    key: ['source', 'lead_id', 'version'],
    notes: 'A lead whose content never changed has one version.',
    columns: [
      source,
      leadId,
      always('version', 'integer', 'Number of the content, counted from 1 for each lead.'),
      always('valid_from', 'time', 'When this content was first listed.'),
      maybe('valid_to', 'time', 'When the next content was first listed; null for the current content.'),
      always('is_current', 'boolean', 'Whether this is the newest content.'),
      maybe(
        'changed_fields',
        'json',
        'The names of the fields that differ from the previous version, as an array; null for the first version, and if `retention` had removed the previous content.',
      ),
      always(
        'poll_id',
        'bigint',
        'Number of the poll in which this content was first listed. Not unique if there were several ledgers.',
      ),
      always('_leadsync_hash', 'text', 'Hash of the content: equal texts have equal hashes.'),
      personal(always('raw', 'json', RAW)),
      always('_leadsync_no', 'bigint', 'Number of the row in the ledger; increases with time.'),
      replaced,
      original,
    ],
  },
  {
    name: 'polls',
    kind: 'table',
    grain: 'poll of a source',
    key: ['source', 'started_at'],
    notes: 'Measure freshness by polls, not by leads: an hour without new leads is not a fault.',
    columns: [
      always('poll_id', 'bigint', 'Number of the poll; increases with time, unique within one ledger.'),
      always('source', 'text', "The polled source, by its name in leadsync's configuration."),
      always('started_at', 'time', 'When the poll began.'),
      maybe('finished_at', 'time', 'When the poll finished; null while it runs.'),
      oneOf(
        'status',
        ['running', 'success', 'unchanged', 'partial', 'failed'],
        'running, success, unchanged (the same listing as before), partial (failed after recording part of the listing) or failed.',
      ),
      always(
        'leads_listed',
        'bigint',
        'Number of distinct leads in the listing, excluding rejected leads. For a partial poll, only the leads that were read; for an unchanged poll, the leads in the last complete listing.',
      ),
      always('leads_new', 'bigint', 'Number of leads listed for the first time.'),
      always('leads_changed', 'bigint', 'Number of leads listed with new content.'),
      always('leads_rejected', 'bigint', "Number of elements that violated the service's API description."),
      always('bytes', 'bigint', 'Size of the listing, in bytes.'),
      maybe('http_status', 'integer', 'HTTP status of the answer; null if the service did not answer.'),
      maybe('error', 'text', 'Why the poll failed. Contains no personal data.'),
    ],
  },
  {
    name: 'deliveries',
    kind: 'table',
    grain: 'content of a lead that is owed to a sink, with another row for each replay',
    key: ['delivery_id'],
    notes: '',
    columns: [
      always(
        'delivery_id',
        'text',
        'Identifies the delivery. Receivers get it as the idempotency key. Changes only if the lead changes before the first attempt, or if a later attempt uses another mapping (it then ends in `:m1`).',
      ),
      source,
      leadId,
      always('lead_version', 'integer', 'The version of the lead that the delivery contains.'),
      sink,
      oneOf(
        'event',
        ['created', 'updated', 'erased'],
        'created, updated (a changed content) or erased (the notice that the lead was erased).',
      ),
      oneOf(
        'state',
        ['pending', 'delivered', 'dead', 'skipped'],
        'pending, delivered, dead (given up) or skipped (left out on purpose).',
      ),
      maybe(
        'reason',
        'text',
        'Why the delivery is dead or skipped, why its last attempt failed, or which values the destination of a delivered lead did not take.',
      ),
      always(
        'attempts',
        'integer',
        'Number of attempts that count towards the retry schedule. The table attempts contains every attempt.',
      ),
      always('owed_at', 'time', 'When the delivery was recorded as owed.'),
      maybe(
        'first_attempt_at',
        'time',
        'When the first attempt began or may have begun. For a delivery that was skipped before its outcome was known, this is when its batch was formed.',
      ),
      maybe('next_attempt_at', 'time', 'When the delivery is due; null once it is settled.'),
      maybe(
        'settled_at',
        'time',
        'When the delivery was delivered, given up or skipped; null while it is pending.',
      ),
      always('replay', 'boolean', 'Whether the delivery is a replay.'),
      always('_leadsync_no', 'bigint', 'Number of the row in the ledger; increases with time.'),
      maybe(
        'ref_object',
        'text',
        'What the lead became at the destination, in its own words, such as message. Null if the destination did not say.',
      ),
      maybe('ref_id', 'text', 'The id of that record or message at the destination.'),
      maybe('ref_url', 'text', 'The address at which a person can open it; null if it has none.'),
    ],
  },
  {
    name: 'attempts',
    kind: 'table',
    grain: 'attempt of a delivery',
    key: ['delivery_id', 'started_at'],
    notes: 'Consecutive attempts that failed for the same reason share a row.',
    columns: [
      always('delivery_id', 'text', 'The delivery.'),
      source,
      leadId,
      sink,
      always(
        'started_at',
        'time',
        'When the attempt began. If several attempts share the row, when the first of them began.',
      ),
      always(
        'duration_ms',
        'integer',
        'Duration of the attempt in milliseconds. If several attempts share the row, the duration of the last of them.',
      ),
      oneOf(
        'outcome',
        ['delivered', 'refused', 'unavailable'],
        'delivered, refused (the destination did not accept this lead) or unavailable (the destination did not work).',
      ),
      maybe(
        'http_status',
        'integer',
        'HTTP status of the answer; null if there was no answer, and for destinations without HTTP.',
      ),
      maybe('error', 'text', 'Why the attempt failed. Contains no personal data.'),
      always('times', 'integer', 'Number of attempts that share the row.'),
      maybe('last_started_at', 'time', 'When the last of these attempts began; null for a single attempt.'),
      always('_leadsync_no', 'bigint', 'Number of the row in the ledger; increases with time.'),
    ],
  },
  {
    name: 'rejected_leads',
    kind: 'table',
    grain: "element of a listing that violated the service's API description",
    key: ['source', 'hash'],
    notes: 'An element that occurs in many listings has one row.',
    columns: [
      always('rejected_id', 'bigint', 'Number of the row in the ledger.'),
      always(
        'source',
        'text',
        "The source that listed the element, by its name in leadsync's configuration.",
      ),
      always('poll_id', 'bigint', 'Number of the first poll whose listing contained the element.'),
      always('last_poll_id', 'bigint', 'Number of the last poll whose listing contained the element.'),
      always('position', 'integer', 'Index of the element in the last listing that contained it, from 0.'),
      maybe('lead_id', 'bigint', "The lead's id, if it is readable."),
      always('reason', 'text', 'What is wrong with the element. Contains no personal data.'),
      always('path', 'text', 'The path of the faulty field; empty for the element as a whole.'),
      maybe('resolved_at', 'time', 'When the lead was first listed without the fault; null until then.'),
      always('hash', 'text', 'Hash of the text.'),
      personal(always('raw', 'text', 'The text of the element as received.'), 'May be personal data.'),
    ],
  },
];
