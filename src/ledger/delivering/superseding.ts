import type Database from 'better-sqlite3';
import type { DeliveryState, LeadEvent } from '../../leads/delivery.ts';
import type { LeadId } from '../../leads/lead.ts';
import { LEFT_OUT } from '../../leads/outcome.ts';
import type { SinkRow, SinkRows } from '../database/sink-rows.ts';
import { SKIP } from '../privacy/erasing.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';

/** The reason recorded for a delivery that a newer one of the same lead replaced. */
export const REPLACED = 'a newer delivery of the same lead replaced it';
/** The reason recorded for a delivery of a replay, if an operator cancelled the replay. */
export const CANCELLED = 'an operator cancelled the replay';
/** The reason recorded for a delivery that a backfill skipped, because retention or damage had removed the lead's content. */
export const NOT_STORED =
  'the content of this lead was no longer stored when this sink was added; its next content goes out';
/** Greater than any version number. */
const ANY_VERSION = Number.MAX_SAFE_INTEGER;

/** The current version of a lead. */
export interface NewestVersion {
  readonly versionNo: number;
  readonly source: string;
  readonly id: LeadId;
}

/** The last delivery of a lead to a sink. */
interface LastDelivery {
  delivery_no: number;
  version_no: number;
  state: DeliveryState;
  event: LeadEvent;
  replay: number;
  was_left_out: 0 | 1;
  reason: string | null;
  discarded: number;
}

/** A pending delivery that can be replaced, that is, no attempt of it is in progress. */
interface Replaceable {
  delivery_no: number;
  replay: number;
  was_left_out: 0 | 1;
  event: LeadEvent;
  batch_no: number | null;
  /** Whether no attempt of the delivery ever began, so that no destination knows its id and content. */
  untouched: 0 | 1;
}

interface ReplaceableParameters {
  readonly source: string;
  readonly id: LeadId;
  readonly sink: number;
  /** Only deliveries of versions below this number match. */
  readonly before: number;
  /** Whether deliveries that may have arrived also match. */
  readonly unsure: 0 | 1;
  /** The batch whose attempt is about to begin; null if none is. */
  readonly beginning: number | null;
}

/**
 * Replaces deliveries of a lead's older versions with a delivery of its newest version. Runs inside its caller's transaction.
 * docs/decisions/0012 gives the reasons.
 */
export class NewestContent {
  readonly #rows: SinkRows;
  readonly #sql;

  constructor(db: Database.Database, rows: SinkRows) {
    this.#rows = rows;
    this.#sql = prepare(db);
  }

  /** Returns the last delivery of a lead to a sink. Ignores cancelled replays: the lead is treated as if they had never been requested. */
  last(sink: SinkRow, source: string, id: LeadId): LastDelivery | undefined {
    return this.#sql.last.get(source, id, sink.sinkNo);
  }

