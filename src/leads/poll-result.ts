import { sizeBeforeShrinking } from './listing-shrinkage.ts';

/**
 * Result of a poll: its status or, if it read or confirmed a complete listing, what is wrong with that listing. `shrunk`: earlier listings were far
 * larger. `rejected`: the listing has leads that were rejected.
 */
export type PollResult = 'running' | 'success' | 'unchanged' | 'shrunk' | 'rejected' | 'partial' | 'failed';

/** A result by which polls can be selected. `not-unchanged`: every status but `unchanged`, whatever is wrong with the listing. */
export type SelectedResult = PollResult | 'not-unchanged';

/** What the result of a poll depends on, named like the fields of the API. */
interface PollFacts {
  readonly status: Exclude<PollResult, 'shrunk' | 'rejected'>;
  /** Whether the listing that the poll read or confirmed is far smaller than earlier ones. */
  readonly is_shrunk: boolean;
  /** Number of rejected leads in that listing. */
  readonly listing_rejected: number;
}

/** Returns the result of a poll. That of a listing that has shrunk and has rejected leads is `shrunk`. */
export function pollResult({ status, is_shrunk, listing_rejected }: PollFacts): PollResult {
  if (is_shrunk) return 'shrunk';
  return listing_rejected > 0 ? 'rejected' : status;
}

/** Returns the statuses of the polls that may have a result. */
export function statusesOf(result: SelectedResult): readonly PollFacts['status'][] {
  if (result === 'not-unchanged') return ['running', 'success', 'partial', 'failed'];
  return result === 'shrunk' || result === 'rejected' ? ['success', 'unchanged'] : [result];
}

/** Whether a poll with one of `statusesOf` has the result. */
export function hasResult(poll: PollFacts, result: SelectedResult): boolean {
  return result === 'not-unchanged' || pollResult(poll) === result;
}

/** Whether the result depends on the listing, and not on the status alone. */
export function dependsOnListing(result: SelectedResult): boolean {
  return (
    result !== 'not-unchanged' &&
    statusesOf(result).some((status) => status === 'success' || status === 'unchanged')
  );
}

/** Whether a listing is far smaller than the complete listing before it. `listed_before` is null if there is none. */
export function hasShrunk({
  leads_listed: listed,
  listed_before: before,
}: {
  readonly leads_listed: number;
  readonly listed_before: number | null;
}): boolean {
  if (before === null) return false;
  // The time only says that an earlier listing was complete.
  const size = { lastSuccessAt: new Date(0), listed, listedLately: before, leads: before };
  return sizeBeforeShrinking(size) !== undefined;
}
