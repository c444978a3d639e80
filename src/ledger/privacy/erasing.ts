import type Database from 'better-sqlite3';
import type { DeliveryState } from '../../leads/delivery.ts';
import type {
  ErasureCounts,
  FormerDestination,
  LeadKey,
  Person,
  SinkErasure,
  UnfinishedErasure,
} from '../../leads/person.ts';
import { reach } from '../../platform/process/failpoint.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { ERASED, ERASURE } from '../rules/delivering/delivery-id.ts';
import { type ErasureRow, type FormerRow, formerOf, progressOf } from '../rules/privacy/erasure-progress.ts';
import { KEEPS_MAPPING } from '../schema/views.ts';

interface OwedRow {
  delivery_no: number;
  sink: string;
  state: DeliveryState;
  batch_no: number | null;
  holder: string | null;
  leased_until: number | null;
}

/** Erases persons from the ledger. Runs inside its caller's transaction. */
export class Erasing {
  readonly #clock: Clock;
  readonly #rows: SinkRows;
  readonly #sql;

  constructor(db: Database.Database, clock: Clock, rows: SinkRows) {
    this.#clock = clock;
    this.#rows = rows;
    this.#sql = prepare(db);
  }

  /**
   * Records which leads an erasure affects, and removes the text of rejected leads. From then on, no poll records these leads, and another
   * process can continue the erasure if this process is killed. A repeated erasure gets a new number, so that a mirror also erases what it has
   * copied in the meantime. Returns how many rejected leads still had their text.
   */
  begin({ leads, rejected }: Person): number {
    const now = this.#clock.now().getTime();
    for (const { source, leadId } of leads) {
      this.#knowFromNowOn({ source, leadId }, now);
      this.#sql.note.run(source, leadId, now);
      this.#sql.mark.run(source, leadId);
    }
    return rejected.reduce((sum, one) => sum + this.#sql.clearRejected.run(one.source, one.hash).changes, 0);
  }

  /**
   * Adds a lead without content if the ledger does not know the lead, so that polls ignore it. Such a lead was rejected in every listing,
   * or was first listed after the backup from which this ledger was restored.
   */
  #knowFromNowOn({ source, leadId }: LeadKey, now: number): void {
    const lead = { source, id: leadId, now };
    const versionNo = this.#sql.addVersion.get(lead) ?? this.#sql.addUnlisted.get(lead);
    if (versionNo === undefined) return;
    this.#sql.addLead.run(now, versionNo);
    this.#sql.countLead.run(source);
  }

  /**
   * Erases a lead, and records a delivery of the event `erased` as owed to each of `notifySinks` that may have the lead. The caller may repeat
   * the call to erase what was recorded since.
   */
  lead({ source, leadId }: LeadKey, notifySinks: readonly string[]): ErasureCounts {
    const now = this.#clock.now().getTime();
    this.#sql.dropKey.run(source, leadId);
    const counts = {
      versions: this.#sql.clearVersions.run(source, leadId).changes,
      rejected: this.#sql.clearRejectedOf.run(source, leadId).changes,
      attempts:
        this.#sql.clearAttempts.run(source, leadId).changes +
        this.#sql.clearBatchMates.run(source, leadId).changes,
    };
    // Before the batches end, because membership in a batch may be the only sign that an attempt was made.
    for (const sink of this.#sql.notify.all(now, now, ERASURE, source, leadId, JSON.stringify(notifySinks)))
      this.#rows.count(sink, 'pending', 1);
    this.#sql.clearNotes.run(ERASED, now, source, leadId);
    const owed = this.#sql.owed.all(source, leadId);
    const waiting = owed.filter((row) => row.holder === null || (row.leased_until ?? 0) <= now);
    for (const row of waiting) this.#skip(row, now);
    reach('erasing');
    return { ...counts, skipped: waiting.length, underWay: owed.length - waiting.length };
  }

  /** Returns the progress of the erasure at each sink that may have some of these leads. */
  progress(leads: readonly LeadKey[]): SinkErasure[] {
    const rows = leads.flatMap(({ source, leadId }) => this.#sql.progress.all(source, leadId));
    return progressOf(rows);
  }

  /** Returns the former destinations of sinks that may have received some of these leads but did not receive the event `erased`. */
  formerDestinations(leads: readonly LeadKey[]): FormerDestination[] {
    const rows = leads.flatMap(({ source, leadId: id }) => this.#sql.formerDestinations.all({ source, id }));
    return formerOf(rows);
  }

  unfinished(): UnfinishedErasure[] {
    return this.#sql.unfinished.all().map(({ source, id, erased_at }) => ({
      source,
      leadId: BigInt(id),
      erasedAt: new Date(erased_at),
    }));
  }

