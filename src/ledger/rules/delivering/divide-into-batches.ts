import type { ClaimRequest } from '../../contract/claim.ts';

/** Maximum total size of the leads in a batch, in bytes. All of these leads are in memory while the batch is attempted. */
const BATCH_BYTES = 32_000_000;

/** A delivery that is due, with the length of its lead's text in bytes. Times are in ms since 1970. */
export interface DueDelivery {
  readonly owed_at: number;
  readonly next_attempt_at: number;
  readonly bytes: number;
}

/** Leaves out the last deliveries if they do not fill a batch and may all wait longer. */
export function withoutPartialBatch<Due extends DueDelivery>(
  due: readonly Due[],
  { max, waitMs }: ClaimRequest,
  now: number,
): readonly Due[] {
  const full = due.length - (due.length % max);
  const mayWait = due.slice(full).every((row) => row.owed_at <= now && row.owed_at + waitMs > now);
  return mayWait ? due.slice(0, full) : due;
}

/** Divides deliveries, in order, into batches of at most `max` deliveries and `BATCH_BYTES`. A larger lead gets its own batch. */
export function toBatches<Due extends DueDelivery>(due: readonly Due[], max: number): Due[][] {
  const batches: Due[][] = [];
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
