import type { BatchRef } from '../../leads/delivery.ts';
import type { BegunAttempt } from '../contract/ledger-delivering.ts';
import type { BegunBatch } from './settling.ts';

/** By lease: what was claimed and begun in one commit, until its attempt asks for it. Never more than is on its way. */
export class BegunAttempts {
  readonly #byLease = new Map<number, BegunBatch>();

  /** Keeps what was begun, in place of what the new leases replace. */
  keep(begun: readonly BegunBatch[], refs: readonly BatchRef[]): void {
    for (const { replaces } of refs) if (replaces !== undefined) this.#byLease.delete(replaces);
    for (const one of begun) this.#byLease.set(one.lease, one);
  }

  /** The batch of a lease that was begun and lasts, once. */
  take(ref: BatchRef, nowMs: number): BegunAttempt | undefined {
    const begun = this.#byLease.get(ref.lease);
    this.#byLease.delete(ref.lease);
    if (begun?.batch.id !== ref.batch || begun.until <= nowMs) return undefined;
    return { batch: begun.batch, leasedUntil: new Date(begun.until) };
  }

  /** What no attempt has asked for; nothing is kept from here on. */
  takeAll(): BegunBatch[] {
    const unused = [...this.#byLease.values()];
    this.#byLease.clear();
    return unused;
  }
}
