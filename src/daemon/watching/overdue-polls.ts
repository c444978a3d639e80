import type { PollSchedule } from '../../config/contract/config.ts';
import { nextPollAfter } from '../../status/cron-times.ts';

/** The last search through a source's schedule. */
interface Search {
  readonly schedule: PollSchedule;
  readonly lastMs: number;
  /** End of the time that the search covered. */
  readonly until: Date;
  readonly found: Date | undefined;
}

/** Finds out since when a poll has been overdue. Searching a cron expression is slow, so no minute is searched twice. */
export class OverduePolls {
  readonly #searches = new Map<string, Search>();

  /** Returns when the first poll after the last complete poll (`last`) was due; undefined if no poll was due by `now`. */
  since(source: string, schedule: PollSchedule, last: Date, now: Date): Date | undefined {
    if ('everyMs' in schedule) return nextPollAfter(schedule, last, now);
    const before = this.#searches.get(source);
    // After the clock was set back, a search beyond `now` does not count.
    const continues =
      before?.schedule === schedule && before.lastMs === last.getTime() && before.until <= now;
    if (continues && before.found) return before.found;
    const found = nextPollAfter(schedule, continues ? before.until : last, now);
    this.#searches.set(source, { schedule, lastMs: last.getTime(), until: now, found });
    return found;
  }
}
