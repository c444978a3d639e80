import type { BatchRef } from '../../leads/delivery.ts';
import type { Stopwatch } from '../../platform/time/stopwatch.ts';
import type { BegunAttempt } from '../contract/ledger-delivering.ts';
import type { BegunBatch } from './settling.ts';

interface KeptBatch {
  readonly begun: BegunBatch;
  readonly sinceClaim: Stopwatch;
}

/**
 * Keeps batches that were claimed and begun in one commit, by lease, for the attempts that will take them. Never contains more batches than
 * are in flight.
 */
export class BegunAttempts {
  readonly #byLease = new Map<number, KeptBatch>();

  /** Adds begun batches, and drops batches whose leases `refs` replace. `sinceClaim` must be started before the claim. */
  keep(begun: readonly BegunBatch[], refs: readonly BatchRef[], sinceClaim: Stopwatch): void {
    for (const { replaces } of refs) if (replaces !== undefined) this.#byLease.delete(replaces);
    for (const one of begun) this.#byLease.set(one.lease, { begun: one, sinceClaim });
  }

  /** Removes and returns the batch of a lease. Returns undefined if there is no such batch or its lease has expired. */
  take(ref: BatchRef): BegunAttempt | undefined {
    const kept = this.#byLease.get(ref.lease);
    this.#byLease.delete(ref.lease);
    if (kept?.begun.batch.id !== ref.batch) return undefined;
    const leasedForMs = kept.begun.leasedForMs - kept.sinceClaim.elapsedMs();
    return leasedForMs > 0 ? { batch: kept.begun.batch, leasedForMs } : undefined;
  }

  /** Removes and returns all batches that no attempt has taken. */
  takeAll(): BegunBatch[] {
    const unused = [...this.#byLease.values()].map(({ begun }) => begun);
    this.#byLease.clear();
    return unused;
  }
}
