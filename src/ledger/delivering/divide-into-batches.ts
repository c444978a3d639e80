import type { ClaimRequest } from '../contract/claim.ts';
import type { DueRow } from './claiming-sql.ts';

/** Maximum total size of the leads in a batch, in bytes. All of these leads are in memory while the batch is attempted. */
const BATCH_BYTES = 32_000_000;

/** Leaves out the last deliveries if they do not fill a batch and may all wait longer. */
export function withoutPartialBatch(
  due: readonly DueRow[],
  { max, waitMs }: ClaimRequest,
  now: number,
): readonly DueRow[] {
  const full = due.length - (due.length % max);
  const mayWait = due.slice(full).every((row) => row.owed_at <= now && row.owed_at + waitMs > now);
  return mayWait ? due.slice(0, full) : due;
}

/** Divides deliveries, in order, into batches of at most `max` deliveries and `BATCH_BYTES`. A larger lead gets its own batch. */
export function toBatches(due: readonly DueRow[], max: number): DueRow[][] {
  const batches: DueRow[][] = [];
  let bytes = 0;
  for (const row of due) {
    const last = batches.at(-1);
    bytes += row.bytes;
    if (last && last.length < max && bytes <= BATCH_BYTES) last.push(row);
    else {
      batches.push([row]);
      bytes = row.bytes;
    }
  }
  return batches;
}
