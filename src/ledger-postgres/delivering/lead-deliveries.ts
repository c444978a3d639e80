import type { DeliveryState, LeadEvent } from '../../leads/delivery.ts';
import type { LeadId } from '../../leads/lead.ts';
import {
  CANCELLED,
  isLeftOut,
  type LastDelivery,
  type NewestVersion,
  type Replaceable,
} from '../../ledger/rules/delivering/superseding.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { lockNewBatches } from './lock-deliveries.ts';

/** A delivery of a lead to a sink, as the rules see it. */
interface KnownDelivery {
  readonly delivery_no: number;
  readonly version_no: number;
  readonly sink_no: number;
  readonly source: string;
  readonly id: string;
  readonly state: DeliveryState;
  readonly event: LeadEvent;
  readonly replay: number;
  readonly was_left_out: 0 | 1;
  readonly reason: string | null;
  readonly discarded: number;
  readonly batch_no: number | null;
  readonly untouched: 0 | 1;
  readonly unsure: boolean;
}

interface BatchState {
  readonly batch_no: number;
  readonly holder: string | null;
  readonly deliveries: number;
}

/**
 * All deliveries of some leads to some sinks. The pending ones stay as they are until the end of the transaction: their rows and those of their
 * batches are locked, batches first. Must be read under the owing lock.
 */
export class LeadDeliveries {
  readonly #byLead: ReadonlyMap<string, readonly KnownDelivery[]>;
  readonly #batches: ReadonlyMap<number, BatchState>;

  private constructor(deliveries: readonly KnownDelivery[], batches: readonly BatchState[]) {
    this.#byLead = Map.groupBy(deliveries, ({ sink_no, source, id }) => keyOf(sink_no, source, id));
    this.#batches = new Map(batches.map((batch) => [batch.batch_no, batch]));
  }

  /** Reads the deliveries of leads to sinks, and locks them. */
  static async lock(
    tx: Transaction,
    leads: readonly Pick<NewestVersion, 'source' | 'id'>[],
    sinks: readonly number[],
  ): Promise<LeadDeliveries> {
    const asked = [texts(leads.map(({ source }) => source)), leads.map(({ id }) => id), sinks] as const;
    const locked = await tx.rows(LOCK_BATCHES, asked);
    const deliveries = await tx.rows(LOCK_DELIVERIES, asked);
    await lockNewBatches(tx, locked, deliveries);
    const inBatch = deliveries.flatMap(({ batch_no }) => batch_no ?? []);
    const batches = inBatch.length > 0 ? await tx.rows(STATE_OF_BATCHES, [inBatch]) : [];
    return new LeadDeliveries(deliveries, batches);
  }

  /** Reads the deliveries of leads to sinks without locking them. */
  static async read(
    tx: Transaction,
    leads: readonly Pick<NewestVersion, 'source' | 'id'>[],
    sinks: readonly number[],
  ): Promise<LeadDeliveries> {
    const asked = [texts(leads.map(({ source }) => source)), leads.map(({ id }) => id), sinks] as const;
    return new LeadDeliveries(await tx.rows(READ_DELIVERIES, asked), []);
  }

