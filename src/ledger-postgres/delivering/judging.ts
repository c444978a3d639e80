import { isDeepStrictEqual } from 'node:util';
import type { Judge, Judgement } from '../../leads/judgement.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { Attempt } from '../../ledger/contract/ledger-delivering.ts';
import { attemptedDeliveries, type PendingRow } from '../../ledger/rules/delivering/attempted-deliveries.ts';
import { lockSink, type Sink } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import type { LockedBatch } from './settling-sql.ts';

/** How old the judge's knowledge of when a lead was last delivered may be, in ms. */
const LAST_DELIVERED_MS = 1_000;

/** A locked batch whose attempt has ended. */
export interface EndedBatch {
  readonly batchNo: number;
  readonly batch: LockedBatch;
  /** The deliveries of the batch, in their order. */
  readonly pending: readonly PendingRow[];
  readonly attempt: Attempt;
}

/** A batch whose attempt was judged, with the health of its sink before and after the attempt. */
export interface JudgedBatch extends EndedBatch {
  readonly sink: Sink;
  readonly judgement: Judgement;
  readonly before: SinkHealth;
  readonly after: SinkHealth;
}

/**
 * Judges the attempts of a sink, as it was found after the batches were locked, in order, as if each had ended after the one before it. Returns the judged batches, and whether the
 * caller has to write the sink's health. Locks the sink's row only if the health changes. While a working sink accepts every lead, that is at
 * most once a second, so many processes can settle in parallel. Attempts judged without the lock count as earlier than a concurrent change of
 * the row.
 */
export async function judgeBatches(
  tx: Transaction,
  judge: Judge,
  found: Sink,
  batches: readonly EndedBatch[],
): Promise<{ readonly judged: readonly JudgedBatch[]; readonly changes: boolean }> {
  const judged = (sink: Sink, lockedAt = tx.now) => {
    const { renewedAt } = sink.health;
    // The sink may have been renewed after this transaction began: judged at the transaction's time, that would be in the future.
    const judgedHealth = (health: SinkHealth) =>
      renewedAt !== undefined && renewedAt.getTime() <= lockedAt && renewedAt.getTime() > tx.now
        ? { ...health, renewedAt: new Date(tx.now) }
        : health;
    let before = sink.health;
    return batches.map((one) => {
      const attempted = attemptedDeliveries(one.pending, one.attempt, tx.now);
      const judgement = judge(sink.name, judgedHealth(before), attempted, new Date(tx.now));
      const { quota } = one.attempt;
      const health = { ...judgement.health, renewedAt };
      const after = quota ? { ...health, quota } : health;
      const batch: JudgedBatch = { ...one, sink, judgement, before, after };
      before = after;
      return batch;
    });
  };
  const first = judged(found);
  if (!first.some(changesHealth)) return { judged: first, changes: false };
  const sink = await lockSink(tx, found.sinkNo);
  const locked = judged(sink, sink.lockedAt);
  return { judged: locked, changes: locked.some(changesHealth) };
}

function changesHealth({ judgement, before, after }: JudgedBatch): boolean {
  return judgement.reviveSince !== undefined || !isSameHealth(before, after);
}

/**
 * Whether the health of a sink after an attempt need not be written: it differs at most in when a lead was last delivered, and by little. Status
 * reads that time with the counts; the judge reads it here.
 */
function isSameHealth(one: SinkHealth, other: SinkHealth): boolean {
  const laterMs = (other.lastDeliveredAt?.getTime() ?? 0) - (one.lastDeliveredAt?.getTime() ?? 0);
  if (laterMs >= LAST_DELIVERED_MS) return false;
  const without = ({ lastDeliveredAt, ...health }: SinkHealth) =>
    JSON.parse(JSON.stringify(health)) as unknown;
  return isDeepStrictEqual(without(one), without(other));
}
