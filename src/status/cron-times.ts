import { createTask, parse } from 'node-cron';
import type { PollSchedule } from '../config/contract/config.ts';
import { wallTime } from '../platform/time/timezone.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A quarter of an hour, in ms. The offsets of all time zones, and the times at which they change, are multiples of this. */
const QUARTER_MS = 15 * MINUTE_MS;
/**
 * Longest change of the clocks in a time zone, in ms. A search that skips days stops this long before the next matching day, because the
 * clocks may change in the skipped days.
 */
const CHANGE_MS = 2 * HOUR_MS;
/**
 * Maximum number of days that a search looks ahead. Two leap days around a year such as 2100 are 8 years apart. An expression that matches
 * less often, such as 29 February on a Monday, can count as one that never matches.
 */
const FURTHEST_DAYS = 9 * 366;

/**
 * Returns the first time after `after` at which a cron expression matches in its time zone. Returns undefined if that time is after
 * `until`, or if the expression never matches. An hour that the clocks repeat matches twice. A time in an hour that the clocks skip matches
 * once, immediately after the change.
 */
export function nextCronTime(
  { cron, timezone }: { readonly cron: string; readonly timezone: string | undefined },
  after: Date,
  until?: Date,
): Date | undefined {
  const expression = new Expression(cron);
  try {
    return search(expression, timezone, after, until);
  } finally {
    expression.close();
  }
}

function search(
  expression: Expression,
  timezone: string | undefined,
  after: Date,
  until: Date | undefined,
): Date | undefined {
  const startMs = after.getTime();
  const untilMs = until?.getTime() ?? Number.POSITIVE_INFINITY;
  let ms = Math.floor(startMs / QUARTER_MS) * QUARTER_MS;
  /** Wall time that follows the previous quarter of an hour if the clocks do not change. Undefined after skipped days. */
  let expected: number | undefined;
  while (ms <= untilMs) {
    const wall = wallTime(ms, timezone);
    if (expected !== undefined && expression.firstIn(expected, wall) !== undefined) return new Date(ms);
    const from = wall + Math.max(0, Math.floor((startMs - ms) / SECOND_MS + 1) * SECOND_MS);
    const found = expression.firstIn(from, wall + QUARTER_MS);
    if (found !== undefined) return within(ms + found - wall, untilMs);
    const skipped = expression.daylessMs(wall, untilMs - ms);
    if (skipped === undefined) return undefined;
    expected = skipped > 0 ? undefined : wall + QUARTER_MS;
    ms += Math.max(QUARTER_MS, skipped);
  }
  return undefined;
}

function within(ms: number, untilMs: number): Date | undefined {
  return ms <= untilMs ? new Date(ms) : undefined;
}

/** A cron expression over wall-clock times, which are represented as UTC, in ms. */
class Expression {
  readonly #seconds: ReadonlySet<number>;
  readonly #minutes: ReadonlySet<number>;
  readonly #hours: ReadonlySet<number>;
  readonly #months: ReadonlySet<number>;
  /** Decides which days match. It is never started, so node-cron's own timer never runs. */
  readonly #dates: ReturnType<typeof createTask>;
  readonly #days = new Map<number, boolean>();

  constructor(cron: string) {
    const { second, minute, hour, dayOfMonth, month, dayOfWeek } = parse(cron);
    this.#seconds = new Set(second);
    this.#minutes = new Set(minute);
    this.#hours = new Set(hour);
    this.#months = new Set(month);
    const dates = ['* * *', dayOfMonth.join(','), month.join(','), dayOfWeek.join(',')].join(' ');
    this.#dates = createTask(dates, () => undefined, { timezone: 'UTC' });
  }

  close(): void {
    void this.#dates.destroy();
  }

  /** Returns the first match from `from` up to, but not including, `to`. */
  firstIn(from: number, to: number): number | undefined {
    for (let minute = from - (from % MINUTE_MS); minute < to; minute += MINUTE_MS) {
      if (!this.#matchesMinute(minute)) continue;
      for (let ms = Math.max(from, minute); ms < Math.min(to, minute + MINUTE_MS); ms += SECOND_MS)
        if (this.#seconds.has(new Date(ms).getUTCSeconds())) return ms;
    }
    return undefined;
  }

  /**
   * Returns the time, in ms, that a search can skip because no day matches; 0 on a matching day. Returns undefined if no day matches within
   * `withinMs`.
   */
  daylessMs(wall: number, withinMs: number): number | undefined {
    const today = wall - (wall % DAY_MS);
    const furthest = Math.min(FURTHEST_DAYS, withinMs / DAY_MS + 2);
    for (let days = 0; days <= furthest; days += 1) {
      if (!this.#matchesDay(today + days * DAY_MS)) continue;
      const waitMs = today + days * DAY_MS - wall - CHANGE_MS;
      return Math.max(0, Math.floor(waitMs / QUARTER_MS) * QUARTER_MS);
    }
    return undefined;
  }

  #matchesMinute(wall: number): boolean {
    const date = new Date(wall);
    if (!this.#hours.has(date.getUTCHours()) || !this.#minutes.has(date.getUTCMinutes())) return false;
    return this.#matchesDay(wall - (wall % DAY_MS));
  }

  #matchesDay(midnight: number): boolean {
    const known = this.#days.get(midnight);
    if (known !== undefined) return known;
    const day = new Date(midnight);
    const matches = this.#months.has(day.getUTCMonth() + 1) && this.#dates.match(day);
    this.#days.set(midnight, matches);
    return matches;
  }
}

/** Returns when the poll after the one at `last` is due by the schedule; undefined if that is after `until`. */
export function nextPollAfter(schedule: PollSchedule, last: Date, until: Date): Date | undefined {
  if ('cron' in schedule) return nextCronTime(schedule, last, until);
  const next = new Date(last.getTime() + schedule.everyMs);
  return next > until ? undefined : next;
}
