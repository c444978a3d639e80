import { nextCronTime } from './cron-times.ts';
import type { SourceView } from './status-view.ts';

/**
 * Returns when the next poll of a source is due by its schedule, which may be in the past. After a failed poll, returns `retryAt`, which only
 * the running leadsync knows. Returns undefined while a poll runs, and for a source that has no poll yet or is not configured.
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
