import type Database from 'better-sqlite3';
import { ERASED } from '../rules/delivering/delivery-id.ts';
import { LOST_TEXT } from '../rules/delivering/superseding.ts';
import { KEEPS_MAPPING } from '../schema/views.ts';
import type { CopiedTable } from './copy-tables.ts';
import type { EntryTable } from './index-entries.ts';

/** The reason recorded for a restored delivery that was either delivered or skipped before. */
export const SETTLED = 'the ledger was damaged: it is only known that this delivery was settled';

/** The result of `repairDeliveries`. */
export interface DeliveryRepairs {
  /** The number of deliveries that were restored from indexes. */
  readonly restored: number;
  /** Names of the sinks whose rows were lost, and for which only the names were restored. */
  readonly sinks: readonly string[];
  /** Whether deliveries may still be missing. */
  readonly incomplete: boolean;
}

/**
 * Keeps the deliveries whose lead and sink are known, restores deliveries that only indexes still contain, and ends all leases. If an attempt
 * shows that an unreadable delivery arrived, records that. If indexes show that it is settled, records it as skipped. Otherwise, records it as
 * owed again under the same id.
 */
export function repairDeliveries(
  db: Database.Database,
  tables: readonly CopiedTable[],
  complete: ReadonlySet<EntryTable>,
  now: number,
): DeliveryRepairs {
  const isWhole = (name: string) => tables.find(({ table }) => table === name)?.whole ?? false;
  const run = (sql: string) => db.prepare<[{ now: number }]>(sql).run({ now }).changes;
  const sinks = db.prepare<[], string>(LOST_SINKS).pluck().all();
  if (sinks.length > 0) db.prepare(ASKED_FOR).run(JSON.stringify(sinks));
  const contradicted = db.prepare(CONTRADICTED).run().changes;
  const orphaned = db.prepare(ORPHANED).run().changes;
  const settled = complete.has('indexed_pending') && complete.has('indexed_dead') ? 1 : 0;
  const restored = db
    .prepare<[{ now: number; settled: 0 | 1; reason: string }]>(RESTORED)
    .run({ now, settled, reason: SETTLED }).changes;
  const isComplete = isWhole('_deliveries') && contradicted + orphaned + restored === 0;
  for (const sql of isComplete && isWhole('_batches') ? SAME_BATCHES : NO_BATCHES) run(sql);
  for (const sql of SOUND_STATES) run(sql);
  db.prepare<[{ now: number; reason: string }]>(SKIP_ERASED).run({ now, reason: ERASED });
  for (const sql of WITHOUT_OWNER) run(sql);
  return { restored, sinks, incomplete: !isComplete };
}

/** Turns pending deliveries into dead ones if the text of their lead was lost. They become pending again when a source lists the text again. */
export function failLostTexts(db: Database.Database, now: number): void {
  db.prepare<[{ now: number; reason: string }]>(GIVE_UP).run({ now, reason: LOST_TEXT });
  db.exec(EMPTY_BATCHES);
}

/** Adds lost sinks. `ASKED_FOR` derives the events of these sinks from their deliveries. The next declaration sets everything else. */
const LOST_SINKS = `
  INSERT OR IGNORE INTO _sinks (sink_no, sink, active, events, backfill, owed_through, backfill_to, health)
  SELECT sink_no, sink, 1, 'created', 1, (SELECT coalesce(max(version_no), 0) FROM _versions), (SELECT coalesce(max(version_no), 0) FROM _versions), '{}'
  FROM indexed_sinks WHERE typeof(sink) = 'text' AND sink_no > 0 RETURNING sink`;

const ASKED_FOR = `
  UPDATE _sinks AS k SET events = asked.events
  FROM (SELECT sink_no, group_concat(event) AS events
    FROM (SELECT DISTINCT sink_no, event FROM _deliveries WHERE event <> 'erased' ORDER BY sink_no, event) GROUP BY sink_no) AS asked
  WHERE k.sink_no = asked.sink_no AND k.sink IN (SELECT value FROM json_each(?))`;

/** Deletes each delivery whose values differ from those in the index for its number, because either the row or the index is wrong. */
const CONTRADICTED = `
  DELETE FROM _deliveries AS d WHERE EXISTS (SELECT 1 FROM indexed_owed s WHERE s.delivery_no = d.delivery_no)
    AND NOT EXISTS (SELECT 1 FROM indexed_owed s WHERE s.delivery_no = d.delivery_no AND s.version_no = d.version_no
      AND s.sink_no = d.sink_no AND s.replay = d.replay)`;

const ORPHANED = `
  DELETE FROM _deliveries WHERE version_no NOT IN (SELECT version_no FROM _versions) OR sink_no NOT IN (SELECT sink_no FROM _sinks)`;

/** When the delivery `s` arrived according to its last successful attempt, in ms; null if no attempt succeeded. */
const ARRIVED = `(SELECT max(coalesce(a.last_at, a.started_at) + a.duration_ms) FROM _attempts a
  WHERE a.delivery_no = s.delivery_no AND a.outcome = 'delivered')`;

/**
 * Whether two indexes show that the delivery `s` is neither pending nor dead. If so, it counts as skipped, unless an attempt shows that it
 * arrived.
 */