  erasedLeads(): LeadKey[] {
    return this.#sql.erased.all().map(({ source, id }) => ({ source, leadId: BigInt(id) }));
  }

  finish(leads: readonly LeadKey[]): void {
    const now = this.#clock.now().getTime();
    for (const { source, leadId } of leads) this.#sql.finish.run(now, source, leadId);
  }

  #skip({ delivery_no, sink, state, batch_no }: OwedRow, now: number): void {
    this.#sql.skip.run(ERASED, now, delivery_no);
    this.#rows.count(sink, state, -1);
    this.#rows.count(sink, 'skipped', 1);
    if (batch_no === null) return;
    // If a lost attempt ends after all, its lease must be invalid, because its batch had one more delivery than now.
    if (this.#sql.fence.run(now, batch_no).changes > 0) this.#sql.markUnsure.run(now, batch_no);
    this.#sql.endEmpty.run(batch_no, batch_no);
  }
}

/** Whether the delivery `d` was attempted, or may have been attempted because it is in a batch. */
const MAY_HAVE_ARRIVED = '(d.first_attempt_at IS NOT NULL OR d.batch_no IS NOT NULL)';

/**
 * SQL assignments that remove an unsettled delivery from its batch. They record that the lead may have arrived, because the batch may have had
 * an attempt whose outcome is unknown.
 */
export const LEAVE_BATCH = `first_attempt_at = coalesce(first_attempt_at,
  (SELECT b.created_at FROM _batches b WHERE b.batch_no = _deliveries.batch_no)), batch_no = NULL`;

/** Skips a delivery. Parameters: reason, time in ms, delivery number. */
export const SKIP = `UPDATE _deliveries SET state = 'skipped', reason = ?, settled_at = ?, next_attempt_at = NULL, ${LEAVE_BATCH}
  WHERE delivery_no = ?`;

/**
 * Records that the leads of a batch may have arrived, because the attempt of the batch was lost or cut off, and the mapping of that
 * attempt. Parameters: time in ms, batch number.
 */
export const MARK_MAYBE_ARRIVED = `UPDATE _deliveries AS d SET unsure_at = coalesce(unsure_at, ?),
   mapping_no = CASE WHEN ${KEEPS_MAPPING} THEN mapping_no ELSE (SELECT b.mapping_no FROM _batches b WHERE b.batch_no = d.batch_no) END
   WHERE batch_no = ?`;

/** Maximum number of deliveries in a batch. The attempts that a batch adds have consecutive numbers, so their numbers differ by less than this. */
const BATCH_MAX = 10_000;

/** The deliveries of a lead, except those of the event `erased`. Parameters: source, id. */
const OF_LEAD = `(SELECT d.delivery_no FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no
  WHERE v.source = ? AND v.id = ? AND d.event <> 'erased')`;

