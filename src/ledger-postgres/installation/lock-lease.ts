import type { DocumentLock } from '../../platform/files/document-store.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { Stopwatch } from '../../platform/time/stopwatch.ts';

/** How long a lock lasts after it was taken or renewed, in ms. */
export const LEASE_MS = 15_000;
/** How often its holder renews it, in ms. */
const RENEW_MS = 5_000;
/** How long the holder trusts it, from before it sent the last renewal, in ms. The rest covers clocks of different speeds. */
const TRUSTED_MS = 10_500;

/** Names a lock and its holder: the folder, the name, and a text that was drawn when the lock was taken. */
export type LockKey = readonly [folder: string, name: string, token: string];

/** Renews the lease of a lock until it is released, or until this process can no longer trust it. */
export class LockLease {
  readonly #clock: Clock;
  /** Renews the lease. Returns whether it was renewed; undefined if that is unknown. */
  readonly #renew: () => Promise<boolean | undefined>;
  /** Started before the last renewal that succeeded was sent. */
  #sinceSent: Stopwatch;
  readonly #lost = new AbortController();
  readonly #released = new AbortController();

  /** Must be made before the lock is asked for. */
  constructor(clock: Clock, renew: () => Promise<boolean | undefined>) {
    this.#clock = clock;
    this.#renew = renew;
    this.#sinceSent = new Stopwatch(clock);
  }

  /** Returns the lock that was taken. `unlock` gives it up, and must not fail. */
  begin(unlock: () => Promise<void>): DocumentLock {
    void this.#keep();
    return {
      lost: this.#lost.signal,
      isHeld: () => this.#isTrusted(),
      release: async () => {
        this.#released.abort();
        await unlock();
      },
    };
  }

  #isTrusted(): boolean {
    return !this.#lost.signal.aborted && this.#sinceSent.elapsedMs() < TRUSTED_MS;
  }

  async #keep(): Promise<void> {
    const released = this.#released.signal;
    for (;;) {
      // A renewal that failed is tried again as soon as the lease is in danger.
      await this.#clock.sleep(Math.min(RENEW_MS, TRUSTED_MS - this.#sinceSent.elapsedMs()), released);
      if (released.aborted) return;
      const sent = new Stopwatch(this.#clock);
      const renewed = await this.#renew();
      if (renewed) this.#sinceSent = sent;
      if (renewed === false || !this.#isTrusted()) break;
    }
    this.#lost.abort();
  }
}
