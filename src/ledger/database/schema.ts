import { browseIndexes } from './browse-indexes.ts';
import { erasures, erasuresTold } from './erasures.ts';

/**
 * The steps that make a ledger's schema, in order; `PRAGMA user_version` counts those that were taken. Append, never edit.
 * Tables whose names begin with `_` are private: they change without notice, and hold times as milliseconds since 1970.
 * What people query are the views over them, and `polls` and `rejected_leads`.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE _ledger (id TEXT PRIMARY KEY) STRICT;  -- one row
  INSERT INTO _ledger VALUES (lower(hex(randomblob(8))));

  CREATE TABLE _sources (
    source TEXT PRIMARY KEY,
    mark TEXT,                              -- JSON: recognises the last complete listing
    complete_at INTEGER,                    -- when a listing was last known to its end
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
    owed_through INTEGER NOT NULL,          -- every version up to this one was owed, skipped or not asked for
    backfill_to INTEGER NOT NULL,           -- where the backfill under way ends
    health TEXT NOT NULL,
    -- Deliveries in each state, kept with every change, so that nobody counts a million rows to show a number.
    pending INTEGER NOT NULL DEFAULT 0,
    delivered INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  -- One row per lead, narrow: every poll looks every lead up here.
  CREATE TABLE _leads (
    source TEXT NOT NULL,
    id INTEGER NOT NULL,
    version_no INTEGER NOT NULL,            -- the current version
    first_no INTEGER NOT NULL,              -- the first version; numbers the lead
    version INTEGER NOT NULL,
    hash TEXT NOT NULL,
    last_listed_at INTEGER,                 -- set once a complete listing no longer has it
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
    replay INTEGER NOT NULL DEFAULT 0,      -- 0, or when the replay was asked for
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
    after_no INTEGER                        -- an older delivery of the same lead that has to be settled first
  ) STRICT;
  CREATE UNIQUE INDEX _deliveries_by_version ON _deliveries (version_no, sink_no, replay);
  CREATE INDEX _deliveries_due ON _deliveries (sink_no, next_attempt_at, delivery_no) WHERE state = 'pending' AND batch_no IS NULL;
  CREATE INDEX _deliveries_pending ON _deliveries (sink_no, owed_at) WHERE state = 'pending';
  CREATE INDEX _deliveries_retrying ON _deliveries (sink_no, next_attempt_at) WHERE state = 'pending' AND reason IS NOT NULL;
  CREATE INDEX _deliveries_dead ON _deliveries (sink_no, settled_at) WHERE state = 'dead';
  CREATE INDEX _deliveries_batched ON _deliveries (batch_no) WHERE batch_no IS NOT NULL;

  -- Numbers are never used twice: a job left over in a queue must not meet another batch under its own number.
  CREATE TABLE _batches (
    batch_no INTEGER PRIMARY KEY AUTOINCREMENT,
    sink_no INTEGER NOT NULL REFERENCES _sinks,
    created_at INTEGER NOT NULL,
    lease INTEGER NOT NULL,                 -- the fencing token; 0: not on its way, due again at leased_until
    leased_until INTEGER NOT NULL,
    holder TEXT,                            -- the process that has started the lease's one attempt
    lost INTEGER NOT NULL DEFAULT 0         -- attempts that started and never ended
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

  -- What was asked to be sent again, and how far it is owed: a replay whose process was killed is finished by another.
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
    poll_id INTEGER NOT NULL,               -- the first poll that listed it so
    last_poll_id INTEGER NOT NULL,
    position INTEGER NOT NULL,              -- 0-based, in the last listing that had it
    lead_id INTEGER,
    reason TEXT NOT NULL,
    path TEXT NOT NULL,
    resolved_at TIMESTAMP,                  -- when the lead came right
    hash TEXT NOT NULL,
    raw TEXT NOT NULL,
    UNIQUE (source, hash)
  );
  CREATE INDEX _rejected_open ON rejected_leads (source, lead_id) WHERE resolved_at IS NULL;
  `,
  `
  -- The latest time that a poll began at, since a clock that was set back was last reckoned with.
  ALTER TABLE _ledger ADD COLUMN clock_at INTEGER NOT NULL DEFAULT 0;
  -- Which file it is on this machine: tells a copy.
  ALTER TABLE _ledger ADD COLUMN file TEXT;
  -- Where the leads come from that the ledger has of a source; null until a poll says it.
  ALTER TABLE _sources ADD COLUMN origin TEXT;
  -- When somebody asked for it once more although it had been refused.
  ALTER TABLE _deliveries ADD COLUMN retried_at INTEGER;
  -- The name in the ids of its deliveries, where the sink has been renamed since.
  ALTER TABLE _sinks ADD COLUMN named TEXT;
  -- JSON, without secrets: as it was last configured.
  ALTER TABLE _sinks ADD COLUMN config TEXT;
  ALTER TABLE _sources ADD COLUMN config TEXT;
  -- A sink that is down for a night is probed hundreds of times: those that failed alike, one after another, are one row.
  ALTER TABLE _attempts ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE _attempts ADD COLUMN last_at INTEGER;  -- when the last of them started; null for a single one
  `,
  `
  -- What the text says of the lead, kept beside it: see leads/content-facts.ts.
  ALTER TABLE _versions ADD COLUMN service_slug TEXT;
  ALTER TABLE _versions ADD COLUMN created_at INTEGER;  -- null where it cannot be read
  ALTER TABLE _versions ADD COLUMN readable TEXT;       -- JSON; null where the text itself will do
  UPDATE _versions SET service_slug = content_fact('serviceSlug', raw), created_at = content_fact('createdAtMs', raw),
    readable = content_fact('readable', raw);
  CREATE INDEX _versions_by_service ON _versions (service_slug, version_no);
  -- Counting leads reads this and not the texts. By number, so that each new one goes to its end: an index by time would cost
  -- more than all the rest of recording a lead whose creation is anywhere in the past.
  CREATE INDEX _versions_facts ON _versions (version_no, source, id, service_slug, created_at);

  -- Tells that two leads are of one client, without telling who; filled only with a key. A change gives a new number.
  CREATE TABLE _client_keys (
    key_no INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    id INTEGER NOT NULL,
    created_at INTEGER,                     -- the lead's
    client_key TEXT NOT NULL,               -- empty: the client has neither email address nor phone number
    UNIQUE (source, id)
  ) STRICT;
  CREATE INDEX _client_keys_by_key ON _client_keys (client_key, created_at);
  -- What every table, view and column means: docs/store.md as a table. The comment on a relation as a whole has no column.
  CREATE TABLE _comments (relation TEXT NOT NULL, "column" TEXT, comment TEXT NOT NULL) STRICT;
  -- How far the clients of leads have been keyed, and a fingerprint of the key.
  ALTER TABLE _ledger ADD COLUMN keyed_with TEXT;
  ALTER TABLE _ledger ADD COLUMN keyed_through INTEGER NOT NULL DEFAULT 0;
  `,
  browseIndexes,
  erasures,
  erasuresTold,
  '-- The views alone are others: a step makes them anew.',
  '-- Once more: has_email and its like say nothing of a lead without content.',
  `
  -- Where it brings leads, and where it brought them before: JSON, an array of [place, since, until] in ms.
  ALTER TABLE _sinks ADD COLUMN place TEXT;
  ALTER TABLE _sinks ADD COLUMN former TEXT NOT NULL DEFAULT '[]';
  `,
  `
  -- When it was found to be a copy, or restored from one; null for one that never was.
  ALTER TABLE _ledger ADD COLUMN restored_at INTEGER;
  `,
  `
  -- When an attempt first ended, or was lost, without anybody knowing whether the lead had arrived. Null: it is known not to have
  -- arrived, or no attempt began. Of what waits in an older ledger nobody can tell any more.
  ALTER TABLE _deliveries ADD COLUMN unsure_at INTEGER;
  UPDATE _deliveries SET unsure_at = coalesce(first_attempt_at, owed_at)
  WHERE state = 'pending' AND (first_attempt_at IS NOT NULL OR batch_no IS NOT NULL);
  `,
  `
  -- The text in a form that the JSON functions of every database can read; null where the text itself will do.
  ALTER TABLE _versions ADD COLUMN safe_raw TEXT;
  UPDATE _versions SET safe_raw = content_fact('safeRaw', raw) WHERE instr(raw, '\\u') > 0;
  `,
  `
  -- Which leads a complete listing no longer had, and which of those came back. A change gives a new number, for a mirror.
  CREATE TABLE _presence (
    presence_no INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    id INTEGER NOT NULL,
    last_listed_at INTEGER,                 -- null: it came back
    noted_at INTEGER NOT NULL,
    UNIQUE (source, id)
  ) STRICT;
  INSERT INTO _presence (source, id, last_listed_at, noted_at)
  SELECT source, id, last_listed_at, last_listed_at FROM _leads WHERE last_listed_at IS NOT NULL;
  `,
  `
  -- Failures that used up no attempt although the sink was not held: the sink was the likelier cause.
  ALTER TABLE _deliveries ADD COLUMN excused INTEGER NOT NULL DEFAULT 0;
  `,
  `
  CREATE INDEX _presence_gone ON _presence (source, presence_no) WHERE last_listed_at IS NOT NULL;
  `,
  `
  -- When the clock was set back, and from what to what: rows that were written later may bear earlier times.
  CREATE TABLE _clock_set_back (step_no INTEGER PRIMARY KEY, from_at INTEGER NOT NULL, to_at INTEGER NOT NULL) STRICT;
  -- When the client was keyed; null for one that was keyed before this column was there.
  ALTER TABLE _client_keys ADD COLUMN keyed_at INTEGER;
  `,
  `
  -- The most leads that a complete listing had which was in force on a day (since 1970, UTC). Kept for a little more than a week.
  CREATE TABLE _listing_sizes (
    source TEXT NOT NULL,
    day INTEGER NOT NULL,
    most INTEGER NOT NULL,
    PRIMARY KEY (source, day)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO _listing_sizes (source, day, most)
  SELECT p.source, unixepoch(p.started_at) / 86400 AS day, max(p.leads_listed) FROM polls p JOIN _sources s ON s.source = p.source
  WHERE p.status IN ('success', 'unchanged') AND p.started_at >= strftime('%Y-%m-%dT%H:%M:%fZ', s.complete_at / 1000.0 - 8 * 86400, 'unixepoch')
  GROUP BY p.source, day;
  `,
];
