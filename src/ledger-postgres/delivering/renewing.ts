import type { BatchRef } from '../../leads/delivery.ts';
import { afterLosses, batchId, newLease } from '../../ledger/rules/delivering/batching.ts';
import type { Random } from '../../platform/time/clock.ts';
import type { Sink } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import { type BatchRow, claimingSql } from './claiming-sql.ts';

const { ADD_BATCHES, ASSIGN, DELAY, IN_BATCH, MARK_MAYBE_ARRIVED, RENEW } = claimingSql;

/** When the lease of a batch expires, in ms since 1970, and the process that has begun the batch's attempt; null if none has. */
export interface Lease {
  readonly until: number;
  readonly holder: string | null;
}

/** Gives expired batches of a sink new leases. They stay the same batches. */
export async function renewBatches(
  tx: Transaction,
  random: Random,
  {
    sink,
    expired,
    lease: { until, holder },
  }: { readonly sink: Sink; readonly expired: readonly BatchRow[]; readonly lease: Lease },
): Promise<BatchRef[]> {
  if (expired.length === 0) return [];
  const lostNow = expired.filter((row) => row.holder !== null);
  if (lostNow.length > 0) await tx.run(MARK_MAYBE_ARRIVED, [tx.now, lostNow.map(({ batch_no }) => batch_no)]);
  const renewed = [];
  for (const row of expired) {
    const lost = row.holder === null ? row.lost : row.lost + 1;
    const delayMs = row.holder === null ? 0 : await splitOrDelay(tx, random, { sink, row, lost });
    // A delayed batch has no lease, so it does not count as in flight and is not offered until it is due.
    renewed.push({
      row,
      lost,
      lease: delayMs > 0 ? 0 : newLease(random),
      until: delayMs > 0 ? tx.now + delayMs : until,
    });
  }
  await tx.run(RENEW, [
    holder,
    renewed.map(({ row }) => row.batch_no),
    renewed.map(({ lease }) => lease),
    renewed.map((one) => one.until),
    renewed.map(({ lost }) => lost),
  ]);
  return renewed
    .filter(({ lease }) => lease !== 0)
    .map(({ row, lease }) => ({
      sink: sink.name,
      batch: batchId(row.batch_no),
      lease,
      replaces: row.lease || undefined,
    }));
}

/** Splits a repeatedly lost batch in two or, if it has only one lead, delays it and records why. Returns the delay in ms. */
async function splitOrDelay(
  tx: Transaction,
  random: Random,
  { sink, row, lost }: { readonly sink: Sink; readonly row: BatchRow; readonly lost: number },
): Promise<number> {
  const deliveries = await tx.rows(IN_BATCH, [row.batch_no]);
  const after = afterLosses(lost, deliveries.length);
  if (after === undefined) return 0;
  if (after.kind === 'split') {
    const lease = newLease(random);
    const [added] = await tx.rows(ADD_BATCHES, [sink.sinkNo, [row.created_at], [lease], tx.now, null, lost]);
    const half = deliveries.slice(Math.ceil(deliveries.length / 2)).map(({ delivery_no }) => delivery_no);
    await tx.run(ASSIGN, [half, half.map(() => added?.batch_no ?? 0)]);
    return 0;
  }
  await tx.run(DELAY, [after.reason, tx.now + after.delayMs, row.batch_no]);
  return after.delayMs;
}
