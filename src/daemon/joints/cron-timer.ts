import type { PollSchedule } from '../../config/contract/config.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { nextCronTime } from '../../status/cron-times.ts';

/** How often the wall clock is read, in ms: it may have been set, or the machine may have slept. */
const CHECK_INTERVAL_MS = 1_000;
/** A wall clock that loses less than this against the monotonic one is being kept in time, in ms. */
const STEP_MS = 1_000;

/**
 * Waits for the times of a cron expression by the wall clock, and never longer than was left when the wait began: a clock that is
 * set back delays nothing. A time that passed while nobody looked, however long ago, is due at once, and once.
 */
export class CronTimer {
  readonly #schedule: Extract<PollSchedule, { cron: string }>;
  readonly #clock: Clock;
  /** By the wall clock. */
  #dueMs = 0;
  /** By the monotonic clock. */
  #deadlineMs = 0;
  /** How far the wall clock was ahead of the monotonic one when the times above were computed, in ms. */
  #aheadMs = 0;

  /** `last` is when the last poll began or ended, if there was one. One that lies in the future makes a poll due now: the clock was set back since. */
  constructor(schedule: Extract<PollSchedule, { cron: string }>, clock: Clock, last: Date | undefined) {
    this.#schedule = schedule;
    this.#clock = clock;
    const now = clock.now();
    if (last === undefined || last <= now) this.restart(last ?? now);
  }

  /** A poll began at `last`: counts from there. */
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