const SKIPPED = `(:settled AND s.delivery_no NOT IN (SELECT delivery_no FROM indexed_pending)
  AND s.delivery_no NOT IN (SELECT delivery_no FROM indexed_dead))`;

const RESTORED = `
  INSERT OR IGNORE INTO _deliveries (delivery_no, version_no, sink_no, replay, event, state, reason, attempts, owed_at,
    first_attempt_at, last_attempt_at, next_attempt_at, settled_at, unsure_at, mapping_no)
  SELECT delivery_no, version_no, sink_no, replay, event, state, iif(state = 'skipped', :reason, NULL), tried IS NOT NULL, seen_at,
    coalesce(tried, iif(state = 'pending', seen_at, NULL)), tried, iif(state = 'pending', :now, NULL),
    iif(state = 'pending', NULL, coalesce(arrived, :now)), iif(state = 'pending', :now, NULL), mapping_no
  FROM (SELECT s.delivery_no, s.version_no, s.sink_no, s.replay, k.mapping_no, v.first_seen_at AS seen_at, ${ARRIVED} AS arrived,
      (SELECT max(a.started_at) FROM _attempts a WHERE a.delivery_no = s.delivery_no) AS tried,
      CASE WHEN s.replay = -1 THEN 'erased' WHEN v.version = 1 OR instr(k.events, 'updated') = 0 THEN 'created' ELSE 'updated' END AS event,
      CASE WHEN ${ARRIVED} IS NOT NULL THEN 'delivered' WHEN ${SKIPPED} THEN 'skipped' ELSE 'pending' END AS state
    FROM indexed_owed s JOIN _versions v ON v.version_no = s.version_no JOIN _sinks k ON k.sink_no = s.sink_no
    WHERE s.delivery_no > 0 AND s.replay >= -1 AND s.delivery_no NOT IN (SELECT delivery_no FROM _deliveries))`;

/**
 * The mapping with which the delivery `d` may have arrived: its recorded mapping, otherwise that of its batch or, if the batch is lost, the
 * present mapping of its sink.
 */
const MAPPING = `CASE WHEN ${KEEPS_MAPPING} THEN d.mapping_no
  WHEN EXISTS (SELECT 1 FROM _batches b WHERE b.batch_no = d.batch_no) THEN (SELECT b.mapping_no FROM _batches b WHERE b.batch_no = d.batch_no)
  ELSE (SELECT k.mapping_no FROM _sinks k WHERE k.sink_no = d.sink_no) END`;

/** Makes batches in flight due immediately, as the same batches. Their attempts may have delivered the leads. */
const SAME_BATCHES = [
  `UPDATE _deliveries AS d SET unsure_at = coalesce(unsure_at, :now), mapping_no = ${MAPPING}
   WHERE batch_no IN (SELECT batch_no FROM _batches WHERE holder IS NOT NULL)`,
  'UPDATE _batches SET lease = 0, holder = NULL, leased_until = 0',
];

/** Ends all batches, because it is not known which deliveries they contained. */
const NO_BATCHES = [
  `UPDATE _deliveries AS d SET first_attempt_at = coalesce(first_attempt_at, owed_at), unsure_at = coalesce(unsure_at, :now),
   mapping_no = ${MAPPING}
   WHERE batch_no IS NOT NULL AND NOT EXISTS (SELECT 1 FROM _batches b WHERE b.batch_no = d.batch_no AND b.holder IS NULL)`,
  'UPDATE _deliveries SET batch_no = NULL',
];

const SOUND_STATES = [
  `UPDATE _deliveries SET batch_no = NULL WHERE (state <> 'pending' OR batch_no NOT IN (SELECT batch_no FROM _batches))`,
  "UPDATE _deliveries SET next_attempt_at = min(coalesce(next_attempt_at, :now), :now), settled_at = NULL WHERE state = 'pending'",
  "UPDATE _deliveries SET settled_at = coalesce(settled_at, :now), next_attempt_at = NULL WHERE state <> 'pending'",
];

const SKIP_ERASED = `
  UPDATE _deliveries SET state = 'skipped', reason = :reason, settled_at = :now, next_attempt_at = NULL, batch_no = NULL
  WHERE state IN ('pending', 'dead') AND event <> 'erased' AND version_no IN (
    SELECT v.version_no FROM _erased e JOIN _versions v ON v.source = e.source AND v.id = e.id)`;

const WITHOUT_OWNER = [
  'DELETE FROM _attempts WHERE delivery_no NOT IN (SELECT delivery_no FROM _deliveries)',
  'DELETE FROM _replays WHERE sink_no NOT IN (SELECT sink_no FROM _sinks)',
];

const GIVE_UP = `
  UPDATE _deliveries SET state = 'dead', reason = :reason, settled_at = :now, next_attempt_at = NULL, batch_no = NULL
  WHERE state = 'pending' AND event <> 'erased' AND version_no IN (SELECT version_no FROM lost_texts)`;

const EMPTY_BATCHES =
  'DELETE FROM _batches AS b WHERE NOT EXISTS (SELECT 1 FROM _deliveries d WHERE d.batch_no = b.batch_no)';
