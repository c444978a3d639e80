import type { BatchRef } from '../../leads/delivery.ts';
import type { Stopwatch } from '../../platform/time/stopwatch.ts';
import type { BegunAttempt } from '../contract/ledger-delivering.ts';

/** A batch whose attempt began when the batch was claimed. */
export interface ClaimedBatch extends Omit<BegunAttempt, 'sinceLease'> {
  readonly lease: number;
}

interface KeptBatch {
  readonly begun: ClaimedBatch;
  readonly sinceClaim: Stopwatch;
}

/**
 * Keeps batches that were claimed and begun in one commit, by lease, for the attempts that will take them. Never contains more batches than
 * are in flight.
 */
export class BegunAttempts {
  readonly #byLease = new Map<number, KeptBatch>();

  /** Adds begun batches, whose `leasedForMs` counts from the start of `sinceClaim`, and drops batches whose leases `refs` replace. */
  keep(begun: readonly ClaimedBatch[], refs: readonly BatchRef[], sinceClaim: Stopwatch): void {
    for (const { replaces } of refs) if (replaces !== undefined) this.#byLease.delete(replaces);
    for (const one of begun) this.#byLease.set(one.lease, { begun: one, sinceClaim });
  }

  /** Removes and returns the batch of a lease. Returns undefined if there is no such batch or its lease has expired. */
  take(ref: BatchRef): BegunAttempt | undefined {
    const kept = this.#byLease.get(ref.lease);
    this.#byLease.delete(ref.lease);
    if (kept?.begun.batch.id !== ref.batch) return undefined;
    const { batch, leasedForMs } = kept.begun;
    const sinceLease = kept.sinceClaim;
    return sinceLease.elapsedMs() < leasedForMs ? { batch, leasedForMs, sinceLease } : undefined;
  }

  /** Removes and returns all batches that no attempt has taken. */
  takeAll(): ClaimedBatch[] {
    const unused = [...this.#byLease.values()].map(({ begun }) => begun);
    this.#byLease.clear();
    return unused;
  }
}
