import {
  type NewestVersion,
  type OwedAs,
  planNewest,
  REPLACED,
  type Replaceable,
} from '../../ledger/rules/delivering/superseding.ts';
import type { Sink } from '../database/sinks.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { LeadDeliveries } from './lead-deliveries.ts';

/** A version that is to be owed to a sink, behind the delivery `after`. */
interface Owed extends OwedAs {
  readonly sinkNo: number;
  readonly versionNo: number;
  readonly after: number | null;
}

/** A delivery that was added. */
interface AddedDelivery {
  readonly delivery_no: number;
  readonly sink_no: number;
  readonly version_no: number;
}

const NONE: ReadonlySet<number> = new Set();
/** Greater than any version number. */
const ANY_VERSION = Number.MAX_SAFE_INTEGER;

/**
 * Collects what is to happen to the deliveries of leads, and then writes it: one statement for each kind of change. A lead must occur only once
 * for each sink.
 */
export class NewestContent {
  readonly #deliveries: LeadDeliveries;
  readonly #moving: { deliveryNo: number; versionNo: number }[] = [];
  readonly #replaced: (Replaceable & { sinkNo: number })[] = [];
  readonly #owed: Owed[] = [];

  constructor(deliveries: LeadDeliveries) {
    this.#deliveries = deliveries;
  }

  /** Locks the deliveries of leads to sinks, for changing them. */
  static async of(
    tx: Transaction,
    leads: readonly Pick<NewestVersion, 'source' | 'id'>[],
    sinks: readonly Pick<Sink, 'sinkNo'>[],
  ): Promise<NewestContent> {
    const numbers = sinks.map(({ sinkNo }) => sinkNo);
    return new NewestContent(await LeadDeliveries.lock(tx, leads, numbers));
  }

  get deliveries(): LeadDeliveries {
    return this.#deliveries;
  }

  /**
   * Owes the newest version of a lead to a sink, in place of older versions that are known not to have arrived. See `planNewest`. Returns
   * whether it adds a delivery.
   */
  oweNewest(sink: Sink, newest: NewestVersion, beginning?: number): boolean {
    const { sinkNo } = sink;
    const { versionNo, source, id } = newest;
    const unsure = sink.events.includes('updated');
    const plan = planNewest(sink.events, versionNo, {
      last: this.#deliveries.last(sinkNo, source, id),
      older: () =>
        this.#deliveries.replaceable({ sinkNo, source, id }, { before: versionNo, unsure, beginning }),
      maybeArrived: () => this.#deliveries.maybeArrived(sinkNo, source, id),
      wasDelivered: () => this.#deliveries.wasDelivered(sinkNo, source, id),
    });
    for (const { delivery_no } of plan.moving) this.#moving.push({ deliveryNo: delivery_no, versionNo });
    for (const one of plan.replaced) this.#replaced.push({ ...one, sinkNo });
    if (plan.owe) this.oweBehind(sink, newest, plan.owe);
    return plan.owe !== undefined;
  }

  /** Skips a lead's deliveries that failed and wait for a retry, except deliveries in a batch that must not change. */
  giveWay({ sinkNo }: Sink, { source, id }: NewestVersion): void {
    const failed = this.#deliveries
      .replaceable({ sinkNo, source, id }, { before: ANY_VERSION, unsure: true })
      .filter(({ untouched }) => untouched === 0);
    for (const one of failed) this.#replaced.push({ ...one, sinkNo });
  }

  /** Owes a version to a sink, to be sent after every earlier delivery of the same lead, so that an older version never overtakes a newer one. */
  oweBehind({ sinkNo }: Sink, { versionNo, source, id }: NewestVersion, as: OwedAs): void {
    const after = this.#deliveries.last(sinkNo, source, id)?.delivery_no ?? null;
    const { event, replay, was_left_out = 0 } = as;
    this.#owed.push({ sinkNo, versionNo, event, replay, was_left_out, after });
  }

  /**
   * Writes the changes. Returns the deliveries that it added, which are fewer than were to be owed if some exist already.
   * @param beginning the batches whose attempts are about to begin; they stay even if no delivery is left in them
   */
  async write(tx: Transaction, beginning: ReadonlySet<number> = NONE): Promise<readonly AddedDelivery[]> {
    tx.requireOwingLock();
    if (this.#moving.length > 0)
      await tx.run(MOVE_ON, [
        this.#moving.map(({ deliveryNo }) => deliveryNo),
        this.#moving.map(({ versionNo }) => versionNo),
      ]);
    await this.#skipReplaced(tx, beginning);
    if (this.#owed.length === 0) return [];
    const added = await tx.rows(OWE, [
      this.#owed.map(({ versionNo }) => versionNo),
      this.#owed.map(({ sinkNo }) => sinkNo),
      this.#owed.map(({ replay }) => replay),
      this.#owed.map(({ was_left_out = 0 }) => was_left_out),
      texts(this.#owed.map(({ event }) => event)),
      this.#owed.map(({ after }) => after),
      tx.now,
    ]);
    for (const { sink_no } of added) tx.count(sink_no, 'pending', 1);
    return added;
  }

  async #skipReplaced(tx: Transaction, beginning: ReadonlySet<number>): Promise<void> {
    if (this.#replaced.length === 0) return;
    await tx.run(SKIP, [REPLACED, tx.now, this.#replaced.map(({ delivery_no }) => delivery_no)]);
    const left = this.#replaced.flatMap(({ batch_no }) =>
      batch_no === null || beginning.has(batch_no) ? [] : [batch_no],
    );
    if (left.length > 0) await tx.run(END_EMPTY, [left]);
    for (const { sinkNo } of this.#replaced) {
      tx.count(sinkNo, 'pending', -1);
      tx.count(sinkNo, 'skipped', 1);
    }
  }
}

/** Skips deliveries, which leave their batches. Parameters: reason, time in ms, delivery numbers. */
export const SKIP = statement(
  'skip-deliveries',
  `UPDATE _deliveries AS d SET state = 'skipped', reason = $1, settled_at = $2, next_attempt_at = NULL,
     first_attempt_at = coalesce(first_attempt_at, (SELECT b.created_at FROM _batches b WHERE b.batch_no = d.batch_no)), batch_no = NULL
   WHERE delivery_no = ANY ($3::bigint[])`,
);

/** Ends those of the given batches in which no delivery is left. */
export const END_EMPTY = statement(
  'end-empty-batches',
  `DELETE FROM _batches b WHERE b.batch_no = ANY ($1::bigint[]) AND NOT EXISTS (SELECT 1 FROM _deliveries d WHERE d.batch_no = b.batch_no)`,
);

const MOVE_ON = statement(
  'move-on',
  `UPDATE _deliveries d SET version_no = g.version_no FROM unnest($1::bigint[], $2::bigint[]) AS g (delivery_no, version_no)
   WHERE d.delivery_no = g.delivery_no`,
);

const OWE = statement<AddedDelivery>(
  'owe-behind',
  `INSERT INTO _deliveries (version_no, sink_no, replay, was_left_out, event, state, owed_at, next_attempt_at, after_no)
   SELECT g.version_no, g.sink_no, g.replay, g.was_left_out, g.event, 'pending', $7, $7, g.after_no
   FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::int[], $5::text[], $6::bigint[]) WITH ORDINALITY
     AS g (version_no, sink_no, replay, was_left_out, event, after_no, position)
   ORDER BY g.position ON CONFLICT DO NOTHING RETURNING delivery_no, sink_no, version_no`,
);
