import type { PollSchedule } from '../../config/contract/config.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { nextCronTime } from '../../status/cron-times.ts';

/** Interval for reading the wall clock, in ms. The clock may have been set, or the machine may have been suspended, during a wait. */
const CHECK_INTERVAL_MS = 1_000;
/** A wall clock that falls behind the monotonic clock by less than this, in ms, is being synchronised, not set back. */
const STEP_MS = 1_000;

/**
 * Waits for the times at which a cron expression matches, by the wall clock. A clock that is set back does not delay a poll: the monotonic
 * clock limits each wait to its initial length. If several scheduled times have passed, for example during a poll, only one poll is due,
 * and it is due immediately.
 */
export class CronTimer {
  readonly #schedule: Extract<PollSchedule, { cron: string }>;
  readonly #clock: Clock;
  /** Next due time by the wall clock. */
  #dueMs = 0;
  /** Latest due time by the monotonic clock. */
  #deadlineMs = 0;
  /** Difference between wall clock and monotonic clock when the times above were computed, in ms. */
  #aheadMs = 0;

  /**
   * `last` is the time of the last complete poll, according to the ledger. If there is none, or if it lies in the future because the clock
   * was set back, a poll is due now.
   */
  constructor(schedule: Extract<PollSchedule, { cron: string }>, clock: Clock, last: Date | undefined) {
    this.#schedule = schedule;
    this.#clock = clock;
    if (last !== undefined && last <= clock.now()) this.restart(last);
  }

  /** Computes the next due time after a poll that began at `last`. */
  restart(last: Date): void {
    this.#deadlineMs = Number.POSITIVE_INFINITY;
    this.#plan(last);
  }

  /** Resolves when a poll is due, or when the signal aborts. */
  async due(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wallMs = this.#clock.now().getTime();
      const monotonicMs = this.#clock.monotonicMs();
      const leftMs = Math.min(this.#dueMs - wallMs, this.#deadlineMs - monotonicMs);
      if (leftMs <= 0) return;
      if (this.#aheadMs - (wallMs - monotonicMs) >= STEP_MS) this.#plan(new Date(wallMs));
      else await this.#clock.sleep(Math.min(leftMs, CHECK_INTERVAL_MS), signal);
    }
  }

  #plan(from: Date): void {
    const wallMs = this.#clock.now().getTime();
    const monotonicMs = this.#clock.monotonicMs();
    this.#dueMs = nextCronTime(this.#schedule, from)?.getTime() ?? Number.POSITIVE_INFINITY;
    this.#deadlineMs = Math.min(this.#deadlineMs, monotonicMs + this.#dueMs - wallMs);
    this.#aheadMs = wallMs - monotonicMs;
  }
}
