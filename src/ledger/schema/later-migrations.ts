import { erasedDeliveryIds, erasures } from './erasure-migrations.ts';
import { browseIndexes } from './page-index-migration.ts';

/** The migrations after the first one, which schema.ts contains. They change the tables, and explain each new column. */
export const laterMigrations: readonly string[] = [
  `
  -- The latest time at which a poll began since the last correction for a clock that was set back.
  ALTER TABLE _ledger ADD COLUMN clock_at INTEGER NOT NULL DEFAULT 0;
  -- The identity of the file on this machine, by which a copy is recognised.
  ALTER TABLE _ledger ADD COLUMN file TEXT;
  -- The origin of a source's leads; null until a poll stores it.
  ALTER TABLE _sources ADD COLUMN origin TEXT;
  -- When an operator retried the delivery although it had been refused.
  ALTER TABLE _deliveries ADD COLUMN retried_at INTEGER;
  -- The name in the ids of its deliveries, if the sink was renamed since.
  ALTER TABLE _sinks ADD COLUMN named TEXT;
  -- The last configuration as JSON, without secrets.
  ALTER TABLE _sinks ADD COLUMN config TEXT;
  ALTER TABLE _sources ADD COLUMN config TEXT;
  -- Consecutive attempts that fail the same way share a row: an unavailable sink is probed hundreds of times a night.
  ALTER TABLE _attempts ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE _attempts ADD COLUMN last_at INTEGER;  -- when the last of them started; null for a single one
  `,
  `
  -- Facts from the lead's text: see leads/content-facts.ts.
  ALTER TABLE _versions ADD COLUMN service_slug TEXT;
  ALTER TABLE _versions ADD COLUMN created_at INTEGER;  -- null if it is not a time
  ALTER TABLE _versions ADD COLUMN readable TEXT;       -- JSON; null if databases can store the text itself
  UPDATE _versions SET service_slug = content_fact('serviceSlug', raw), created_at = content_fact('createdAtMs', raw),
    readable = content_fact('readable', raw);
  CREATE INDEX _versions_by_service ON _versions (service_slug, version_no);
  -- Queries that count leads read this index and not the texts. It is ordered by number, so that new rows go to its end: in an index by
  -- creation time they would go anywhere, which costs more than all the rest of recording a lead.
  CREATE INDEX _versions_facts ON _versions (version_no, source, id, service_slug, created_at);

  -- Shows which leads are of the same client without revealing the client; filled only if a key is configured. A change gets a new number.
  CREATE TABLE _client_keys (
    key_no INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    id INTEGER NOT NULL,
    created_at INTEGER,                     -- the lead's
    client_key TEXT NOT NULL,               -- empty: the client has neither email address nor phone number
    UNIQUE (source, id)
  ) STRICT;
  CREATE INDEX _client_keys_by_key ON _client_keys (client_key, created_at);
  -- The meaning of every table, view and column, as in docs/store.md. "column" is null in the comment on a relation as a whole.
  CREATE TABLE _comments (relation TEXT NOT NULL, "column" TEXT, comment TEXT NOT NULL) STRICT;
  -- A fingerprint of the client key's secret, and the last version that was keyed.
  ALTER TABLE _ledger ADD COLUMN keyed_with TEXT;
  ALTER TABLE _ledger ADD COLUMN keyed_through INTEGER NOT NULL DEFAULT 0;
  `,
  browseIndexes,
  erasures,
  erasedDeliveryIds,
  '-- Changes only views, which every migration recreates.',
  '-- Changes only views: has_email and similar columns are null for a lead without content.',
  `
  -- The destination of a sink, and its former ones: a JSON array of [place, since, until] in ms.
  ALTER TABLE _sinks ADD COLUMN place TEXT;
  ALTER TABLE _sinks ADD COLUMN former TEXT NOT NULL DEFAULT '[]';
  `,
  `
  -- When the ledger was found to be a copy or restored from one; null if it never was.
  ALTER TABLE _ledger ADD COLUMN restored_at INTEGER;
  `,
  `
  -- When an attempt first ended or was lost with an unknown outcome, so that the lead may have arrived. Null: it certainly did not
  -- arrive, or no attempt began. Attempted deliveries that are pending in an older ledger count as unknown.
  ALTER TABLE _deliveries ADD COLUMN unsure_at INTEGER;
  UPDATE _deliveries SET unsure_at = coalesce(first_attempt_at, owed_at)
  WHERE state = 'pending' AND (first_attempt_at IS NOT NULL OR batch_no IS NOT NULL);
  `,
  `
  -- The text in a form that the JSON functions of every database can read; null if they can read the text itself.
  ALTER TABLE _versions ADD COLUMN safe_raw TEXT;
  UPDATE _versions SET safe_raw = content_fact('safeRaw', raw) WHERE instr(raw, '\\u') > 0;
  `,
  `
  -- Leads that a complete listing no longer contained, and whether they are listed again. A change gets a new number, for mirrors.
  CREATE TABLE _presence (
    presence_no INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    id INTEGER NOT NULL,
    last_listed_at INTEGER,                 -- null: listed again
    noted_at INTEGER NOT NULL,
    UNIQUE (source, id)
  ) STRICT;
  INSERT INTO _presence (source, id, last_listed_at, noted_at)
  SELECT source, id, last_listed_at, last_listed_at FROM _leads WHERE last_listed_at IS NOT NULL;
  `,
  `
  -- Failures that used up no attempt although the sink was not held, because the sink was the more likely cause.
  ALTER TABLE _deliveries ADD COLUMN excused INTEGER NOT NULL DEFAULT 0;
  `,
  `
  CREATE INDEX _presence_gone ON _presence (source, presence_no) WHERE last_listed_at IS NOT NULL;
  `,
  `
  -- Times from and to which the clock was set back: rows that were written later may have earlier times.
  CREATE TABLE _clock_set_back (step_no INTEGER PRIMARY KEY, from_at INTEGER NOT NULL, to_at INTEGER NOT NULL) STRICT;
  -- When the lead was keyed; null if that was before this column existed.
  ALTER TABLE _client_keys ADD COLUMN keyed_at INTEGER;
  `,
  `
  -- The size of the largest complete listing that was valid on a day (days since 1970, UTC). Kept for a little more than a week.
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
  `
  -- The texts of the mappings that sinks have or had.
  -- Numbers are never reused: a delivery must not find another mapping under its number.
  CREATE TABLE _mappings (mapping_no INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL UNIQUE) STRICT;
  -- The mapping that the sink has now; null if it gets leads as received.
  ALTER TABLE _sinks ADD COLUMN mapping_no INTEGER;
  -- The mapping of the present or last attempt.
  ALTER TABLE _batches ADD COLUMN mapping_no INTEGER;
  -- The mapping of the attempt at unsure_at, which every later attempt has to use.
  ALTER TABLE _deliveries ADD COLUMN mapping_no INTEGER;
  `,
  `
  -- What the lead became at the destination: {"object", "id", "url"} as JSON. Null unless the destination said so.
  ALTER TABLE _deliveries ADD COLUMN ref TEXT;
  `,
  `
  -- Whether the replay owes only leads that the sink's mapping left out.
  ALTER TABLE _replays ADD COLUMN left_out INTEGER NOT NULL DEFAULT 0;
  -- Whether such a replay owed the delivery, so that its sink does not have the content yet and it is not marked as a replay.
  ALTER TABLE _deliveries ADD COLUMN was_left_out INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- 0: no request carried the delivery's present id. 1: one did, so later attempts keep mapping_no. 2: one did, and a later attempt may use
  -- another mapping, under a new id, because the sink refused the lead or an operator requested it. A delivery with unsure_at counts as 1.
  ALTER TABLE _deliveries ADD COLUMN bound INTEGER NOT NULL DEFAULT 0;
  -- How many times the delivery got a new id because another mapping made another message of it.
  ALTER TABLE _deliveries ADD COLUMN reissued INTEGER NOT NULL DEFAULT 0;
  UPDATE _deliveries SET bound = 2, mapping_no = CASE WHEN last_attempt_at IS NULL
    THEN (SELECT s.mapping_no FROM _sinks s WHERE s.sink_no = _deliveries.sink_no) ELSE mapping_no END
  WHERE state IN ('pending', 'dead') AND first_attempt_at IS NOT NULL AND unsure_at IS NULL;
  `,
  `
  -- What else a replay selects, as JSON: conditions on the lead's deliveries to the sink, or a list of versions. Null: nothing else.
  ALTER TABLE _replays ADD COLUMN chosen TEXT;
  CREATE INDEX _replays_by_request ON _replays (sink_no, asked_at);
  CREATE INDEX _deliveries_replays ON _deliveries (sink_no) WHERE state = 'pending' AND replay > 0;
  -- 1: the delivery was dead until an operator discarded it. 2: an operator has retried it since. 0: it was never discarded.
  ALTER TABLE _deliveries ADD COLUMN discarded INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX _deliveries_discarded ON _deliveries (sink_no, owed_at) WHERE discarded > 0;
  `,
  `
  -- The attempts of a sink in ten minutes, summed up as JSON: see attempt-sums.ts. Kept for a little more than a week.
  CREATE TABLE _sink_activity (
    sink_no INTEGER NOT NULL,
    from_at INTEGER NOT NULL,
    sums TEXT NOT NULL,
    PRIMARY KEY (sink_no, from_at)
  ) STRICT, WITHOUT ROWID;
  -- When a sink was held or paused, and why. Kept are the last hundred of each sink. Those that follow each other within a minute share a row.
  CREATE TABLE _sink_holds (
    hold_no INTEGER PRIMARY KEY,
    sink_no INTEGER NOT NULL,
    kind TEXT NOT NULL,                     -- held, paused
    began_at INTEGER NOT NULL,
    ended_at INTEGER,                       -- null while it lasts
    times INTEGER NOT NULL DEFAULT 1,
    reason TEXT
  ) STRICT;
  CREATE INDEX _sink_holds_by_sink ON _sink_holds (sink_no, hold_no);
  `,
  "CREATE INDEX _attempts_failed ON _attempts (attempt_no) WHERE outcome <> 'delivered';",
];