function prepare(db: Database.Database) {
  return {
    note: db.prepare<[string, bigint, number]>(
      `INSERT INTO _erased (source, id, erased_at) VALUES (?, ?, ?) 
       ON CONFLICT DO UPDATE SET finished_at = NULL, erased_no = (SELECT max(erased_no) + 1 FROM _erased)`,
    ),
    mark: db.prepare<[string, bigint]>(
      `UPDATE _leads SET erased_no = (SELECT erased_no FROM _erased e WHERE e.source = _leads.source AND e.id = _leads.id)
       WHERE source = ? AND id = ?`,
    ),
    addVersion: db
      .prepare<[{ source: string; id: bigint; now: number }], number>(
        `INSERT INTO _versions (source, id, version, poll_id, valid_from, first_seen_at, hash, raw)
         SELECT source, lead_id, 1, poll_id, :now, :now, hash, json_object('id', lead_id) FROM rejected_leads r
         WHERE source = :source AND lead_id = :id AND NOT EXISTS (SELECT 1 FROM _leads l WHERE l.source = :source AND l.id = :id)
         ORDER BY rejected_id LIMIT 1 RETURNING version_no`,
      )
      .pluck(),
    addUnlisted: db
      .prepare<[{ source: string; id: bigint; now: number }], number>(
        `INSERT INTO _versions (source, id, version, poll_id, valid_from, first_seen_at, hash, raw)
         SELECT :source, :id, 1, 0, :now, :now, '', json_object('id', :id)
         WHERE NOT EXISTS (SELECT 1 FROM _leads l WHERE l.source = :source AND l.id = :id) RETURNING version_no`,
      )
      .pluck(),
    // Added as not listed, so that the counts of polls stay correct: a poll counts the lead when a listing contains it as valid.
    addLead: db.prepare<[number, number]>(
      `INSERT INTO _leads (source, id, version_no, first_no, version, hash, last_listed_at)
       SELECT source, id, version_no, version_no, version, hash, ? FROM _versions WHERE version_no = ?`,
    ),
    countLead: db.prepare<[string]>('UPDATE _sources SET leads = leads + 1 WHERE source = ?'),
    dropKey: db.prepare<[string, bigint]>('DELETE FROM _client_keys WHERE source = ? AND id = ?'),
    clearVersions: db.prepare<[string, bigint]>(
      `UPDATE _versions SET raw = json_object('id', id), service_slug = NULL, created_at = NULL, readable = NULL, safe_raw = NULL
       WHERE source = ? AND id = ? AND raw <> json_object('id', id)`,
    ),
    clearRejectedOf: db.prepare<[string, bigint]>(
      "UPDATE rejected_leads SET raw = '' WHERE source = ? AND lead_id = ? AND raw <> ''",
    ),
    clearRejected: db.prepare<[string, string]>(
      "UPDATE rejected_leads SET raw = '' WHERE source = ? AND hash = ? AND raw <> ''",
    ),
    clearAttempts: db.prepare<[string, bigint]>(
      `UPDATE _attempts SET answer = NULL, error = NULL WHERE delivery_no IN ${OF_LEAD}
       AND (answer IS NOT NULL OR error IS NOT NULL)`,
    ),
    // The note of a discarded delivery may name the person. The delivery no longer counts as discarded, and mirrors copy it again.
    clearNotes: db.prepare<[string, number, string, bigint]>(
      `UPDATE _deliveries SET reason = ?, settled_at = ?, discarded = 2 WHERE state = 'skipped' AND discarded = 1 AND delivery_no IN ${OF_LEAD}`,
    ),
    // A destination's answer to a whole batch is stored with the attempt of each lead in the batch.
    clearBatchMates: db.prepare<[string, bigint]>(
      `UPDATE _attempts SET answer = NULL WHERE answer IS NOT NULL AND attempt_no IN (
         SELECT m.attempt_no FROM _attempts a JOIN _attempts m ON m.batch_no = a.batch_no
           AND m.attempt_no BETWEEN a.attempt_no - ${BATCH_MAX} AND a.attempt_no + ${BATCH_MAX}
         WHERE a.delivery_no IN ${OF_LEAD})`,
    ),
    notify: db
      .prepare<[number, number, number, string, bigint, string], string>(
        `INSERT INTO _deliveries (version_no, sink_no, event, state, owed_at, next_attempt_at, replay, after_no)
         SELECT l.version_no, d.sink_no, 'erased', 'pending', ?, ?, ?, max(d.delivery_no)
         FROM _leads l JOIN _versions v ON v.source = l.source AND v.id = l.id JOIN _deliveries d ON d.version_no = v.version_no
         WHERE l.source = ? AND l.id = ? AND ${MAY_HAVE_ARRIVED}
           AND d.sink_no IN (SELECT sink_no FROM _sinks JOIN json_each(?) ON value = sink)
         GROUP BY d.sink_no ON CONFLICT DO NOTHING
         RETURNING (SELECT sink FROM _sinks s WHERE s.sink_no = _deliveries.sink_no)`,
      )
      .pluck(),
    progress: db.prepare<[string, bigint], ErasureRow>(
      `SELECT s.sink, max(iif(d.event = 'erased', d.state, NULL)) AS told,
         max(d.event <> 'erased' AND d.state = 'delivered') AS got,
         json_extract(s.health, '$.pausedSince') IS NOT NULL AS paused
       FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no JOIN _sinks s ON s.sink_no = d.sink_no
       WHERE v.source = ? AND v.id = ? AND (d.event = 'erased' OR ${MAY_HAVE_ARRIVED}) GROUP BY s.sink_no ORDER BY s.sink_no`,
    ),
    // A delivery may be at a former destination if it was first attempted before the sink left that destination, and was not settled before
    // the sink began to deliver there.
    formerDestinations: db.prepare<[{ source: string; id: bigint }], FormerRow>(
      `SELECT s.sink, f.value ->> 0 AS place, f.value ->> 2 AS until
       FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no JOIN _sinks s ON s.sink_no = d.sink_no, json_each(s.former) f
       WHERE v.source = :source AND v.id = :id AND f.value ->> 0 <> s.place AND ${MAY_HAVE_ARRIVED}
         AND coalesce(d.first_attempt_at, d.owed_at) < f.value ->> 2 AND coalesce(d.settled_at, f.value ->> 2) >= f.value ->> 1
       GROUP BY s.sink_no, f.key
       HAVING max(d.event = 'erased' AND d.state = 'delivered' AND d.settled_at < f.value ->> 2) = 0 ORDER BY s.sink_no, f.key`,
    ),
    owed: db.prepare<[string, bigint], OwedRow>(
      `SELECT d.delivery_no, s.sink, d.state, d.batch_no, b.holder, b.leased_until FROM _deliveries d
       JOIN _sinks s ON s.sink_no = d.sink_no LEFT JOIN _batches b ON b.batch_no = d.batch_no
       WHERE d.delivery_no IN ${OF_LEAD} AND d.state IN ('pending', 'dead')`,
    ),
    skip: db.prepare<[string, number, number]>(SKIP),
    fence: db.prepare<[number, number]>(
      'UPDATE _batches SET lease = 0, holder = NULL, leased_until = ? WHERE batch_no = ? AND holder IS NOT NULL',
    ),
    markUnsure: db.prepare<[number, number]>(MARK_MAYBE_ARRIVED),
    endEmpty: db.prepare<[number, number]>(
      'DELETE FROM _batches WHERE batch_no = ? AND NOT EXISTS (SELECT 1 FROM _deliveries WHERE batch_no = ?)',
    ),
    unfinished: db.prepare<[], { source: string; id: string; erased_at: number }>(
      'SELECT source, CAST(id AS TEXT) AS id, erased_at FROM _erased WHERE finished_at IS NULL ORDER BY erased_no',
    ),
    erased: db.prepare<[], { source: string; id: string }>(
      'SELECT source, CAST(id AS TEXT) AS id FROM _erased ORDER BY erased_no',
    ),
    finish: db.prepare<[number, string, bigint]>(
      'UPDATE _erased SET finished_at = ? WHERE source = ? AND id = ?',
    ),
  };
}