  /** Returns the last delivery of a lead to a sink. Ignores cancelled replays: the lead is treated as if they had never been requested. */
  last(sinkNo: number, source: string, id: LeadId): LastDelivery | undefined {
    return this.#of(sinkNo, source, id).findLast(
      ({ state, reason }) => !(state === 'skipped' && reason === CANCELLED),
    );
  }

  /** Whether any version of a lead was delivered to a sink, or may have arrived there. */
  maybeArrived(sinkNo: number, source: string, id: LeadId): boolean {
    return this.#of(sinkNo, source, id).some(mayHaveArrived);
  }

  wasDelivered(sinkNo: number, source: string, id: LeadId): boolean {
    return this.#of(sinkNo, source, id).some(
      ({ state, event }) => state === 'delivered' && event !== 'erased',
    );
  }

  /** Returns the newest version of a lead that was delivered to a sink or may have arrived there. */
  lastArrived(sinkNo: number, source: string, id: LeadId): number | undefined {
    // Every attempt of a delivery that may have arrived has the same mapping, so one that was left out was never sent.
    const arrived = this.#of(sinkNo, source, id).filter(
      (one) => mayHaveArrived(one) && !(one.state === 'skipped' && isLeftOut(one)),
    );
    return arrived.length > 0 ? Math.max(...arrived.map(({ version_no }) => version_no)) : undefined;
  }

  /**
   * Returns the pending deliveries of versions below `before` that can be replaced, oldest first: no attempt of them is in progress, except
   * in the batch `beginning`, whose attempt is about to begin.
   * @param unsure whether to include those that may have arrived and are alone in their batch. A batch that may have arrived must stay the
   * same batch
   */
  replaceable(
    { sinkNo, source, id }: { readonly sinkNo: number; readonly source: string; readonly id: LeadId },
    {
      before,
      unsure,
      beginning,
    }: { readonly before: number; readonly unsure: boolean; readonly beginning?: number | undefined },
  ): (Replaceable & { readonly sink_no: number })[] {
    return this.#of(sinkNo, source, id).filter(({ version_no, state, event, batch_no, unsure: isUnsure }) => {
      if (version_no >= before || state !== 'pending' || event === 'erased') return false;
      const batch = batch_no === null ? undefined : this.#batches.get(batch_no);
      if (batch && batch.holder !== null && batch_no !== beginning) return false;
      return !isUnsure || (unsure && (batch === undefined || batch.deliveries === 1));
    });
  }

  #of(sinkNo: number, source: string, id: LeadId): readonly KnownDelivery[] {
    return this.#byLead.get(keyOf(sinkNo, source, String(id))) ?? [];
  }
}

function mayHaveArrived({ state, unsure, event }: KnownDelivery): boolean {
  return event !== 'erased' && (state === 'delivered' || unsure);
}

function keyOf(sinkNo: number, source: string, id: string): string {
  return `${sinkNo} ${id} ${source}`;
}

/** The leads that are asked for, with their deliveries to the sinks that are asked for. */
const ASKED = `(SELECT DISTINCT source, id FROM unnest($1::text[], $2::bigint[]) AS g (source, id)) a
  JOIN _versions v ON v.source = a.source AND v.id = a.id
  JOIN _deliveries d ON d.version_no = v.version_no AND d.sink_no = ANY ($3::int[])`;

const LOCK_BATCHES = statement<{ batch_no: number }>(
  'lock-batches-of-leads',
  `SELECT b.batch_no FROM _batches b WHERE b.batch_no IN (SELECT d.batch_no FROM ${ASKED} WHERE d.state = 'pending' AND d.batch_no IS NOT NULL)
   ORDER BY b.batch_no FOR UPDATE OF b`,
);

const COLUMNS = `d.delivery_no, d.version_no, d.sink_no, v.source, v.id::text AS id, d.state, d.event, d.replay, d.was_left_out, d.reason,
   d.discarded, d.batch_no, (d.first_attempt_at IS NULL AND d.unsure_at IS NULL)::int AS untouched, d.unsure_at IS NOT NULL AS unsure`;

const READ_DELIVERIES = statement<KnownDelivery>(
  'read-deliveries-of-leads',
  `SELECT ${COLUMNS} FROM ${ASKED} ORDER BY d.delivery_no`,
);

const LOCK_DELIVERIES = statement<KnownDelivery>(
  'lock-deliveries-of-leads',
  `SELECT ${COLUMNS} FROM ${ASKED} ORDER BY d.delivery_no FOR UPDATE OF d`,
);

const STATE_OF_BATCHES = statement<BatchState>(
  'state-of-batches',
  `SELECT b.batch_no, b.holder, (SELECT count(*) FROM _deliveries e WHERE e.batch_no = b.batch_no) AS deliveries
   FROM _batches b WHERE b.batch_no = ANY ($1::bigint[])`,
);
