import { always, maybe, oneOf, type Relation } from './relation.ts';
import { leadFields } from './tables.ts';

const source = always('source', 'text', "The source's name in leadsync's configuration.");
const sink = always('sink', 'text', "The sink's name in leadsync's configuration.");
const leadId = always('lead_id', 'bigint', "The service's identifier for the lead.");
const clientKey =
  'Identifies the client: a hash, keyed with `store.client_key`, of the email address in lower case, or of the phone number if there is no email address.';

const owedAt = always('owed_at', 'time', 'When the lead was first owed to the sink.');
const isBackfill = always(
  'is_backfill',
  'boolean',
  'Whether the lead was created before the first poll that found leads in its source, or was owed to the sink by a later backfill. Such a lead is already old when it is delivered.',
);

/** The views of the synced store, which are a stable contract for users' queries. */
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
    notes: 'Excludes the name, email address, phone number, postal address and free text. For statistics.',
    columns: [
      source,
      always('id', 'bigint', "The service's identifier for the lead."),
      always('service_name', 'text', 'Display name of the service category.'),
      always('service_slug', 'text', 'Slug of the service category.'),
      always('created_at', 'time', 'When the lead was created, according to the service.'),
      always('created_day', 'day', 'The UTC day of `created_at`.'),
      always(
        'created_weekday',
        'integer',
        'The UTC day of the week of `created_at`: 0 is Sunday, 6 is Saturday.',
      ),
      always('created_hour', 'integer', 'The UTC hour of the day of `created_at`: 0 to 23.'),
      always(
        'created_hour_number',
        'bigint',
        'Whole hours from the beginning of 1970 to `created_at`. The difference of two values is the number of hours between them.',
      ),
      always('has_email', 'boolean', 'Whether the client gave an email address.'),
      always('has_phone', 'boolean', 'Whether the client gave a phone number.'),
      always('has_address', 'boolean', 'Whether the client gave an address.'),
      always('first_seen_at', 'time', 'When leadsync first saw the lead in a listing.'),
      maybe(
        'client_key',
        'text',
        `${clientKey} Null without \`store.client_key\` in the configuration, for a client with neither, and briefly for a new lead.`,
      ),
    ],
  },
  {
    name: 'v_clients',
    kind: 'view',
    grain: 'client, as far as `client_key` identifies them',
    key: ['client_key'],
    notes: 'Empty without `store.client_key` in the configuration.',
    columns: [
      always('client_key', 'text', clientKey),
      always('leads', 'bigint', 'Number of leads from the client, in all sources and of all time.'),
      maybe('first_created_at', 'time', 'When the first lead from the client was created.'),
      maybe('last_created_at', 'time', 'When the last lead from the client was created.'),
    ],
  },
  {
    name: 'v_lead_timeline',
    kind: 'view',
    grain: 'event in the history of a lead',
    key: [],
    notes: 'Select one lead by `source` and `lead_id`, and order its rows by `at`.',
    columns: [
      source,
      leadId,
      always('at', 'time', 'When the lead was listed or changed, or when the attempt began.'),
      oneOf(
        'what',
        ['listed', 'changed', 'delivered', 'refused', 'unavailable'],
        '`listed`, `changed`, or the outcome of an attempt.',
      ),
      maybe('sink', 'text', 'For an attempt: the sink.'),
      maybe(
        'detail',
        'text',
        'For a change: the names of the changed fields, as a JSON array. For an attempt: why it failed.',
      ),
    ],
  },
  {
    name: 'v_speed_to_lead',
    kind: 'view',
    grain: 'lead and sink, for the first delivery',
    key: ['source', 'lead_id', 'sink'],
    notes:
      'Without replays and updates, so a lead that a sink got only as an update has no row for that sink. Durations are exact to the millisecond, and negative if `created_at` is ahead of the clock. In a join with `v_leads_no_pii`, qualify `source`, `service_slug`, `created_at` and `first_seen_at`, which both views have.',
    columns: [
      source,
      leadId,
      sink,
      always('service_slug', 'text', 'Slug of the service category.'),
      always('created_at', 'time', 'When the lead was created, according to the service.'),
      always('first_seen_at', 'time', 'When leadsync first saw the lead in a listing.'),
      always('delivered_at', 'time', 'When the destination acknowledged the lead.'),
      always('created_to_seen_seconds', 'double', 'Seconds from `created_at` to `first_seen_at`.'),
      always('seen_to_delivered_seconds', 'double', 'Seconds from `first_seen_at` to `delivered_at`.'),
      always(
        'created_to_delivered_seconds',
        'double',
        'Seconds from `created_at` to `delivered_at`: the speed to lead.',
      ),
      owedAt,
      isBackfill,
    ],
  },
  {
    name: 'v_speed_to_lead_all',
    kind: 'view',
    grain: 'lead and sink, for leads that are owed as new, whether delivered, pending or dead',
    key: ['source', 'lead_id', 'sink'],
    notes:
      'Use this view to measure how fast leads are delivered: `v_speed_to_lead` contains only delivered leads, so it looks best while a sink does not work. Select rows where `is_backfill` is false.',
    columns: [
      source,
      leadId,
      sink,
      always('service_slug', 'text', 'Slug of the service category.'),
      always('created_at', 'time', 'When the lead was created, according to the service.'),
      always('first_seen_at', 'time', 'When leadsync first saw the lead in a listing.'),
      owedAt,
      isBackfill,
      oneOf(
        'state',
        ['delivered', 'pending', 'dead'],
        'delivered (also by a replay), pending or dead (given up).',
      ),
      maybe('delivered_at', 'time', 'When the lead was first delivered to the sink; null until then.'),
      always(
        'age_seconds',
        'double',
        'Seconds from `created_at` to `delivered_at`, or to now if the lead is not delivered yet.',
      ),
    ],
  },
  {
    name: 'v_gone_leads',
    kind: 'view',
    grain: 'lead that the service no longer lists',
    key: ['source', 'lead_id'],
    notes: 'Excludes leads that were listed again, and erased leads.',
    columns: [
      source,
      leadId,
      always('service_slug', 'text', 'Slug of the service category.'),
      always('created_at', 'time', 'When the lead was created, according to the service.'),
      always('last_listed_at', 'time', 'When a complete listing last contained the lead.'),
      always('gone_at', 'time', 'When a complete listing first no longer contained the lead.'),
    ],
  },
  {
    name: 'v_erased_leads',
    kind: 'view',
    grain: 'lead that was erased on request',
    key: ['source', 'lead_id'],
    notes: 'Remove these leads from copies of the store.',
    columns: [source, leadId, always('erased_at', 'time', 'When the lead was erased from the ledger.')],
  },
  {
    name: 'v_undelivered',
    kind: 'view',
    grain: 'delivery that is pending or dead',
    key: ['delivery_id'],
    notes: 'The rows of deliveries that are neither delivered nor skipped.',
    columns: [
      always('delivery_id', 'text', 'Identifies the delivery.'),
      source,
      leadId,
      always('lead_version', 'integer', 'The version of the lead that the delivery contains.'),
      sink,
      oneOf('state', ['pending', 'dead'], 'pending or dead.'),
      maybe('reason', 'text', 'Why the delivery is dead, or why its last attempt failed.'),
      always(
        'attempts',
        'integer',
        'Number of attempts that count towards the retry schedule. The table attempts contains every attempt.',
      ),
      always('owed_at', 'time', 'When the delivery was recorded as owed.'),
      maybe('next_attempt_at', 'time', 'When the delivery is due; null if it is dead.'),
      maybe('settled_at', 'time', 'When the delivery was given up; null while it is pending.'),
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
      always('pending', 'bigint', 'Number of pending deliveries.'),
      always('dead', 'bigint', 'Number of dead deliveries.'),
      maybe('oldest_owed_at', 'time', 'When the oldest pending delivery was owed.'),
      maybe(
        'held_since',
        'time',
        'Since when the sink has been held because its destination does not work; null if it is not held.',
      ),
      maybe('held_reason', 'text', 'Why the sink is held.'),
      maybe('paused_since', 'time', 'Since when the sink has been paused; null if it is not paused.'),
      maybe('paused_reason', 'text', 'Why the sink is paused.'),
      maybe('last_delivered_at', 'time', 'When a lead was last delivered to the sink.'),
    ],
  },
  {
    name: 'v_freshness',
    kind: 'view',
    grain: 'source',
    key: ['source'],
    notes:
      'The age of the newest complete listing, at the time of the query. An hour without new leads does not matter, as long as polls succeed.',
    columns: [
      source,
      maybe('last_success_at', 'time', 'When the listing was last read completely or found unchanged.'),
      maybe('age_seconds', 'double', 'Seconds since `last_success_at`.'),
      always(
        'leads_listed',
        'bigint',
        'Number of distinct leads in the last complete listing, excluding rejected leads.',
      ),
      always(
        'leads_rejected',
        'bigint',
        "Number of elements in the last complete listing that violated the service's API description.",
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
      always('leads', 'bigint', 'Number of leads in the category, of all time.'),
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
      always('question', 'text', 'The question as the service worded it.'),
      always('answers', 'bigint', 'Number of answers to the question, of all time.'),
    ],
  },
];
