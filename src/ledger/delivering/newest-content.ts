import type Database from 'better-sqlite3';
import type { DeliveryState, LeadEvent } from '../../leads/delivery.ts';
import type { LeadId } from '../../leads/lead.ts';
import type { SinkRow, SinkRows } from '../database/sink-rows.ts';
import { SKIP } from '../privacy/erasing.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';

const REPLACED = 'a newer delivery of the same lead has taken its place';
/** Greater than the number of any version. */
const ANY_VERSION = Number.MAX_SAFE_INTEGER;

/** The present content of a lead. */
export interface NewestVersion {
  readonly versionNo: number;
  readonly source: string;
  readonly id: LeadId;
}

/** The delivery of a lead that was owed to a sink last. */
interface LastDelivery {
  delivery_no: number;
  version_no: number;
  state: DeliveryState;
  event: LeadEvent;
  replay: number;
}

/** A pending delivery whose content can be exchanged: no attempt of it is under way. */
interface Replaceable {
  delivery_no: number;
  replay: number;
  event: LeadEvent;
  batch_no: number | null;
  /** No attempt ever began, so its name and its content are unknown outside. */
  untouched: 0 | 1;
}

interface ReplaceableParameters {
  readonly source: string;
  readonly id: LeadId;
  readonly sink: number;
  /** Deliveries of older versions than this one. */
  readonly before: number;
  /** 1: also those that may have arrived. */
  readonly unsure: 0 | 1;
  /** The batch whose attempt begins at this moment. */
  readonly beginning: number | null;
}

/**
 * Decides what a sink is owed once a lead has a newer content than the one it was owed. Runs inside its caller's transaction.
 * docs/decisions/0012 gives the reasons.
 */
export class NewestContent {
  readonly #rows: SinkRows;
  readonly #sql;

  constructor(db: Database.Database, rows: SinkRows) {
    this.#rows = rows;
    this.#sql = prepare(db);
  }

  /** The delivery of a lead that was owed to a sink last. */
  last(sink: SinkRow, source: string, id: LeadId): LastDelivery | undefined {
    return this.#sql.last.get(source, id, sink.sinkNo);
  }

  /**
   * Owes a sink the newest content of a lead in place of older ones that are known not to have arrived. What may have arrived keeps its
   * name and its content until it is settled. Returns the delivery that is owed anew, if any. `beginning` is the batch whose attempt
   * is about to begin, from which deliveries may be taken as well.
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
    if (asks) return this.oweBehind(sink, newest, { event: 'updated', replay: 0 }, now);
    // Under the event of what did not arrive: a sink that has got the lead must not be told again that it is new.
    const failed = replaced.at(-1) ?? (last?.state === 'dead' ? last : undefined);
    return failed && this.oweBehind(sink, newest, failed, now);
  }

  /** Brings up what a failed attempt of these deliveries has left: pending to be tried again, or dead. */
  oweNewestOfFailed(sink: SinkRow, deliveries: readonly number[], now: number): void {
    if (deliveries.length === 0) return;
    for (const { versionNo, source, id } of this.#sql.outdated.all(JSON.stringify(deliveries)))
      this.oweNewest(sink, { versionNo, source, id: BigInt(id) }, now);
  }

  /** Takes out what failed before and waits for its next attempt, unless it waits in a batch that has to stay as it is. */
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
   * Owes a lead behind whatever this sink is still owed of it, so that an older content never overtakes a newer one. Undefined when
   * it is owed already.
   */
  oweBehind(
    sink: SinkRow,
    { versionNo, source, id }: NewestVersion,
    { event, replay }: { event: LeadEvent; replay: number },
    now: number,
  ): number | undefined {
    const after = this.last(sink, source, id)?.delivery_no ?? null;
    const owed = this.#sql.owe.run(versionNo, sink.sinkNo, replay, event, now, now, after);
    this.#rows.count(sink.name, 'pending', owed.changes);
    return owed.changes === 1 ? Number(owed.lastInsertRowid) : undefined;
  }
}

/** Of several only the last goes on, or two of them would have one name. */
function lastOfEachReplay(untouched: readonly Replaceable[]): Replaceable[] {
  return [...new Map(untouched.map((one) => [one.replay, one])).values()];
}

function prepare(db: Database.Database) {
  return {
    // CROSS JOIN keeps the order: from the lead's versions to their deliveries. Without statistics SQLite would begin with all that
    // the sink is owed.
    last: db.prepare<[string, bigint, number], LastDelivery>(
      `SELECT d.delivery_no, d.version_no, d.state, d.event, d.replay FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
       WHERE v.source = +? AND v.id = +? AND d.sink_no = +? ORDER BY d.delivery_no DESC LIMIT 1`,
    ),
    replaceable: db.prepare<[ReplaceableParameters], Replaceable>(
      `SELECT o.delivery_no, o.replay, o.event, o.batch_no, o.first_attempt_at IS NULL AND o.unsure_at IS NULL AS untouched
       FROM _versions v CROSS JOIN _deliveries o ON o.version_no = v.version_no LEFT JOIN _batches b ON b.batch_no = o.batch_no
       WHERE v.source = +:source AND v.id = +:id AND v.version_no < +:before
       AND o.sink_no = +:sink AND o.state = 'pending' AND o.event <> 'erased'
       AND (o.batch_no IS NULL OR b.holder IS NULL OR o.batch_no = +:beginning)
       -- A batch that may have arrived has to stay the same batch, so only one that is alone can leave it.
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
      `INSERT INTO _deliveries (version_no, sink_no, replay, event, state, owed_at, next_attempt_at, after_no)
       VALUES (?, ?, ?, ?, 'pending', ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
  };
}
