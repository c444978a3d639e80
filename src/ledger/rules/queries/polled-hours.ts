import type { PolledHours } from '../../contract/status-rows.ts';

/** Maximum number of polls per call of `polledHours`. */
export const MAX_POLLS = 1_000;

/** The answer for a source that was never read completely. */
export const NOTHING_POLLED: PolledHours = {
  hours: [],
  lastNewAt: undefined,
  until: undefined,
  through: undefined,
};

/** A poll. `started_at` is an ISO 8601 time in UTC, or ms since 1970. */
export interface RawPoll {
  readonly poll_id: number;
  readonly started_at: string | number;
  readonly status: string;
  readonly leads_new: number;
}

/** Counts the new leads of each hour in polls of a source, oldest first. */
export function polledHoursOf(polls: readonly RawPoll[]): PolledHours {
  const complete = polls.filter(({ status }) => status !== 'running');
  return {
    hours: hoursOf(complete),
    lastNewAt: startOf(complete.findLast((poll) => poll.leads_new > 0)),
    until: startOf(complete.findLast(({ status }) => status === 'success' || status === 'unchanged')),
    // Excludes a running poll, so that the next call reads that poll.
    through: complete.at(-1)?.poll_id,
  };
}

function hoursOf(polls: readonly RawPoll[]): PolledHours['hours'] {
  const leads = new Map<string, number>();
  for (const { started_at, leads_new, status } of polls) {
    // A partial poll shows which leads the service listed; a failed poll shows nothing.
    if (status === 'failed') continue;
    const hour = `${new Date(started_at).toISOString().slice(0, 13)}:00:00.000Z`;
    leads.set(hour, (leads.get(hour) ?? 0) + leads_new);
  }
  return [...leads].map(([hour, count]) => ({ hour: new Date(hour), leads: count }));
}

function startOf(poll: RawPoll | undefined): Date | undefined {
  return poll && new Date(poll.started_at);
}
