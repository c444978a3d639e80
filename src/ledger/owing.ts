import type Database from 'better-sqlite3';
import type { DeliveryState, LeadEvent } from '../leads/delivery.ts';
import type { LeadId } from '../leads/lead.ts';
import { HAS_CONTENT } from './retaining.ts';
import type { SinkRow, SinkRows } from './sink-rows.ts';

const LISTED_BEFORE =
  'listed before leadsync brought leads of this source to this sink, and its backfill is off';
const GAVE_WAY = 'a newer delivery of the same lead has taken its place';
const BACKFILL_CHUNK = 300;

/** The deliveries of one lead that one sink is still owed: source, id, sink. */
const PENDING = `SELECT o.delivery_no FROM _versions v JOIN _deliveries o ON o.version_no = v.version_no
  WHERE v.source = +? AND v.id = +? AND o.sink_no = +? AND o.state = 'pending'`;

interface CurrentVersion {
  version_no: number;
  current_no: number;
  source: string;
  id: string;
}

/** Turns "this lead is new" into "these sinks are owed it". Runs inside its caller's transaction. */
export class Owing {
  readonly #rows: SinkRows;
  readonly #sql;
  #sinks: readonly SinkRow[] = [];

  constructor(db: Database.Database, rows: SinkRows) {
    this.#rows = rows;
    this.#sql = {
      owe: db.prepare(
        `INSERT INTO _deliveries (version_no, sink_no, replay, event, state, owed_at, next_attempt_at, after_no)
         VALUES (?, ?, ?, ?, 'pending', ?, ?, ?) ON CONFLICT DO NOTHING`,
      ),
      skip: db.prepare(
        `INSERT INTO _deliveries (version_no, sink_no, event, state, reason, owed_at, settled_at)
         VALUES (?, ?, ?, 'skipped', ?, ?, ?) ON CONFLICT DO NOTHING`,
      ),
      // A statement for all of a chunk's leads takes less than half the time of one for each.
      oweAll: db.prepare(
        `INSERT INTO _deliveries (version_no, sink_no, event, state, owed_at, next_attempt_at)
         SELECT value, ?, 'created', 'pending', ?, ? FROM json_each(?)`,
      ),
      skipAll: db.prepare(
        `INSERT INTO _deliveries (version_no, sink_no, event, state, reason, owed_at, settled_at)
         SELECT value, ?, 'created', 'skipped', ?, ?, ? FROM json_each(?)`,
      ),
      last: db.prepare<[string, bigint, number], { delivery_no: number; state: DeliveryState }>(
        `SELECT d.delivery_no, d.state FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no
         WHERE v.source = +? AND v.id = +? AND d.sink_no = +? ORDER BY d.delivery_no DESC LIMIT 1`,
      ),
      // Never attempted, so that nobody knows its name or its content.
      untouched: db.prepare<[string, bigint, number], { delivery_no: number; replay: number }>(
        `SELECT delivery_no, replay FROM _deliveries d WHERE delivery_no IN (${PENDING}) AND d.batch_no IS NULL
         AND d.first_attempt_at IS NULL ORDER BY delivery_no`,
      ),
      moveOn: db.prepare<[number, number]>('UPDATE _deliveries SET version_no = ? WHERE delivery_no = ?'),
      waiting: db.prepare<[string, bigint, number], { delivery_no: number; batch_no: number | null }>(
        `SELECT d.delivery_no, d.batch_no FROM _deliveries d LEFT JOIN _batches b ON b.batch_no = d.batch_no
         WHERE d.delivery_no IN (${PENDING}) AND d.first_attempt_at IS NOT NULL AND (d.batch_no IS NULL OR (b.lease = 0 AND NOT EXISTS
         (SELECT 1 FROM _deliveries e WHERE e.batch_no = d.batch_no AND e.delivery_no <> d.delivery_no)))`,
      ),
      giveWay: db.prepare<[string, number, number]>(
        `UPDATE _deliveries SET state = 'skipped', reason = ?, settled_at = ?, next_attempt_at = NULL, batch_no = NULL WHERE delivery_no = ?`,
      ),
      endBatch: db.prepare<[number]>('DELETE FROM _batches WHERE batch_no = ?'),
      between: db.prepare<[{ after: number; to: number; limit: number }], CurrentVersion>(
        // Of each lead the current version: the one in this range, or a newer one that came since the sink is there.
        `SELECT v.version_no, l.version_no AS current_no, v.source, CAST(v.id AS TEXT) AS id FROM _versions v
         JOIN _leads l ON l.source = v.source AND l.id = v.id
         WHERE v.version_no > +:after AND v.version_no <= +:to AND (l.version_no = v.version_no OR l.version_no > +:to) AND ${HAS_CONTENT}
         ORDER BY v.version_no LIMIT +:limit`,
      ),
    };
  }

  /** Reads which sinks there are; the first thing of a transaction that owes. */
  load(): void {
    this.#sinks = this.#rows.all().filter((row) => row.active);
  }

  /** Owes leads that are new. `old` were listed before the source's sinks were there, `fresh` were not. */
  created(versions: { old: readonly number[]; fresh: readonly number[] }, now: number): void {
    for (const sink of this.#sinks) {
      if (!sink.events.includes('created')) continue;
      if (sink.backfill) this.#oweAll(sink, [...versions.old, ...versions.fresh], now);
      else {
        this.#skipAll(sink, versions.old, now);
        this.#oweAll(sink, versions.fresh, now);
      }
    }
  }

  #oweAll(sink: SinkRow, versions: readonly number[], now: number): void {
    if (versions.length === 0) return;
    this.#sql.oweAll.run(sink.sinkNo, now, now, JSON.stringify(versions));
    this.#rows.count(sink.name, 'pending', versions.length);
  }

  #skipAll(sink: SinkRow, versions: readonly number[], now: number): void {
    if (versions.length === 0) return;
    this.#sql.skipAll.run(sink.sinkNo, LISTED_BEFORE, now, now, JSON.stringify(versions));
    this.#rows.count(sink.name, 'skipped', versions.length);
  }

  /**
   * A lead has another content: what waits for a sink gives way to it, and a sink that asks for updates is owed one. To others
   * it is owed as a new lead when the one that they were owed is dead: what they refused may be mended.
   */
  updated(versionNo: number, source: string, id: LeadId, now: number): void {
    for (const sink of this.#sinks) {
      const asks = sink.events.includes('updated');
      if (asks) this.#giveWay(sink, source, id, now);
      if (this.#moveOn(sink, versionNo, source, id, now)) continue;
      if (asks) this.#oweBehind(sink, versionNo, source, id, 'updated', 0, now);
      else if (this.#sql.last.get(source, id, sink.sinkNo)?.state === 'dead')
        this.#oweBehind(sink, versionNo, source, id, 'created', 0, now);
    }
  }

  /** Owes a lead once more, as a replay that was asked for then; what failed before and waits for its next attempt gives way. */
  replay(
    sink: SinkRow,
    versionNo: number,
    source: string,
    id: LeadId,
    askedAt: number,
    now: number,
  ): boolean {
    this.#giveWay(sink, source, id, now);
    return this.#oweBehind(sink, versionNo, source, id, 'created', askedAt, now);
  }

  /**
   * An older content that was attempted and waits for its next attempt would hold the newer one up, for as long as its
   * retries take. One that is on its way, or in a batch with others that has to stay as it is, is waited for.
   */
  #giveWay(sink: SinkRow, source: string, id: LeadId, now: number): void {
    for (const { delivery_no, batch_no } of this.#sql.waiting.all(source, id, sink.sinkNo)) {
      this.#skip(sink, delivery_no, now);
      if (batch_no !== null) this.#sql.endBatch.run(batch_no);
    }
  }

  /** Takes what was never attempted on to a newer content; of several the last. False when there is none. */
  #moveOn(sink: SinkRow, versionNo: number, source: string, id: LeadId, now: number): boolean {
    const untouched = this.#sql.untouched.all(source, id, sink.sinkNo);
    const last = new Map(untouched.map(({ replay, delivery_no }) => [replay, delivery_no]));
    for (const { replay, delivery_no } of untouched) {
      if (last.get(replay) === delivery_no) this.#sql.moveOn.run(versionNo, delivery_no);
      else this.#skip(sink, delivery_no, now);
    }
    return untouched.length > 0;
  }

  #skip(sink: SinkRow, deliveryNo: number, now: number): void {
    this.#sql.giveWay.run(GAVE_WAY, now, deliveryNo);
    this.#rows.count(sink.name, 'pending', -1);
    this.#rows.count(sink.name, 'skipped', 1);
  }

  /** Owes a lead behind whatever this sink is still owed of it, so that an older content never overtakes a newer one. */
  #oweBehind(
    sink: SinkRow,
    versionNo: number,
    source: string,
    id: LeadId,
    event: LeadEvent,
    replay: number,
    now: number,
  ): boolean {
    const after = this.#sql.last.get(source, id, sink.sinkNo)?.delivery_no ?? null;
    const owed = this.#sql.owe.run(versionNo, sink.sinkNo, replay, event, now, now, after).changes;
    this.#rows.count(sink.name, 'pending', owed);
    return owed === 1;
  }

  /** Owes or skips the next part of what was listed while the sink was not there. */
  backfill(name: string, now: number): { owed: number; skipped: number; done: boolean } {
    const sink = this.#rows.get(name);
    if (!sink || sink.owedThrough >= sink.backfillTo) return { owed: 0, skipped: 0, done: true };
    const versions = this.#sql.between.all({
      after: sink.owedThrough,
      to: sink.backfillTo,
      limit: BACKFILL_CHUNK,
    });
    let [owed, skipped] = [0, 0];
    for (const version of versions) {
      const known = this.#sql.last.get(version.source, BigInt(version.id), sink.sinkNo) !== undefined;
      const event = known ? 'updated' : 'created';
      if (!sink.events.includes(event)) continue;
      if (!sink.backfill)
        skipped += this.#sql.skip.run(
          version.current_no,
          sink.sinkNo,
          event,
          LISTED_BEFORE,
          now,
          now,
        ).changes;
      else if (this.#oweBehind(sink, version.current_no, version.source, BigInt(version.id), event, 0, now))
        owed += 1;
    }
    this.#rows.count(name, 'skipped', skipped);
    const done = versions.length < BACKFILL_CHUNK;
    this.#rows.setProgress(name, done ? sink.backfillTo : (versions.at(-1)?.version_no ?? sink.backfillTo));
    return { owed, skipped, done };
  }
}
