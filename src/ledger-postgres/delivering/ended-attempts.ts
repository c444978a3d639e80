import type { BatchRef } from '../../leads/delivery.ts';
import type { Attempt } from '../../ledger/contract/ledger-delivering.ts';
import { batchNumber } from '../../ledger/rules/delivering/batching.ts';
import type { Asked } from '../database/flight.ts';
import { askSinks, type RawSink } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import type { EndedBatch } from './judging.ts';
import { type LockedBatch, type PendingOfBatch, settlingSql } from './settling-sql.ts';

const { LOCK_BATCHES, PENDING } = settlingSql;

/** Returns the number of a claimed batch. */
export function numberOf({ batch }: BatchRef): number {
  return batchNumber(batch);
}

/** An attempt that has ended, and the lease under which it was made. */
export interface EndedAttempt {
  readonly ref: BatchRef;
  readonly attempt: Attempt;
}

/** The statements that a settlement begins with: they lock the batches, and then read their deliveries and their sinks. */
export interface SettleQuestions {
  readonly batches: Asked<LockedBatch>;
  readonly pending: Asked<PendingOfBatch>;
  readonly sinks: Asked<RawSink>;
}

/** Returns the statements that the settlement of attempts begins with. */
export function askToSettle(ended: readonly EndedAttempt[]): SettleQuestions {
  const known = ended.filter(({ ref }) => !Number.isNaN(numberOf(ref)));
  const numbers = known.map(({ ref }) => numberOf(ref));
  return {
    batches: { sql: LOCK_BATCHES, values: [numbers, known.map(({ ref }) => ref.lease)] },
    pending: { sql: PENDING, values: [numbers] },
    sinks: askSinks(numbers),
  };
}

/** Locks the batches of attempts, and returns those whose leases are current, each once. */
export async function lockEnded(
  tx: Transaction,
  ended: readonly EndedAttempt[],
  asked: SettleQuestions,
): Promise<(readonly [EndedAttempt, EndedBatch])[]> {
  // The fence: an outdated lease finds no batch. The process with the newer lease settles it.
  const batches = new Map((await tx.answer(asked.batches)).map((batch) => [batch.batch_no, batch]));
  const rows = await tx.answer(asked.pending);
  const pendingOf = Map.groupBy(rows, ({ batch_no }) => batch_no);
  return ended.flatMap((one) => {
    const batchNo = numberOf(one.ref);
    const [batch, pending] = [batches.get(batchNo), pendingOf.get(batchNo)];
    if (batch?.lease !== one.ref.lease || !pending) return [];
    batches.delete(batchNo);
    return [[one, { batchNo, batch, pending, attempt: one.attempt }] as const];
  });
}
