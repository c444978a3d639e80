import { always, maybe, oneOf, type Relation } from './relation.ts';
import { leadFields } from './tables.ts';

const source = always('source', 'text', "The source in leadsync's configuration.");
const sink = always('sink', 'text', "The sink's name in leadsync's configuration.");
const leadId = always('lead_id', 'bigint', "The service's identifier of the lead.");
const clientKey =
  'Joins the leads of one client: a hash, keyed with store.client_key, of the email address in lower case, or of the phone number where there is none.';

const owedAt = always('owed_at', 'time', 'Since when the lead is owed to the sink.');
const isBackfill = always(
  'is_backfill',
  'boolean',
  'Whether the lead was there before the first poll that listed any lead of its source, or was owed to the sink by a later backfill. Such leads are old when they come.',
);

/** The views of the synced store: the stable contract for people's own queries. */
export const views: readonly Relation[] = [
  {
    name: 'v_leads',
    kind: 'view',
    grain: "lead, without leadsync's own columns",
    key: ['source', 'id'],
    notes: '',
    columns: leadFields,
  },
  {
    name: 'v_leads_no_pii',
    kind: 'view',
    grain: 'lead, without personal data',
    key: ['source', 'id'],
    notes: 'No name, email address, phone number, address or free text: for those who count and compare.',
    columns: [
      source,
      always('id', 'bigint', "The service's identifier of the lead."),
      always('service_name', 'text', 'Display name of the service category.'),
      always('service_slug', 'text', 'Slug of the service category.'),
      always('created_at', 'time', 'When the lead was created, as the service says.'),
      always('created_day', 'day', 'The UTC day of created_at.'),
      always('created_weekday', 'integer', 'The UTC day of the week of created_at: 0 is Sunday, 6 Saturday.'),
      always('created_hour', 'integer', 'The UTC hour of the day of created_at: 0 to 23.'),
      always(
        'created_hour_number',
        'bigint',
        'Whole hours from the beginning of 1970 to created_at: subtract two to know how many lie between.',
      ),
      always('has_email', 'boolean', 'Whether the client gave an email address.'),
      always('has_phone', 'boolean', 'Whether the client gave a phone number.'),
      always('has_address', 'boolean', 'Whether the client gave an address.'),
      always('first_seen_at', 'time', 'When leadsync first listed the lead.'),
      maybe(
        'client_key',
        'text',
        `${clientKey} Null without such a key in the configuration, for a client without both, and for the moment until a new lead is keyed.`,
      ),
    ],
  },
  {
    name: 'v_clients',
    kind: 'view',
    grain: 'client, as far as they can be told apart without personal data',
    key: ['client_key'],
    notes: 'Empty without store.client_key in the configuration.',
    columns: [
      always('client_key', 'text', clientKey),
      always('leads', 'bigint', 'How many leads the client has, of all sources and time.'),
      maybe('first_created_at', 'time', 'When the first lead of the client was created.'),
      maybe('last_created_at', 'time', 'When the last lead of the client was created.'),
    ],
  },
  {
    name: 'v_lead_timeline',
    kind: 'view',
    grain: 'thing that happened to a lead',
    key: [],
    notes: 'Ask for one lead, by source and lead_id, in order of at.',
    columns: [
      source,
      leadId,
      always('at', 'time', 'When the lead was listed or changed, or when the attempt began.'),
      oneOf(
        'what',
        ['listed', 'changed', 'delivered', 'refused', 'unavailable'],
        'listed, changed, or the outcome of an attempt.',
      ),
      maybe('sink', 'text', 'For an attempt: the sink.'),
      maybe(
        'detail',
        'text',
        'For a change: the names of the fields, as a JSON array. For an attempt: why it failed.',
      ),
    ],
  },
  {
    name: 'v_speed_to_lead',
    kind: 'view',
    grain: 'lead and sink that it was delivered to for the first time',
    key: ['source', 'lead_id', 'sink'],
    notes:
      'Replays are left out, and updates. A lead is not here for a sink that has it as an update alone. Exact to the millisecond; negative where created_at lies ahead of the clock. Joined with v_leads_no_pii, both have source, service_slug, created_at and first_seen_at: name the one that you mean.',
    columns: [
      source,
      leadId,
      sink,
      always('service_slug', 'text', 'Slug of the service category.'),
      always('created_at', 'time', 'When the lead was created, as the service says.'),
      always('first_seen_at', 'time', 'When leadsync first listed it.'),
      always('delivered_at', 'time', 'When the sink had it.'),
      always('created_to_seen_seconds', 'double', 'Seconds from created_at to first_seen_at.'),
      always('seen_to_delivered_seconds', 'double', 'Seconds from first_seen_at to delivered_at.'),
      always(
        'created_to_delivered_seconds',
        'double',
        'Seconds from created_at to delivered_at: the speed to lead.',
      ),
      owedAt,
      isBackfill,
    ],
  },
  {
    name: 'v_speed_to_lead_all',
    kind: 'view',
    grain: 'lead and sink that it is owed to as a new lead: also those that wait, or were given up',
    key: ['source', 'lead_id', 'sink'],
    notes:
      'Ask this one how fast leads arrive: v_speed_to_lead shows only those that did, so it looks best while a sink is down. Take rows that are not is_backfill.',
    columns: [
      source,
      leadId,
      sink,
      always('service_slug', 'text', 'Slug of the service category.'),
      always('created_at', 'time', 'When the lead was created, as the service says.'),
      always('first_seen_at', 'time', 'When leadsync first listed it.'),
      owedAt,
      isBackfill,
      oneOf(
        'state',
        ['delivered', 'pending', 'dead'],
        'delivered (also by a replay), pending or dead (given up).',
      ),
      maybe('delivered_at', 'time', 'When the sink first had the lead; null while it has not.'),
      always('age_seconds', 'double', 'Seconds from created_at to delivered_at, or to now while it is null.'),
    ],
  },
  {
    name: 'v_gone_leads',
    kind: 'view',
    grain: 'lead that the service no longer lists',
    key: ['source', 'lead_id'],
    notes: 'A lead that comes back is no longer here. Erased leads are not here.',
    columns: [
      source,
      leadId,
      always('service_slug', 'text', 'Slug of the service category.'),
      always('created_at', 'time', 'When the lead was created, as the service says.'),
      always('last_listed_at', 'time', 'When the last complete listing ended that had the lead.'),
      always('gone_at', 'time', 'When a complete listing first did not have it.'),
    ],
  },
  {
    name: 'v_erased_leads',
    kind: 'view',
    grain: 'lead that was erased on request',
    key: ['source', 'lead_id'],
    notes: 'Remove these leads from copies of the store.',
    columns: [source, leadId, always('erased_at', 'time', 'When it was erased from the ledger.')],
  },
  {
    name: 'v_undelivered',
    kind: 'view',
    grain: 'delivery that is pending or dead',
    key: ['delivery_id'],
    notes: 'What is stuck: these rows of deliveries, without what was delivered or left out.',
    columns: [
      always('delivery_id', 'text', 'Names the delivery for ever.'),
      source,
      leadId,
      always('lead_version', 'integer', 'Which content of the lead.'),
      sink,
      oneOf('state', ['pending', 'dead'], 'pending or dead.'),
      maybe('reason', 'text', 'Why it is dead, or why the last attempt failed.'),
      always(
        'attempts',
        'integer',
        'Attempts that count for the retry schedule; the table attempts has all of them.',
      ),
      always('owed_at', 'time', 'Since when it is owed.'),
      maybe('next_attempt_at', 'time', 'When it is due; null once it is dead.'),
      maybe('settled_at', 'time', 'When it was given up.'),
    ],
  },
  {
    name: 'v_sink_health',
    kind: 'view',
    grain: 'sink',
    key: ['sink'],
    notes: '',
    columns: [
      sink,
      always('pending', 'bigint', 'Deliveries that wait.'),
      always('dead', 'bigint', 'Deliveries that were given up.'),
      maybe('oldest_owed_at', 'time', 'Since when the oldest pending one is owed.'),
      maybe('held_since', 'time', 'Since when the sink is held because its destination does not work.'),
      maybe('held_reason', 'text', 'Why it is held.'),
      maybe('paused_since', 'time', 'Since when somebody has paused it.'),
      maybe('paused_reason', 'text', 'Why it is paused.'),
      maybe('last_delivered_at', 'time', 'When it last took a lead.'),
    ],
  },
  {
    name: 'v_freshness',
    kind: 'view',
    grain: 'source',
    key: ['source'],
    notes:
      'How old the newest complete listing is, at the moment that you ask. A quiet hour is fresh as long as polls succeed.',
    columns: [
      source,
      maybe('last_success_at', 'time', 'When a listing was last known to its end.'),
      maybe('age_seconds', 'double', 'Seconds since last_success_at.'),
      always(
        'leads_listed',
        'bigint',
        'Leads in the last complete listing, each once, without what was rejected.',
      ),
      always(
        'leads_rejected',
        'bigint',
        "Elements of the last complete listing that broke the service's description.",
      ),
    ],
  },
  {
    name: 'v_services',
    kind: 'view',
    grain: 'service category, by slug and name',
    key: ['source', 'service_slug', 'service_name'],
    notes: '',
    columns: [
      source,
      always('service_slug', 'text', 'Slug of the service category.'),
      always('service_name', 'text', 'Display name of the service category.'),
      always('leads', 'bigint', 'How many leads there are of it, of all time.'),
    ],
  },
  {
    name: 'v_questions',
    kind: 'view',
    grain: 'question, by slug and wording',
    key: ['source', 'slug', 'question'],
    notes: '',
    columns: [
      source,
      always('slug', 'text', "The question's slug."),
      always('question', 'text', 'The question as it was put.'),
      always('answers', 'bigint', 'How many answers there are to it, of all time.'),
    ],
  },
];
