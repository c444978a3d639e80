import type { PollSchedule } from '../../config/contract/config.ts';
import { nextPollAfter } from '../../status/next-poll.ts';

interface Search {
  readonly schedule: PollSchedule;
  readonly lastMs: number;
  /** Nothing was due up to here. */
  readonly until: Date;
  readonly found: Date | undefined;
}

/** When sources were due for a poll after their last complete one. A cron expression is slow to look through: no minute is looked at twice. */
export class Overdue {
  readonly #searches = new Map<string, Search>();

  /** When a source that was last read at `last` was first due again; undefined when it is not yet. */
  since(source: string, schedule: PollSchedule, last: Date, now: Date): Date | undefined {
    if ('everyMs' in schedule) return nextPollAfter(schedule, last, now);
    const before = this.#searches.get(source);
    // What was looked at by a clock that was ahead says nothing of the times that come again.
    const continues =
      before?.schedule === schedule && before.lastMs === last.getTime() && before.until <= now;
    if (continues && before.found) return before.found;
    const found = nextPollAfter(schedule, continues ? before.until : last, now);
    this.#searches.set(source, { schedule, lastMs: last.getTime(), until: now, found });
    return found;
  }
}
