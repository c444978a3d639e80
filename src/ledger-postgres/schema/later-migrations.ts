import { factsOfProcesses, machineTables, sinksOfProcesses, withoutRunLock } from './machines-migration.ts';
import { pageIndexes } from './page-index-migration.ts';

/** The migrations after the first one, which schema.ts describes. */
export const laterMigrations: readonly string[] = [
  `
  -- A row for each connection that writes, with the token of the last transaction that it committed: see commits.ts.
  CREATE TABLE _commits (
    commit_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token text NOT NULL,
    at bigint NOT NULL                      -- when the token was written
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
  `,
  `
  -- The deliveries of a sink in each state, in the order in which they were owed, and those that failed, by when they are tried again.
  CREATE INDEX _deliveries_delivered ON _deliveries (sink_no, owed_at, delivery_no) WHERE state = 'delivered';
  CREATE INDEX _deliveries_given_up ON _deliveries (sink_no, owed_at, delivery_no) WHERE state = 'dead';
  CREATE INDEX _deliveries_skipped ON _deliveries (sink_no, owed_at, delivery_no) WHERE state = 'skipped';
  CREATE INDEX _deliveries_discarded ON _deliveries (sink_no, owed_at, delivery_no) WHERE discarded > 0;
  CREATE INDEX _deliveries_retrying ON _deliveries (sink_no, next_attempt_at) INCLUDE (first_attempt_at) WHERE state = 'pending' AND reason IS NOT NULL;
  DROP INDEX _deliveries_by_sink;
  `,
  `
  -- The leads of a source in the order in which they were first seen.
  CREATE INDEX _versions_first ON _versions (source, valid_from, version_no) WHERE version = 1;
  `,
  `
  -- The transaction that added the attempt: attempts are committed in another order than that of their numbers.
  ALTER TABLE _attempts ADD COLUMN xact bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;
  CREATE INDEX _attempts_by_xact ON _attempts USING brin (xact) WITH (autosummarize = on);
  `,
  `
  -- Shows which leads are of the same client without revealing the client; filled only if a key is configured.
  CREATE TABLE _client_keys (
    source text NOT NULL,
    id bigint NOT NULL,
    created_at bigint,                      -- the lead's
    client_key text NOT NULL,               -- empty: the client has neither email address nor phone number
    keyed_at bigint NOT NULL,
    PRIMARY KEY (source, id)
  );
  -- A fingerprint of the client key's secret, and the last version that was keyed.
  ALTER TABLE _ledger ADD COLUMN keyed_with text, ADD COLUMN keyed_through bigint NOT NULL DEFAULT 0;
  `,
  `
  -- Drawn for each poll: its number may be issued again after a failover that lost commits.
  ALTER TABLE _polls ADD COLUMN token text NOT NULL DEFAULT '';
  `,
  pageIndexes,
  `
  -- Steps back and steps ahead are summed apart: a machine that was suspended may count as a step ahead, and must not look like a step back.
  ALTER TABLE _ledger DROP COLUMN stepped_ms,
    ADD COLUMN set_back_ms bigint NOT NULL DEFAULT 0,     -- by how much the server's clock was set back in all, as far as times were moved for it
    ADD COLUMN set_ahead_ms bigint NOT NULL DEFAULT 0;    -- by how much it was set ahead, as far as leases were moved for it
  `,
  '-- Adds the public views, which are written anew after every migration.',
  `
  -- Texts under names that every machine needs, such as encrypted tokens, and the leases of those that change them.
  CREATE TABLE _documents (
    folder text NOT NULL,
    name text NOT NULL,
    content text NOT NULL,
    written_at bigint NOT NULL,
    PRIMARY KEY (folder, name)
  );
  CREATE TABLE _document_locks (
    folder text NOT NULL,
    name text NOT NULL,
    token text NOT NULL,
    held_until bigint NOT NULL,
    PRIMARY KEY (folder, name)
  );
  -- Who did what.
  CREATE TABLE _audit (
    audit_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,                     -- by the clock of the machine that wrote it
    who text,
    via text,
    what text NOT NULL,
    address text,
    details text NOT NULL                   -- the other fields, a JSON object
  );
  `,
  `
  -- Work of which there is one at a time, and the process that does it. There is one duty: to poll and dispatch everything.
  CREATE TABLE _duties (
    duty text PRIMARY KEY,
    holder text NOT NULL,                   -- drawn for each process, as in _batches
    machine text NOT NULL,
    pid int NOT NULL,
    since bigint NOT NULL,
    held_until bigint NOT NULL
  ) WITH (fillfactor = 50);
  `,
  `
  -- Begins a transaction: takes the owing lock if the transaction may record anything as owed, then the lock of the clock, which transactions share
  -- unless they move times, and then reads the time. So none is open that read the time before times are moved. A statement of its own, because
  -- a statement sees only what was committed before it began, not before it got a lock.
  DROP FUNCTION _enter;
  CREATE FUNCTION _enter(owes boolean, moves boolean DEFAULT false, OUT at bigint, OUT xact text) LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    schema_no bigint := (SELECT n.oid::bigint FROM pg_namespace n WHERE n.nspname = current_schema());
    clock_lock bigint := (1668047723::bigint << 32) + schema_no;
  BEGIN
    IF owes THEN
      PERFORM pg_advisory_xact_lock((1818583396::bigint << 32) + schema_no);
    END IF;
    IF moves THEN
      PERFORM pg_advisory_xact_lock(clock_lock);
    ELSE
      PERFORM pg_advisory_xact_lock_shared(clock_lock);
    END IF;
    at := _now();
    xact := pg_current_xact_id()::text;
  END $$;
  `,
  machineTables,
  sinksOfProcesses,
  withoutRunLock,
  factsOfProcesses,
];
