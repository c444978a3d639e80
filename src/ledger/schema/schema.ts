import { laterMigrations } from './later-migrations.ts';

/**
 * The migrations of a ledger's schema, in order. `PRAGMA user_version` is the number of applied migrations. Append migrations; never edit
 * them. Tables whose names begin with `_` are private: they may change without notice, and they store times as milliseconds since 1970.
 * Users query the views over them, and the tables `polls` and `rejected_leads`.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE _ledger (id TEXT PRIMARY KEY) STRICT;  -- one row
  INSERT INTO _ledger VALUES (lower(hex(randomblob(8))));

  CREATE TABLE _sources (
    source TEXT PRIMARY KEY,
    mark TEXT,                              -- JSON: recognises the last complete listing
    complete_at INTEGER,                    -- when the source last returned or confirmed a complete listing
    complete_poll INTEGER,
    first_listed_at INTEGER,                -- when the first poll began that recorded anything
    leads INTEGER NOT NULL DEFAULT 0,       -- leads that were ever listed
    listed INTEGER NOT NULL DEFAULT 0,      -- leads in the last complete listing
    current INTEGER NOT NULL DEFAULT 0,     -- leads that no complete listing has missed
    rejected INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE _sinks (
    sink_no INTEGER PRIMARY KEY,
    sink TEXT NOT NULL UNIQUE,
    active INTEGER NOT NULL,
    events TEXT NOT NULL,                   -- created,updated
    backfill INTEGER NOT NULL,
    owed_through INTEGER NOT NULL,          -- every version up to this one is owed, skipped or not asked for
    backfill_to INTEGER NOT NULL,           -- the last version of the backfill in progress
    health TEXT NOT NULL,
    -- Deliveries in each state, updated with every change, so that status and metrics need not count rows.
    pending INTEGER NOT NULL DEFAULT 0,
    delivered INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  -- One row per lead, narrow, because every poll looks up every lead here.
  CREATE TABLE _leads (
    source TEXT NOT NULL,
    id INTEGER NOT NULL,
    version_no INTEGER NOT NULL,            -- the current version
    first_no INTEGER NOT NULL,              -- the first version; numbers the lead
    version INTEGER NOT NULL,
    hash TEXT NOT NULL,
    last_listed_at INTEGER,                 -- set when a complete listing no longer contains the lead
    PRIMARY KEY (source, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE _versions (
    version_no INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    poll_id INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    first_seen_at INTEGER NOT NULL,
    changed_fields TEXT,                    -- JSON array; null for the first version
    hash TEXT NOT NULL,
    raw TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX _versions_by_lead ON _versions (source, id, version);

  CREATE TABLE _deliveries (
    delivery_no INTEGER PRIMARY KEY,
    version_no INTEGER NOT NULL REFERENCES _versions,
    sink_no INTEGER NOT NULL REFERENCES _sinks,
    replay INTEGER NOT NULL DEFAULT 0,      -- 0, or when the replay was requested
    event TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'dead', 'skipped')),
    reason TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    owed_at INTEGER NOT NULL,
    first_attempt_at INTEGER,
    last_attempt_at INTEGER,
    next_attempt_at INTEGER,
    refused_at INTEGER,
    settled_at INTEGER,
    batch_no INTEGER,
    after_no INTEGER                        -- an older delivery of the same lead that must be settled first
  ) STRICT;
  CREATE UNIQUE INDEX _deliveries_by_version ON _deliveries (version_no, sink_no, replay);
  CREATE INDEX _deliveries_due ON _deliveries (sink_no, next_attempt_at, delivery_no) WHERE state = 'pending' AND batch_no IS NULL;
  CREATE INDEX _deliveries_pending ON _deliveries (sink_no, owed_at) WHERE state = 'pending';
  CREATE INDEX _deliveries_retrying ON _deliveries (sink_no, next_attempt_at) WHERE state = 'pending' AND reason IS NOT NULL;
  CREATE INDEX _deliveries_dead ON _deliveries (sink_no, settled_at) WHERE state = 'dead';
  CREATE INDEX _deliveries_batched ON _deliveries (batch_no) WHERE batch_no IS NOT NULL;

  -- Numbers are never reused: an old job in a queue must not find another batch under its number.
  CREATE TABLE _batches (
    batch_no INTEGER PRIMARY KEY AUTOINCREMENT,
    sink_no INTEGER NOT NULL REFERENCES _sinks,
    created_at INTEGER NOT NULL,
    lease INTEGER NOT NULL,                 -- the fencing token; 0: not in flight, due again at leased_until
    leased_until INTEGER NOT NULL,
    holder TEXT,                            -- the process that began the lease's one attempt
    lost INTEGER NOT NULL DEFAULT 0         -- the number of lost attempts
  ) STRICT;
  CREATE INDEX _batches_by_sink ON _batches (sink_no, leased_until);

  CREATE TABLE _attempts (
    attempt_no INTEGER PRIMARY KEY,
    delivery_no INTEGER NOT NULL REFERENCES _deliveries,
    batch_no INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    http_status INTEGER,
    error TEXT,
    answer TEXT
  ) STRICT;
  CREATE INDEX _attempts_by_delivery ON _attempts (delivery_no);

  -- Requested replays and their progress, so that another process can finish a replay whose process was killed.
  CREATE TABLE _replays (
    replay_no INTEGER PRIMARY KEY,
    sink_no INTEGER NOT NULL REFERENCES _sinks,
    asked_at INTEGER NOT NULL,
    touched_at INTEGER NOT NULL,
    source TEXT,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    through INTEGER NOT NULL DEFAULT 0,     -- versions up to this one are done
    bound INTEGER NOT NULL,
    owed INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE TABLE polls (
    poll_id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    started_at TIMESTAMP NOT NULL,
    finished_at TIMESTAMP,
    status TEXT NOT NULL CHECK (status IN ('running', 'success', 'unchanged', 'partial', 'failed')),
    leads_listed INTEGER NOT NULL DEFAULT 0,
    leads_new INTEGER NOT NULL DEFAULT 0,
    leads_changed INTEGER NOT NULL DEFAULT 0,
    leads_rejected INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    http_status INTEGER,
    error TEXT
  );
  CREATE INDEX _polls_by_source ON polls (source, poll_id);

  CREATE TABLE rejected_leads (
    rejected_id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    poll_id INTEGER NOT NULL,               -- the first poll that rejected it
    last_poll_id INTEGER NOT NULL,
    position INTEGER NOT NULL,              -- 0-based, in the last listing that contained it
    lead_id INTEGER,
    reason TEXT NOT NULL,
    path TEXT NOT NULL,
    resolved_at TIMESTAMP,                  -- when the lead became valid
    hash TEXT NOT NULL,
    raw TEXT NOT NULL,
    UNIQUE (source, hash)
  );
  CREATE INDEX _rejected_open ON rejected_leads (source, lead_id) WHERE resolved_at IS NULL;
  `,
  ...laterMigrations,
];
