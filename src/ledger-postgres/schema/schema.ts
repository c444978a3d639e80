import { laterMigrations } from './later-migrations.ts';

/**
 * The migrations of a ledger's schema in PostgreSQL, in order. `_ledger.shape` is the number of applied migrations. Append migrations; never
 * edit them. Tables are private, and store times as milliseconds since 1970, as those of a ledger in SQLite do (ledger/schema/schema.ts,
 * which explains their columns). No foreign keys: PostgreSQL would check them row by row, and lock the rows that they point at.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE _ledger (                    -- one row
    id text PRIMARY KEY,
    shape int NOT NULL,
    clock_at bigint NOT NULL DEFAULT 0,       -- the latest time that was recorded
    stepped_ms bigint NOT NULL DEFAULT 0,     -- by how much the server's clock was set in all, as far as times were moved for it
    restored_at bigint
  );

  -- The time of the ledger. Every statement takes it from here, so that no machine's clock is compared with another's.
  CREATE FUNCTION _now() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

  -- Begins a transaction: takes the owing lock if the transaction may record anything as owed, and then reads the time. A statement of its
  -- own, because a statement sees only what was committed before it began, not before it got the lock.
  CREATE FUNCTION _enter(owes boolean, OUT at bigint, OUT xact text) LANGUAGE plpgsql VOLATILE AS $$
  BEGIN
    IF owes THEN
      PERFORM pg_advisory_xact_lock((1818583396::bigint << 32) + (SELECT n.oid::bigint FROM pg_namespace n WHERE n.nspname = current_schema()));
    END IF;
    at := _now();
    xact := pg_current_xact_id()::text;
  END $$;

  CREATE TABLE _sources (
    source text PRIMARY KEY,
    mark text,
    complete_at bigint,
    complete_poll bigint,
    first_listed_at bigint,
    origin text,
    config text,
    leads bigint NOT NULL DEFAULT 0,
    listed bigint NOT NULL DEFAULT 0,
    current bigint NOT NULL DEFAULT 0,
    rejected bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50);

  CREATE TABLE _sinks (
    sink_no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sink text NOT NULL UNIQUE,
    named text,
    active boolean NOT NULL,
    events text NOT NULL,
    backfill boolean NOT NULL,
    owed_through bigint NOT NULL,
    backfill_to bigint NOT NULL,
    health text NOT NULL,
    config text,
    place text,
    former text NOT NULL DEFAULT '[]',
    mapping_no bigint
  ) WITH (fillfactor = 50);

  -- The number of deliveries in each state: what was added up, and the changes since, which are only added and need no lock.
  CREATE TABLE _sink_counts (
    sink_no int PRIMARY KEY,
    pending bigint NOT NULL,
    delivered bigint NOT NULL,
    dead bigint NOT NULL,
    skipped bigint NOT NULL,
    delivered_at bigint
  ) WITH (fillfactor = 50);
  CREATE TABLE _count_changes (
    sink_no int NOT NULL,
    pending int NOT NULL,
    delivered int NOT NULL,
    dead int NOT NULL,
    skipped int NOT NULL,
    delivered_at bigint                     -- when deliveries of this change were delivered; null if none was
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

  CREATE TABLE _leads (
    source text NOT NULL,
    id bigint NOT NULL,
    version_no bigint NOT NULL,
    first_no bigint NOT NULL,
    version int NOT NULL,
    hash text NOT NULL,
    last_listed_at bigint,
    erased_no bigint,
    PRIMARY KEY (source, id)
  ) WITH (fillfactor = 90);
  CREATE INDEX _leads_by_version ON _leads (version_no);

  -- Taken under the owing lock, so that versions are committed in the order of their numbers.
  CREATE SEQUENCE _version_no;
  CREATE TABLE _versions (
    version_no bigint PRIMARY KEY,
    source text NOT NULL,
    id bigint NOT NULL,
    version int NOT NULL,
    poll_id bigint NOT NULL,
    valid_from bigint NOT NULL,
    first_seen_at bigint NOT NULL,
    changed_fields text,
    hash text NOT NULL,
    raw text NOT NULL,
    service_slug text,
    created_at bigint,
    readable text,
    safe_raw text
  );
  CREATE UNIQUE INDEX _versions_by_lead ON _versions (source, id, version);

  CREATE TABLE _deliveries (
    delivery_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version_no bigint NOT NULL,
    sink_no int NOT NULL,
    replay bigint NOT NULL DEFAULT 0,
    event text NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'delivered', 'dead', 'skipped')),
    reason text,
    attempts int NOT NULL DEFAULT 0,
    excused int NOT NULL DEFAULT 0,
    owed_at bigint NOT NULL,
    first_attempt_at bigint,
    last_attempt_at bigint,
    next_attempt_at bigint,
    refused_at bigint,
    retried_at bigint,
    settled_at bigint,
    unsure_at bigint,
    batch_no bigint,
    after_no bigint,
    mapping_no bigint,
    bound int NOT NULL DEFAULT 0,
    reissued int NOT NULL DEFAULT 0,
    was_left_out int NOT NULL DEFAULT 0,
    discarded int NOT NULL DEFAULT 0,
    ref text
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  CREATE UNIQUE INDEX _deliveries_by_version ON _deliveries (version_no, sink_no, replay);
  CREATE INDEX _deliveries_due ON _deliveries (sink_no, next_attempt_at, delivery_no) WHERE state = 'pending' AND batch_no IS NULL;
  CREATE INDEX _deliveries_pending ON _deliveries (sink_no, owed_at) WHERE state = 'pending';
  CREATE INDEX _deliveries_replays ON _deliveries (sink_no, delivery_no) WHERE state = 'pending' AND replay > 0;
  CREATE INDEX _deliveries_dead ON _deliveries (sink_no, settled_at) WHERE state = 'dead';
  CREATE INDEX _deliveries_batched ON _deliveries (batch_no) WHERE batch_no IS NOT NULL;
  CREATE INDEX _deliveries_by_sink ON _deliveries (sink_no, owed_at, delivery_no);

  CREATE TABLE _batches (
    batch_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sink_no int NOT NULL,
    created_at bigint NOT NULL,
    lease bigint NOT NULL,
    leased_until bigint NOT NULL,
    holder text,
    lost int NOT NULL DEFAULT 0,
    mapping_no bigint
  ) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
  CREATE INDEX _batches_by_sink ON _batches (sink_no);

  CREATE TABLE _attempts (
    attempt_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delivery_no bigint NOT NULL,
    batch_no bigint NOT NULL,
    started_at bigint NOT NULL,
    duration_ms bigint NOT NULL,
    outcome text NOT NULL,
    http_status int,
    error text,
    answer text,
    times int NOT NULL DEFAULT 1,
    last_at bigint
  );
  CREATE INDEX _attempts_by_delivery ON _attempts (delivery_no);
  CREATE INDEX _attempts_failed ON _attempts (attempt_no) WHERE outcome <> 'delivered';
  -- Only erasures look for a batch. Numbers of batches rise with those of attempts, so that this index has next to no size.
  CREATE INDEX _attempts_by_batch ON _attempts USING brin (batch_no) WITH (autosummarize = on);

  CREATE TABLE _mappings (mapping_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL);

  CREATE TABLE _polls (
    poll_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL,
    started_at bigint NOT NULL,
    finished_at bigint,
    status text NOT NULL CHECK (status IN ('running', 'success', 'unchanged', 'partial', 'failed')),
    parts int NOT NULL DEFAULT 0,           -- the transactions in which the poll has recorded something: its fence
    leads_listed bigint NOT NULL DEFAULT 0,
    leads_new bigint NOT NULL DEFAULT 0,
    leads_changed bigint NOT NULL DEFAULT 0,
    leads_rejected bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    http_status int,
    error text
  );
  CREATE INDEX _polls_by_source ON _polls (source, poll_id);
  CREATE INDEX _polls_by_status ON _polls (source, status, poll_id);

  -- A number is given anew to a row that is rejected again after it was resolved.
  CREATE SEQUENCE _rejected_no;
  CREATE TABLE _rejected_leads (
    rejected_id bigint PRIMARY KEY DEFAULT nextval('_rejected_no'),
    source text NOT NULL,
    poll_id bigint NOT NULL,
    last_poll_id bigint NOT NULL,
    position bigint NOT NULL,
    lead_id bigint,
    reason text NOT NULL,
    path text NOT NULL,
    resolved_at bigint,
    hash text NOT NULL,
    raw text NOT NULL,
    UNIQUE (source, hash)
  );
  CREATE INDEX _rejected_open ON _rejected_leads (source, lead_id) WHERE resolved_at IS NULL;
  CREATE INDEX _rejected_by_lead ON _rejected_leads (lead_id);

  CREATE SEQUENCE _presence_no;
  CREATE TABLE _presence (
    presence_no bigint NOT NULL UNIQUE,
    source text NOT NULL,
    id bigint NOT NULL,
    last_listed_at bigint,
    noted_at bigint NOT NULL,
    PRIMARY KEY (source, id)
  );

  CREATE TABLE _listing_sizes (source text NOT NULL, day bigint NOT NULL, most bigint NOT NULL, PRIMARY KEY (source, day));

  CREATE TABLE _erased (
    erased_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL,
    id bigint NOT NULL,
    erased_at bigint NOT NULL,
    finished_at bigint,
    kept_out bigint NOT NULL DEFAULT 0,
    UNIQUE (source, id)
  );

  CREATE TABLE _replays (
    replay_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sink_no int NOT NULL,
    asked_at bigint NOT NULL,
    touched_at bigint NOT NULL,
    source text,
    since bigint NOT NULL,
    until bigint NOT NULL,
    through bigint NOT NULL DEFAULT 0,
    bound bigint NOT NULL,
    owed bigint NOT NULL DEFAULT 0,
    left_out int NOT NULL DEFAULT 0,
    chosen text
  );
  CREATE INDEX _replays_by_request ON _replays (sink_no, asked_at);

  CREATE TABLE _clock_set_back (
    step_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    from_at bigint NOT NULL,
    to_at bigint NOT NULL,
    sink_no int NOT NULL DEFAULT 0,         -- the delivery that was moved last, by the index of due deliveries
    due_at bigint NOT NULL DEFAULT 0,
    delivery_no bigint NOT NULL DEFAULT 0,
    is_done boolean NOT NULL DEFAULT false  -- whether all deliveries have been moved
  );

  -- The attempts of a sink in ten minutes as JSON: a row for each batch, which upkeep adds up.
  CREATE TABLE _sink_activity (sink_no int NOT NULL, from_at bigint NOT NULL, sums text NOT NULL);
  CREATE INDEX _sink_activity_by_sink ON _sink_activity (sink_no, from_at);
  CREATE TABLE _sink_holds (
    hold_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sink_no int NOT NULL,
    kind text NOT NULL,
    began_at bigint NOT NULL,
    ended_at bigint,
    times int NOT NULL DEFAULT 1,
    reason text
  );
  CREATE INDEX _sink_holds_by_sink ON _sink_holds (sink_no, hold_no);
  `,
  ...laterMigrations,
];
