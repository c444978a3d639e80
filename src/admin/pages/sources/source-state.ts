import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { isDueNow, printAge, printCount, sentence } from '../../../platform/text/human-readable.ts';
import type { Overview, SourceOverview } from '../../contract/overview.ts';
import type { PollRow } from '../../contract/polls.ts';
import { may } from '../../contract/rights.ts';
import { badge } from '../parts/badge.ts';
import type { Content } from '../parts/content.ts';
import { withLineBreaks } from '../parts/line-breaks.ts';
import type { Site } from '../parts/site.ts';
import { moment } from '../parts/time-element.ts';

/**
 * Returns the result of the last poll of a source and the problems of the source as labels. A source with a problem has no green label, so that no
 * page contradicts the list of problems.
 */
export function sourceBadges({
  last_poll_status: status,
  problems,
  leads_rejected,
}: SourceOverview): Content {
  const isFailing = status === 'running' && problems.includes('poll_failed');
  return badges(status, [
    ...(isFailing ? [badge('failed', 'failed before')] : []),
    ...problems.flatMap((code) => markOf(code, leads_rejected)),
  ]);
}

/** Returns the result of a poll and its problems as labels. The last poll of a source has the source's problems. */
export function pollBadges({ status, problems, listing_rejected }: PollRow): Content {
  return badges(
    status,
    problems.flatMap((code) => markOf(code, listing_rejected)),
  );
}

/** Returns the label of a problem that concerns polls. A failed poll gets none, because its status already says so. */
function markOf(code: string, rejected: number): VNode[] {
  if (code === 'leads_rejected') return [badge('rejected', `${printCount(rejected)} rejected`)];
  const words = MARKS[code];
  return words === undefined ? [] : [badge(words)];
}

const MARKS: Readonly<Record<string, string>> = {
  never_polled: 'never polled',
  source_removed: 'removed',
  source_refused: 'refused',
  poll_late: 'late',
  listing_shrunk: 'shrunk',
  source_silent: 'silent',
};

/** Poll statuses that mean that everything is well. */
const WELL: readonly string[] = ['success', 'unchanged'];

function badges(status: string | null, marks: readonly VNode[]): Content {
  const isLeftOut = status === null || (marks.length > 0 && WELL.includes(status));
  return [...(isLeftOut ? [] : [badge(status)]), ...marks].flatMap((mark) => [mark, ' ']);
}

/** What *Poll now* does after a failure with this code. */
const POLL_NOW: Readonly<Record<string, string>> = {
  // The wait before the second try does not depend on who requests the poll.
  'login-refused': 'does not ask the service to renew the login sooner',
};

/**
 * Returns a note on why the last poll of a source failed, since when polls have failed, and what *Poll now* does about it; null if it did not fail.
 */
export function failureNote(
  { error, error_code: code, failing_since: since, ...source }: SourceOverview,
  now: Date,
): Content {
  if (since === null) return null;
  const otherwise = source.next_poll_at === null ? '' : ['; the next poll is ', nextPoll(source, now)];
  return html`<small class="until"><bdi>${withLineBreaks(sentence(error ?? ''))}</bdi> Polls have failed since ${moment(since)}${may('poll') && ['. ', html`<em>Poll now</em>`, ` ${POLL_NOW[code ?? ''] ?? 'requests the listing immediately'}`]}${otherwise}.</small>`;
}

/** Returns the time until the next poll of a source, in words. */
export function nextPoll(
  { next_poll_at: at, last_poll_status: last }: Pick<SourceOverview, 'next_poll_at' | 'last_poll_status'>,
  now: Date,
): Content {
  if (at === null) return last === 'running' ? 'running' : '–';
  return isDueNow(new Date(at), now)
    ? 'due'
    : html`<time datetime=${at} title=${at}>${printAge(new Date(at), now)}</time>`;
}

/**
 * Returns the sources, and the time of their state. Returns no sources if the overview fails, because a list is useful without them, and its
 * page says that the state is unknown.
 */
export async function sourcesOf({ operations }: Site): Promise<Pick<Overview, 'sources' | 'at'>> {
  return operations.overview().catch(() => ({ sources: [], at: new Date().toISOString() }));
}
