import type { Stopwatch } from '../../platform/time/stopwatch.ts';

/**
 * Whether the other processes on a ledger can see that this one is alive. When they cannot, they may take it for dead and attempt its batches again.
 * This process knows that before they do it, because it trusts each beat for a shorter time, reckoned from before the beat was sent.
 */
export class SignsOfLife {
  readonly #trustedMs: number;
  /** Started before the last answered beat was sent. */
  #sinceSent: Stopwatch | undefined;
  /** Started before the first beat was sent of all those that followed each other in time. */
  #sinceAlive: Stopwatch | undefined;
  readonly #revived = new Set<() => void>();

  constructor(trustedMs: number) {
    this.#trustedMs = trustedMs;
  }

  /** Records that a beat was answered. */
  show(sinceSent: Stopwatch): void {
    const isRevived = !this.isAlive();
    this.#sinceSent = sinceSent;
    if (!isRevived) return;
    this.#sinceAlive = sinceSent;
    for (const revived of this.#revived) revived();
  }

  /** Whether no other process can take this one for dead yet, by the clocks of this machine. */
  isAlive(): boolean {
    return this.#sinceSent !== undefined && this.#sinceSent.elapsedMs() < this.#trustedMs;
  }

  /** Whether no other process can have taken this one for dead since `since` was started. */
  isAliveSince(since: Stopwatch): boolean {
    return this.isAlive() && since.elapsedMs() <= (this.#sinceAlive?.elapsedMs() ?? 0);
  }

  /** Calls `revived` with the first beat that is answered, and with each that is answered after others may have taken this process for dead. */
  onRevival(revived: () => void): void {
    this.#revived.add(revived);
  }
}
