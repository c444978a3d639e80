import type { Found, KnownProcess } from '../../ledger/contract/machines.ts';
import type { LeaseTimes } from '../../ledger/rules/machines/lease-times.ts';
import { Observed } from '../../ledger/rules/machines/observed-duties.ts';
import type { Clock } from '../../platform/time/clock.ts';

/** The other processes on a ledger, as the last answered beat of this one found them. */
export class OtherProcesses {
  readonly #clock: Clock;
  readonly #times: LeaseTimes;
  readonly #observed = new Observed();
  #processes: readonly KnownProcess[] = [];
  /** When the last answer arrived, in ms of the monotonic clock. */
  #seenAtMs = 0;

  constructor(clock: Clock, times: LeaseTimes) {
    this.#clock = clock;
    this.#times = times;
  }

  /** Records what a beat found. `own` is the name of this process. */
  see({ processes }: Pick<Found, 'processes'>, own: string): void {
    this.#seenAtMs = this.#clock.monotonicMs();
    this.#processes = processes.filter(({ holder }) => holder !== own);
    for (const { holder, lastBeat } of this.#processes) this.#observed.see(holder, lastBeat, this.#seenAtMs);
    this.#observed.keepOnly(new Set(this.#processes.map(({ holder }) => holder)));
  }

  get all(): readonly KnownProcess[] {
    return this.#processes;
  }

  of(holder: string): KnownProcess | undefined {
    return this.#processes.find((process) => process.holder === holder);
  }

  /**
   * Whether a process was not seen for a lease, by the ledger's clock and by this machine's, or for a whole lease by this machine's. By then, the
   * process no longer trusts its leases. Counts only the time between answers, because it may have beaten since the last one.
   */
  isDead(holder: string): boolean {
    const process = this.of(holder);
    if (!process) return false;
    const { leaseMs, unchangedMs } = this.#times;
    const unseenMs = this.#observed.unchangedMs(holder, process.lastBeat, this.#seenAtMs) ?? 0;
    return unseenMs >= leaseMs || (process.seenMsAgo >= leaseMs && unseenMs >= unchangedMs);
  }
}
