import type Database from 'better-sqlite3';
import type { DeliveryState } from '../../leads/delivery.ts';
import type { LeadId } from '../../leads/lead.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';
import type { SinkRow } from '../rules/delivering/sink-row.ts';
import {
  LISTED_BEFORE,
  type NewestVersion,
  planBackfill,
  WITHOUT_TEXT,
} from '../rules/delivering/superseding.ts';
import { NewestContent } from './superseding.ts';

const BACKFILL_CHUNK = 300;

interface CurrentVersion {
  version_no: number;
  current_no: number;
  source: string;
  id: string;
  has_content: 0 | 1;
}

/** Creates the deliveries of new and changed leads. Runs inside its caller's transaction. */
export class Owing {
  readonly #rows: SinkRows;
  readonly #sql;
  readonly newest: NewestContent;
  #sinks: readonly SinkRow[] = [];

  constructor(db: Database.Database, rows: SinkRows) {
    this.#rows = rows;
    this.newest = new NewestContent(db, rows);
    this.#sql = {
      skip: db.prepare(
        `INSERT INTO _deliveries (version_no, sink_no, event, state, reason, owed_at, settled_at)
         VALUES (?, ?, ?, 'skipped', ?, ?, ?) ON CONFLICT DO NOTHING`,
      ),
      // One statement for all leads of a chunk takes less than half as long as one statement for each lead.
      oweAll: db.prepare(
        `INSERT INTO _deliveries (version_no, sink_no, event, state, owed_at, next_attempt_at)
         SELECT value, ?, 'created', 'pending', ?, ? FROM json_each(?)`,
      ),
      skipAll: db.prepare(
        `INSERT INTO _deliveries (version_no, sink_no, event, state, reason, owed_at, settled_at)
         SELECT value, ?, 'created', 'skipped', ?, ?, ? FROM json_each(?)`,
      ),
      oweAgain: db.prepare<[number, number, number, DeliveryState, string]>(
        `UPDATE _deliveries SET state = 'pending', reason = NULL, settled_at = NULL, next_attempt_at = ?
         WHERE version_no = +? AND sink_no = +? AND state = ? AND reason = ?`,
      ),
      between: db.prepare<[{ after: number; to: number; limit: number }], CurrentVersion>(
        // The current version of each lead: the version in this range, or a newer version that was recorded after the sink was declared.
        `SELECT v.version_no, l.version_no AS current_no, v.source, CAST(v.id AS TEXT) AS id, ${HAS_CONTENT} AS has_content FROM _versions v
         JOIN _leads l ON l.source = v.source AND l.id = v.id
         WHERE v.version_no > +:after AND v.version_no <= +:to AND (l.version_no = v.version_no OR l.version_no > +:to) AND l.erased_no IS NULL
         ORDER BY v.version_no LIMIT +:limit`,
      ),
    };
  }

  /** Reads the active sinks. Must be called first in each transaction that calls `created` or `updated`. */
  load(): void {
    this.#sinks = this.#rows.all().filter((row) => row.active);
  }

  /**
   * Records new leads as owed to the sinks that subscribe to `created`. For a sink without backfill, skips the `old` leads, which count as
   * listed before the sinks were configured.
   */
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
   * Records a lead's new version as owed to every sink that subscribes to updates, and to every other sink whose last delivery of the lead is pending
   * or dead, or was skipped although the sink may still need the lead (see `planNewest`).
   */
  updated(versionNo: number, source: string, id: LeadId, now: number): void {
    for (const sink of this.#sinks) this.newest.oweNewest(sink, { versionNo, source, id }, now);
  }

  /** Makes deliveries pending again that were dead or skipped because the text of this version was lost to damage. */
  textRestored(versionNo: number, now: number): void {
    for (const { sinkNo, name } of this.#rows.all())
      for (const [state, reason] of WITHOUT_TEXT) {
        const { changes } = this.#sql.oweAgain.run(now, versionNo, sinkNo, state, reason);
        this.#rows.count(name, state, -changes);
        this.#rows.count(name, 'pending', changes);
      }
  }

  /**
   * Records a lead as owed again, as part of the replay that was requested at `askedAt`, in ms since 1970. Skips the lead's deliveries that
   * wait for a retry. Returns false if this replay already owes the lead.
   */
  replay(sink: SinkRow, newest: NewestVersion, askedAt: number, now: number): boolean {
    this.newest.giveWay(sink, newest.source, newest.id, now);
    const replay = { event: 'created', replay: askedAt } as const;
    return this.newest.oweBehind(sink, newest, replay, now) !== undefined;
  }

  /** Handles one chunk of the leads that were listed while the sink was not declared: records them as owed to the sink, or as skipped. */
  backfill(name: string, now: number): { owed: number; skipped: number; done: boolean } {
    const sink = this.#rows.get(name);
    if (!sink || sink.owedThrough >= sink.backfillTo) return { owed: 0, skipped: 0, done: true };
    const versions = this.#sql.between.all({
      after: sink.owedThrough,
      to: sink.backfillTo,
      limit: BACKFILL_CHUNK,
    });
    let [owed, skipped] = [0, 0];
    for (const { current_no: versionNo, source, id, has_content } of versions) {
      const newest = { versionNo, source, id: BigInt(id) };
      const last = this.newest.last(sink, source, newest.id);
      const maybeArrived = () => this.newest.maybeArrived(sink, source, newest.id);
      const plan = planBackfill(sink, last, maybeArrived, has_content === 1);
      if (plan?.kind === 'newest') owed += this.newest.oweNewest(sink, newest, now) === undefined ? 0 : 1;
      else if (plan?.kind === 'owe')
        owed +=
          this.newest.oweBehind(sink, newest, { event: plan.event, replay: 0 }, now) === undefined ? 0 : 1;
      else if (plan)
        skipped += this.#sql.skip.run(versionNo, sink.sinkNo, plan.event, plan.reason, now, now).changes;
    }
    this.#rows.count(name, 'skipped', skipped);
    const done = versions.length < BACKFILL_CHUNK;
    this.#rows.setProgress(name, done ? sink.backfillTo : (versions.at(-1)?.version_no ?? sink.backfillTo));
    return { owed, skipped, done };
  }
}
