import type { HeldDuty } from '../../ledger/contract/machines.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Stopwatch } from '../../platform/time/stopwatch.ts';

/** A duty that this process holds under a lease, from a beat that began the lease until the process no longer trusts it. */
export class HeldLease implements HeldDuty {
  readonly token: string;
  readonly preferOthers: () => void;
  readonly #trustedMs: number;
  /** Started before the last beat that renewed the lease was sent. */
  #sinceSent: Stopwatch;
  readonly #lost = new AbortController();
  readonly #retiring = new AbortController();
  /** The number of works that run under the lease. */
  running = 0;

  constructor(token: string, sinceSent: Stopwatch, trustedMs: number, preferOthers: () => void) {
    this.token = token;
    this.#sinceSent = sinceSent;
    this.#trustedMs = trustedMs;
    this.preferOthers = preferOthers;
  }

  isTrusted(): boolean {
    return !this.#lost.signal.aborted && this.#leftMs() > 0;
  }

  /** Aborts when the duty is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get retiring(): AbortSignal {
    return this.#retiring.signal;
  }

  /** Extends the lease, which a beat has renewed. */
  renew(sinceSent: Stopwatch): void {
    this.#sinceSent = sinceSent;
  }

  lose(): void {
    this.#lost.abort();
  }

  /** Asks the works to return at a quiet place. */
  retire(): void {
    this.#retiring.abort();
  }

  /** Loses the lease when it is no longer trusted. Resolves when it is lost. */
  async expire(clock: Clock): Promise<void> {
    while (this.isTrusted()) await clock.sleep(this.#leftMs(), this.lost);
    this.lose();
  }

  #leftMs(): number {
    return this.#trustedMs - this.#sinceSent.elapsedMs();
  }
}
