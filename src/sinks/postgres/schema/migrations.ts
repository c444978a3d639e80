import { answersStep } from './answers-migration.ts';
import { deliveriesStep } from './deliveries-migration.ts';
import { refStep } from './delivery-views.ts';
import { presenceStep } from './presence-migration.ts';
import { rawStep } from './raw-column-migration.ts';
import { isUnsafe, safe } from './unsafe-json.ts';
import { versionsStep } from './versions-migration.ts';

/**
 * The steps from an empty schema to this version, run in one transaction with the schema as `search_path`. A released step never
 * changes; add a new one at the end.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE leads (
    source text NOT NULL,
    id bigint NOT NULL,
    service_name text NOT NULL,
    service_slug text NOT NULL,
    created_at timestamptz NOT NULL,
    client_name text NOT NULL,
    client_email text NOT NULL,
    client_phone_number text NOT NULL,
    client_address text,
    all_details_one_liner text NOT NULL,
    service_question_answers jsonb NOT NULL,
    answers jsonb NOT NULL,
    _leadsync_first_seen_at timestamptz NOT NULL,
    _leadsync_changed_at timestamptz NOT NULL,
    _leadsync_synced_at timestamptz NOT NULL,
    _leadsync_last_listed_at timestamptz NOT NULL,
    _leadsync_version integer NOT NULL,
    _leadsync_hash text NOT NULL,
    _leadsync_raw json NOT NULL,
    _leadsync_replaced boolean NOT NULL,
    PRIMARY KEY (source, id)
  );
  CREATE INDEX leads_created_at ON leads (created_at);
  COMMENT ON TABLE leads IS 'One row per lead: its current content. Written by leadsync.';
  COMMENT ON COLUMN leads.source IS 'The source in leadsync''s configuration that listed the lead.';
  COMMENT ON COLUMN leads.id IS 'The service''s identifier of the lead; unique within its source.';
  COMMENT ON COLUMN leads.service_name IS 'Display name of the service category.';
  COMMENT ON COLUMN leads.service_slug IS 'Slug of the service category.';
  COMMENT ON COLUMN leads.created_at IS 'When the lead was created, as the service says. A time without an offset is taken as UTC.';
  COMMENT ON COLUMN leads.client_name IS 'Name of the client. Personal data.';
  COMMENT ON COLUMN leads.client_email IS 'Email address of the client. Personal data.';
  COMMENT ON COLUMN leads.client_phone_number IS 'Phone number of the client. Personal data.';
  COMMENT ON COLUMN leads.client_address IS 'The friendly address; null when the lead has none. Personal data.';
  COMMENT ON COLUMN leads.all_details_one_liner IS 'Questions, answers and address in one text. Personal data.';
  COMMENT ON COLUMN leads.service_question_answers IS 'The answers in order: [{question, slug, answer}]. Personal data.';
  COMMENT ON COLUMN leads.answers IS 'The answers by slug; an array where a slug repeats. Personal data.';
  COMMENT ON COLUMN leads._leadsync_first_seen_at IS 'When leadsync first listed the lead. Never changes.';
  COMMENT ON COLUMN leads._leadsync_changed_at IS 'When leadsync first listed this content.';
  COMMENT ON COLUMN leads._leadsync_synced_at IS 'When this row was last written.';
  COMMENT ON COLUMN leads._leadsync_last_listed_at IS 'The latest time at which the lead is known here to have been listed: when this content was first listed.';
  COMMENT ON COLUMN leads._leadsync_version IS '1 for the content first seen, one more for each change; begins anew with a new ledger.';
  COMMENT ON COLUMN leads._leadsync_hash IS 'First 128 bits of SHA-256 over the lead''s JSON, in hex.';
  COMMENT ON COLUMN leads._leadsync_raw IS 'The lead''s JSON exactly as received. Personal data.';
  COMMENT ON COLUMN leads._leadsync_replaced IS 'Whether a character that PostgreSQL cannot store (NUL, lone surrogate) was replaced by U+FFFD in the other columns; _leadsync_raw has the original.';

  CREATE TABLE lead_answers (
    source text NOT NULL,
    lead_id bigint NOT NULL,
    position integer NOT NULL,
    question text NOT NULL,
    slug text NOT NULL,
    answer text NOT NULL,
    PRIMARY KEY (source, lead_id, position),
    FOREIGN KEY (source, lead_id) REFERENCES leads (source, id) ON DELETE CASCADE
  );
  COMMENT ON TABLE lead_answers IS 'One row per answer of a lead''s current content. Written by leadsync.';
  COMMENT ON COLUMN lead_answers.source IS 'With lead_id: the lead.';
  COMMENT ON COLUMN lead_answers.lead_id IS 'With source: the lead.';
  COMMENT ON COLUMN lead_answers.position IS 'Place among the lead''s answers, from 0.';
  COMMENT ON COLUMN lead_answers.question IS 'The question as it was put.';
  COMMENT ON COLUMN lead_answers.slug IS 'The question''s slug. May repeat within a lead.';
  COMMENT ON COLUMN lead_answers.answer IS 'What the client answered. Personal data.';

  CREATE VIEW v_leads AS SELECT source, id, service_name, service_slug, created_at, client_name, client_email,
    client_phone_number, client_address, all_details_one_liner, service_question_answers, answers FROM leads;
  COMMENT ON VIEW v_leads IS 'The leads as the service shows them, without leadsync''s own columns.';
  CREATE VIEW v_services AS SELECT source, service_slug, service_name, count(*) AS leads FROM leads GROUP BY 1, 2, 3;
  COMMENT ON VIEW v_services IS 'How many leads each service category has.';
  CREATE VIEW v_questions AS SELECT source, slug, question, count(*) AS answers FROM lead_answers GROUP BY 1, 2, 3;
  COMMENT ON VIEW v_questions IS 'How many answers each question has.';
  `,
  `
  -- _leadsync_ledger and the number of a row are the checkpoint of the mirror in each of these tables.
  CREATE TABLE lead_versions (
    source text NOT NULL,
    lead_id bigint NOT NULL,
    version integer NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    is_current boolean NOT NULL,
    changed_fields json,
    poll_id bigint NOT NULL,
    _leadsync_hash text NOT NULL,
    raw json NOT NULL,
    _leadsync_no bigint NOT NULL,
    _leadsync_ledger text NOT NULL,
    PRIMARY KEY (source, lead_id, version)
  );
  CREATE INDEX lead_versions_number ON lead_versions (_leadsync_ledger, _leadsync_no);
  CREATE TABLE polls (
    poll_id bigint NOT NULL,
    source text NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    status text NOT NULL,
    leads_listed bigint NOT NULL,
    leads_new bigint NOT NULL,
    leads_changed bigint NOT NULL,
    leads_rejected bigint NOT NULL,
    bytes bigint NOT NULL,
    http_status integer,
    error text,
    _leadsync_ledger text NOT NULL,
    PRIMARY KEY (source, started_at)
  );
  CREATE INDEX polls_number ON polls (_leadsync_ledger, poll_id);
  CREATE TABLE deliveries (
    delivery_id text PRIMARY KEY,
    source text NOT NULL,
    lead_id bigint NOT NULL,
    lead_version integer NOT NULL,
    sink text NOT NULL,
    event text NOT NULL,
    state text NOT NULL,
    reason text,
    attempts integer NOT NULL,
    owed_at timestamptz NOT NULL,
    first_attempt_at timestamptz,
    next_attempt_at timestamptz,
    settled_at timestamptz,
    replay boolean NOT NULL,
    _leadsync_no bigint NOT NULL,
    _leadsync_ledger text NOT NULL
  );
  CREATE INDEX deliveries_number ON deliveries (_leadsync_ledger, _leadsync_no);
  CREATE INDEX deliveries_lead ON deliveries (source, lead_id);
  CREATE INDEX deliveries_open ON deliveries (_leadsync_ledger, _leadsync_no) WHERE state IN ('pending', 'dead');
  CREATE TABLE attempts (
    delivery_id text NOT NULL,
    source text NOT NULL,
    lead_id bigint NOT NULL,
    sink text NOT NULL,
    started_at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    outcome text NOT NULL,
    http_status integer,
    error text,
    times integer NOT NULL,
    last_started_at timestamptz,
    _leadsync_no bigint NOT NULL,
    _leadsync_ledger text NOT NULL,
    PRIMARY KEY (delivery_id, started_at)
  );
  CREATE INDEX attempts_number ON attempts (_leadsync_ledger, _leadsync_no);
  CREATE INDEX attempts_lead ON attempts (source, lead_id);
  CREATE INDEX attempts_failed ON attempts (_leadsync_ledger, _leadsync_no) WHERE outcome = 'unavailable';
  CREATE TABLE rejected_leads (
    rejected_id bigint NOT NULL,
    source text NOT NULL,
    poll_id bigint NOT NULL,
    last_poll_id bigint NOT NULL,
    position integer NOT NULL,
    lead_id bigint,
    reason text NOT NULL,
    path text NOT NULL,
    resolved_at timestamptz,
    hash text NOT NULL,
    raw text NOT NULL,
    _leadsync_ledger text NOT NULL,
    PRIMARY KEY (source, hash)
  );
  CREATE INDEX rejected_leads_number ON rejected_leads (_leadsync_ledger, rejected_id);
  CREATE TABLE _client_keys (
    key_no bigint NOT NULL,
    source text NOT NULL,
    id bigint NOT NULL,
    created_at timestamptz,
    client_key text NOT NULL,
    _leadsync_ledger text NOT NULL,
    PRIMARY KEY (source, id)
  );
  CREATE INDEX _client_keys_number ON _client_keys (_leadsync_ledger, key_no);
  CREATE INDEX _client_keys_by_key ON _client_keys (client_key, created_at);
  CREATE TABLE _sinks (
    sink text PRIMARY KEY,
    pending bigint NOT NULL,
    dead bigint NOT NULL,
    oldest_owed_at timestamptz,
    held_since timestamptz,
    held_reason text,
    paused_since timestamptz,
    paused_reason text,
    last_delivered_at timestamptz
  );
  CREATE TABLE _sources (
    source text PRIMARY KEY,
    last_success_at timestamptz,
    leads_listed bigint NOT NULL,
    leads_rejected bigint NOT NULL
  );

  CREATE VIEW v_leads_no_pii AS SELECT l.source, l.id, l.service_name, l.service_slug, l.created_at,
    (l.created_at AT TIME ZONE 'UTC')::date AS created_day,
    extract(dow FROM l.created_at AT TIME ZONE 'UTC')::integer AS created_weekday,
    extract(hour FROM l.created_at AT TIME ZONE 'UTC')::integer AS created_hour,
    floor(extract(epoch FROM l.created_at) / 3600)::bigint AS created_hour_number,
    btrim(l.client_email) <> '' AS has_email, btrim(l.client_phone_number) <> '' AS has_phone,
    coalesce(btrim(l.client_address), '') <> '' AS has_address, l._leadsync_first_seen_at AS first_seen_at,
    (SELECT nullif(k.client_key, '') FROM _client_keys k WHERE k.source = l.source AND k.id = l.id) AS client_key
  FROM leads l;
  CREATE VIEW v_clients AS SELECT client_key, count(*) AS leads, min(created_at) AS first_created_at,
    max(created_at) AS last_created_at
  FROM _client_keys WHERE client_key > '' GROUP BY client_key;
  CREATE VIEW v_lead_timeline AS
    SELECT source, lead_id, valid_from AS at, CASE WHEN version = 1 THEN 'listed' ELSE 'changed' END AS what,
      NULL::text AS sink, changed_fields::text AS detail FROM lead_versions
    UNION ALL SELECT source, lead_id, started_at, outcome, sink, error FROM attempts;
  -- To the millisecond, as in the ledger.
  CREATE VIEW v_speed_to_lead AS SELECT d.source, d.lead_id, d.sink, l.service_slug, l.created_at,
    l._leadsync_first_seen_at AS first_seen_at, d.settled_at AS delivered_at,
    extract(epoch FROM l._leadsync_first_seen_at - date_trunc('milliseconds', l.created_at))::double precision AS created_to_seen_seconds,
    extract(epoch FROM d.settled_at - l._leadsync_first_seen_at)::double precision AS seen_to_delivered_seconds,
    extract(epoch FROM d.settled_at - date_trunc('milliseconds', l.created_at))::double precision AS created_to_delivered_seconds
  FROM deliveries d JOIN leads l ON l.source = d.source AND l.id = d.lead_id
  WHERE d.state = 'delivered' AND d.event = 'created' AND NOT d.replay;
  CREATE VIEW v_undelivered AS SELECT delivery_id, source, lead_id, lead_version, sink, state, reason, attempts, owed_at,
    next_attempt_at, settled_at FROM deliveries WHERE state IN ('pending', 'dead');
  CREATE VIEW v_sink_health AS SELECT sink, pending, dead, oldest_owed_at, held_since, held_reason, paused_since,
    paused_reason, last_delivered_at FROM _sinks;
  CREATE VIEW v_freshness AS SELECT source, last_success_at,
    extract(epoch FROM now() - last_success_at)::double precision AS age_seconds, leads_listed, leads_rejected FROM _sources;
  `,
  `
  CREATE TABLE _erased (
    erased_no bigint NOT NULL,
    source text NOT NULL,
    id bigint NOT NULL,
    erased_at timestamptz NOT NULL,
    _leadsync_ledger text NOT NULL,
    PRIMARY KEY (source, id)
  );
  CREATE INDEX _erased_number ON _erased (_leadsync_ledger, erased_no);
  `,
  `
  -- A new or rolled-back ledger delivers leads as new ones again. The costly condition runs only if there was another ledger.
  CREATE OR REPLACE VIEW v_speed_to_lead AS SELECT d.source, d.lead_id, d.sink, l.service_slug, l.created_at,
    l._leadsync_first_seen_at AS first_seen_at, d.settled_at AS delivered_at,
    extract(epoch FROM l._leadsync_first_seen_at - date_trunc('milliseconds', l.created_at))::double precision AS created_to_seen_seconds,
    extract(epoch FROM d.settled_at - l._leadsync_first_seen_at)::double precision AS seen_to_delivered_seconds,
    extract(epoch FROM d.settled_at - date_trunc('milliseconds', l.created_at))::double precision AS created_to_delivered_seconds
  FROM deliveries d JOIN leads l ON l.source = d.source AND l.id = d.lead_id
  WHERE d.state = 'delivered' AND d.event = 'created' AND NOT d.replay
    AND ((SELECT min(_leadsync_ledger) = max(_leadsync_ledger) FROM deliveries) OR NOT EXISTS (
      SELECT FROM deliveries e WHERE e.source = d.source AND e.lead_id = d.lead_id AND e.sink = d.sink
        AND e.state = 'delivered' AND e.event = 'created' AND NOT e.replay
        AND (e.settled_at, e.delivery_id) < (d.settled_at, d.delivery_id)));
  `,
  `
  -- The type json stores an escaped NUL or lone surrogate, but -> and ->> fail on it.
  ALTER TABLE leads ADD COLUMN _leadsync_original text;
  ALTER TABLE lead_versions ADD COLUMN _leadsync_replaced boolean NOT NULL DEFAULT false, ADD COLUMN _leadsync_original text;
  UPDATE leads SET _leadsync_original = _leadsync_raw::text, _leadsync_raw = ${safe('_leadsync_raw')}::json, _leadsync_replaced = true
  WHERE ${isUnsafe('_leadsync_raw')};
  UPDATE lead_versions SET _leadsync_original = raw::text, raw = ${safe('raw')}::json, _leadsync_replaced = true WHERE ${isUnsafe('raw')};
  `,
  presenceStep,
  `
  -- The foreign key took three quarters of the time to write answers: a lookup for each of the lead that the same transaction had written.
  ALTER TABLE lead_answers DROP CONSTRAINT IF EXISTS lead_answers_source_lead_id_fkey;
  `,
  deliveriesStep,
  answersStep,
  versionsStep,
  rawStep,
  refStep,
];

/** The tables that a step replaces with views of the same names. The key is the step's SQL. */
export const replacedByStep: ReadonlyMap<string, readonly string[]> = new Map([
  [deliveriesStep, ['deliveries', 'attempts']],
  [answersStep, ['lead_answers']],
  [versionsStep, ['lead_versions']],
]);

/** The names that each step adds to the schema. Not included: a view that replaces a table, because its name exists already. */
export const namesByStep: readonly (readonly string[])[] = migrations.map((sql) =>
  [...sql.matchAll(/CREATE (?:TABLE|VIEW|INDEX) (\w+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !replacedByStep.get(sql)?.includes(name)),
);