  /**
   * Records the newest version of a lead as owed to a sink, in place of older versions that are known not to have arrived. A delivery that may
   * have arrived keeps its id and content until it is settled, unless the sink subscribes to updates and the delivery is alone in its batch.
   * Returns the number of the delivery that it adds, if any.
   * @param beginning the batch whose attempt is about to begin; its deliveries may also be replaced
   */
  oweNewest(sink: SinkRow, newest: NewestVersion, now: number, beginning?: number): number | undefined {
    const { versionNo, source, id } = newest;
    const asks = sink.events.includes('updated');
    const last = this.last(sink, source, id);
    const isOwed = last?.version_no === versionNo;
    if (isOwed && last.state !== 'pending') return undefined;
    const wanted = { source, id, sink: sink.sinkNo, before: versionNo, unsure: asks ? 1 : 0 } as const;
    const older = this.#sql.replaceable.all({ ...wanted, beginning: beginning ?? null });
    const moving = isOwed ? [] : lastOfEachReplay(older.filter(({ untouched }) => untouched === 1));
    const replaced = older.filter((one) => !moving.includes(one));
    for (const { delivery_no } of moving) this.#sql.moveOn.run(versionNo, delivery_no);
    for (const one of replaced) this.#giveWay(sink, one, now, beginning);
    if (isOwed || moving.length > 0) return undefined;
    const isMissed = last !== undefined && this.isNewTo(sink, source, id, last);
    if (isMissed && sink.events.includes('created'))
      return this.oweBehind(sink, newest, { event: 'created', replay: 0 }, now);
    if (asks) return this.oweBehind(sink, newest, { event: 'updated', replay: 0 }, now);
    // The same applies as after a delivery that was given up: the sink may have an older version, but no delivery shows that it does.
    if (last && isLeftOut(last) && this.#sql.delivered.get(source, id, sink.sinkNo) === undefined)
      return this.oweBehind(sink, newest, { event: 'created', replay: 0 }, now);
    // Keeps the event of the delivery that failed, because a sink that already received the lead must not get another `created`.
    const failed = replaced.at(-1) ?? (last && isGivenUp(last) ? last : undefined);
    return failed && this.oweBehind(sink, newest, failed, now);
  }

  /**
   * Whether a sink cannot have any version of a lead. That is so if it has no delivery of the lead, if the last delivery was skipped because
   * the content was not stored, or if the sink's mapping left the lead out and no other version was delivered or may have arrived.
   */
  isNewTo({ sinkNo }: SinkRow, source: string, id: LeadId, last: LastDelivery | undefined): boolean {
    if (last === undefined || last.reason === NOT_STORED) return true;
    return isLeftOut(last) && this.#sql.maybeArrived.get(source, id, sinkNo) === undefined;
  }

  /**
   * Records a lead's newest version, which the sink's mapping left out, as owed to the sink, as part of the replay that was requested at
   * `replay`, in ms since 1970. Returns false if `leftOutEvent` finds nothing to owe.
   */
  oweLeftOut(sink: SinkRow, newest: NewestVersion, replay: number, now: number): boolean {
    const event = this.leftOutEvent(sink, newest);
    if (event === undefined) return false;
    return this.oweBehind(sink, newest, { event, replay, was_left_out: 1 }, now) !== undefined;
  }

  /**
   * Returns the event that `oweNewest` would choose for a change of a lead that the sink's mapping left out. Returns undefined if the last
   * delivery was not left out, if the sink may have this version, or if it may have an older version and does not subscribe to updates.
   */
  leftOutEvent(sink: SinkRow, { versionNo, source, id }: NewestVersion): LeadEvent | undefined {
    const last = this.last(sink, source, id);
    if (last?.version_no !== versionNo || last.state !== 'skipped' || !isLeftOut(last)) return undefined;
    const asks = sink.events.includes('updated');
    const arrived = this.#sql.lastArrived.get(source, id, sink.sinkNo) ?? undefined;
    if (arrived !== undefined && (!asks || arrived === versionNo)) return undefined;
    return arrived === undefined && (sink.events.includes('created') || !asks) ? 'created' : 'updated';
  }

  /** Records the newest versions of leads as owed to a sink if their deliveries failed and are now pending again or dead. */
  oweNewestOfFailed(sink: SinkRow, deliveries: readonly number[], now: number): void {
    if (deliveries.length === 0) return;
    for (const { versionNo, source, id } of this.#sql.outdated.all(JSON.stringify(deliveries)))
      this.oweNewest(sink, { versionNo, source, id: BigInt(id) }, now);
  }

  /** Skips a lead's deliveries that failed and wait for a retry, except deliveries in a batch that must not change. */
  giveWay(sink: SinkRow, source: string, id: LeadId, now: number): void {
    const wanted = {
      source,
      id,
      sink: sink.sinkNo,
      before: ANY_VERSION,
      unsure: 1,
      beginning: null,
    } as const;
    for (const one of this.#sql.replaceable.all(wanted))
      if (one.untouched === 0) this.#giveWay(sink, one, now);
  }

  #giveWay(sink: SinkRow, { delivery_no, batch_no }: Replaceable, now: number, beginning?: number): void {
    this.#sql.giveWay.run(REPLACED, now, delivery_no);
    if (batch_no !== null && batch_no !== beginning) this.#sql.endEmpty.run(batch_no, batch_no);
    this.#rows.count(sink.name, 'pending', -1);
    this.#rows.count(sink.name, 'skipped', 1);
  }

  /**
   * Records a version as owed to a sink, to be sent after every earlier delivery of the same lead to this sink, so that an older version never
   * overtakes a newer version. Returns the number of the new delivery, or undefined if this delivery already exists.
   */
  oweBehind(
    sink: SinkRow,
    { versionNo, source, id }: NewestVersion,
    { event, replay, was_left_out = 0 }: { event: LeadEvent; replay: number; was_left_out?: 0 | 1 },
    now: number,
  ): number | undefined {
    const after = this.last(sink, source, id)?.delivery_no ?? null;
    const owed = this.#sql.owe.run(versionNo, sink.sinkNo, replay, was_left_out, event, now, now, after);
    this.#rows.count(sink.name, 'pending', owed.changes);
    return owed.changes === 1 ? Number(owed.lastInsertRowid) : undefined;
  }
}

/** Whether a delivery is dead, or was dead until an operator discarded it. In both cases the sink gets the lead's next version. */
export function isGivenUp({ state, discarded }: Pick<LastDelivery, 'state' | 'discarded'>): boolean {
  return state === 'dead' || (state === 'skipped' && discarded === 1);
}

/** Whether a delivery was skipped because the sink's mapping left the lead out. */
export function isLeftOut({ reason }: Pick<LastDelivery, 'reason'>): boolean {
  return reason?.startsWith(LEFT_OUT) === true;
}

/** Returns the last delivery of each replay. If two deliveries of a replay moved to the same version, they would have the same id. */
function lastOfEachReplay(untouched: readonly Replaceable[]): Replaceable[] {
  return [...new Map(untouched.map((one) => [one.replay, one])).values()];
}

/** Whether the delivery `d` was delivered, or may have arrived. */
const MAYBE_ARRIVED = "(d.state = 'delivered' OR d.unsure_at IS NOT NULL)";

function prepare(db: Database.Database) {
  const anyDelivery = (condition: string) =>
    db
      .prepare<[string, bigint, number], 1>(
        `SELECT 1 FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
         WHERE v.source = +? AND v.id = +? AND d.sink_no = +? AND d.event <> 'erased' AND ${condition} LIMIT 1`,
      )
      .pluck();
  return {
    // CROSS JOIN makes SQLite start with the lead's versions. Otherwise, without statistics, SQLite would scan all deliveries of the sink.
    last: db.prepare<[string, bigint, number], LastDelivery>(
      `SELECT d.delivery_no, d.version_no, d.state, d.event, d.replay, d.was_left_out, d.reason, d.discarded FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
       WHERE v.source = +? AND v.id = +? AND d.sink_no = +? AND NOT (d.state = 'skipped' AND d.reason IS '${CANCELLED}') ORDER BY d.delivery_no DESC LIMIT 1`,
    ),
    delivered: anyDelivery("d.state = 'delivered'"),
    maybeArrived: anyDelivery(MAYBE_ARRIVED),
    lastArrived: db
      .prepare<[string, bigint, number], number | null>(
        `SELECT max(v.version_no) FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
         WHERE v.source = +? AND v.id = +? AND d.sink_no = +? AND d.event <> 'erased' AND ${MAYBE_ARRIVED}
         -- Every attempt of a delivery that may have arrived has the same mapping, so one that was left out was never sent.
         AND NOT (d.state = 'skipped' AND substr(d.reason, 1, ${LEFT_OUT.length}) = '${LEFT_OUT}')`,
      )
      .pluck(),
    replaceable: db.prepare<[ReplaceableParameters], Replaceable>(
      `SELECT o.delivery_no, o.replay, o.was_left_out, o.event, o.batch_no, o.first_attempt_at IS NULL AND o.unsure_at IS NULL AS untouched
       FROM _versions v CROSS JOIN _deliveries o ON o.version_no = v.version_no LEFT JOIN _batches b ON b.batch_no = o.batch_no
       WHERE v.source = +:source AND v.id = +:id AND v.version_no < +:before
       AND o.sink_no = +:sink AND o.state = 'pending' AND o.event <> 'erased'
       AND (o.batch_no IS NULL OR b.holder IS NULL OR o.batch_no = +:beginning)
       -- A batch that may have arrived must stay the same batch, so a delivery can leave it only if it is alone in it.
       AND (o.unsure_at IS NULL OR (+:unsure AND NOT EXISTS
         (SELECT 1 FROM _deliveries e WHERE e.batch_no = o.batch_no AND e.delivery_no <> o.delivery_no)))
       ORDER BY o.delivery_no`,
    ),
    outdated: db.prepare<[string], { versionNo: number; source: string; id: string }>(
      `SELECT l.version_no AS versionNo, l.source, CAST(l.id AS TEXT) AS id FROM json_each(?) j
       CROSS JOIN _deliveries d ON d.delivery_no = j.value CROSS JOIN _versions v ON v.version_no = d.version_no
       CROSS JOIN _leads l ON l.source = v.source AND l.id = v.id
       WHERE l.version_no > v.version_no AND d.event <> 'erased' AND ${HAS_CONTENT}`,
    ),
    moveOn: db.prepare<[number, number]>('UPDATE _deliveries SET version_no = ? WHERE delivery_no = ?'),
    giveWay: db.prepare<[string, number, number]>(SKIP),
    endEmpty: db.prepare<[number, number]>(
      'DELETE FROM _batches WHERE batch_no = ? AND NOT EXISTS (SELECT 1 FROM _deliveries WHERE batch_no = ?)',
    ),
    owe: db.prepare(
      `INSERT INTO _deliveries (version_no, sink_no, replay, was_left_out, event, state, owed_at, next_attempt_at, after_no)
       VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
  };
}
