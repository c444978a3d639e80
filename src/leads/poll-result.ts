import { sizeBeforeShrinking } from './listing-shrinkage.ts';

/**
 * Results of a poll: its status or, if it read a complete listing, what is wrong with that listing. `shrunk`: the previous complete listing was far
 * larger. `rejected`: the listing has leads that were rejected.
 */
export const POLL_RESULTS = [
  'running',
  'success',
  'unchanged',
  'shrunk',
  'rejected',
  'partial',
  'failed',
] as const;

/** Result of a poll. */
export type PollResult = (typeof POLL_RESULTS)[number];

/** What the result of a poll depends on, named like the columns of `polls`. */
interface PollFacts {
  readonly status: Exclude<PollResult, 'shrunk' | 'rejected'>;
  readonly leads_listed: number;
  readonly leads_rejected: number;
  /** Number of leads in the previous complete listing; null unless the poll completed a changed listing. */
  readonly listed_before: number | null;
}

/** Returns the result of a poll. That of a listing that has shrunk and has rejected leads is `shrunk`. */
export function pollResult(poll: PollFacts): PollResult {
  if (hasShrunk(poll)) return 'shrunk';
  return hasRejected(poll) ? 'rejected' : poll.status;
}

/** Whether the listing of a poll is far smaller than the complete listing before it. */
export function hasShrunk({
  leads_listed: listed,
  listed_before: before,
}: Pick<PollFacts, 'leads_listed' | 'listed_before'>): boolean {
  if (before === null) return false;
  // The time only says that an earlier listing was complete.
  const size = { lastSuccessAt: new Date(0), listed, listedLately: before, leads: before };
  return sizeBeforeShrinking(size) !== undefined;
}

/** Whether a poll read a complete listing and rejected leads of it. */
export function hasRejected({ status, leads_rejected }: PollFacts): boolean {
  return leads_rejected > 0 && (status === 'success' || status === 'unchanged');
}

/** Returns the statuses of the polls that may have a result. */
export function statusesOf(result: PollResult): readonly PollFacts['status'][] {
  if (result === 'shrunk') return ['success'];
  return result === 'rejected' ? ['success', 'unchanged'] : [result];
}
