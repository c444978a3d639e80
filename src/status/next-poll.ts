import type { PollSchedule } from '../config/contract/config.ts';
import { nextCronTime } from './cron-times.ts';
import type { SourceView } from './status-view.ts';

/**
 * Returns the due time of a source's next poll by its schedule, possibly in the past. After a failed poll, returns `retryAt`, which only the running
 * leadsync knows. Returns undefined while a poll runs, and for a source that has no poll yet or is not configured.
 */
export function nextPollAt({ config, status }: SourceView, retryAt?: Date): Date | undefined {
  const last = status?.lastPoll;
  if (!config || !last || last.status === 'running') return undefined;
  if (last.status === 'failed' || last.status === 'partial') return retryAt;
  const { poll } = config;
  return 'everyMs' in poll
    ? new Date(last.startedAt.getTime() + poll.everyMs)
    : nextCronTime(poll, last.startedAt);
}

/** The last search through a source's schedule. */
interface Search {
  readonly schedule: PollSchedule;
  readonly lastMs: number;
  readonly found: Date;
}

/** The latest time that a Date can have, for a schedule that never makes another poll due. */
const NEVER = new Date(8_640_000_000_000_000);

/** Finds when the next poll of each source is due. Searching a cron expression is slow, so it is searched only once after each complete poll. */
export class NextPolls {
  readonly #searches = new Map<string, Search>();

  /** Returns when the first poll after the last complete one (`last`) is due, which may be in the past. */
  after(source: string, schedule: PollSchedule, last: Date): Date {
    const before = this.#searches.get(source);
    if (before?.schedule === schedule && before.lastMs === last.getTime()) return before.found;
    const found =
      'everyMs' in schedule
        ? new Date(last.getTime() + schedule.everyMs)
        : (nextCronTime(schedule, last) ?? NEVER);
    this.#searches.set(source, { schedule, lastMs: last.getTime(), found });
    return found;
  }
}
