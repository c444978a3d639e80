import type { BatchRef } from '../../leads/delivery.ts';
import type { BegunAttempt } from '../contract/ledger-delivering.ts';
import type { BegunBatch } from './settling.ts';

/**
 * Keeps batches that were claimed and begun in one commit, by lease, for the attempts that will take them. Never contains more batches than
 * are in flight.
 */
export class BegunAttempts {
  readonly #byLease = new Map<number, BegunBatch>();

  /** Adds begun batches, and drops batches whose leases `refs` replace. */
  keep(begun: readonly BegunBatch[], refs: readonly BatchRef[]): void {
    for (const { replaces } of refs) if (replaces !== undefined) this.#byLease.delete(replaces);
    for (const one of begun) this.#byLease.set(one.lease, one);
  }

  /** Removes and returns the batch of a lease. Returns undefined if there is no such batch or its lease has expired. */
  take(ref: BatchRef, nowMs: number): BegunAttempt | undefined {
    const begun = this.#byLease.get(ref.lease);
    this.#byLease.delete(ref.lease);
    if (begun?.batch.id !== ref.batch || begun.until <= nowMs) return undefined;
    return { batch: begun.batch, leasedUntil: new Date(begun.until) };
  }

  /** Removes and returns all batches that no attempt has taken. */
  takeAll(): BegunBatch[] {
    const unused = [...this.#byLease.values()];
    this.#byLease.clear();
    return unused;
  }
}
