import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { z } from 'zod';
import { countOf, printCount, printSpan } from '../../../platform/text/human-readable.ts';
import type { SinkDetail } from '../../contract/sinks.ts';
import { reasonAndAnswer } from '../deliveries/delivery-answers.ts';
import { leadAddress, sinkAddress, withQuery } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import { type Column, table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';

/** Number of attempts that the table shows unless the reader asks for all. */
const FIRST_ROWS = 10;

/**
 * Which of the last attempts the page of a sink shows, and whether it shows all rows. Without a choice, it shows the failed attempts, or all if
 * none failed.
 */
export const AttemptChoice = z.object({
  attempts: z.enum(['failed', 'all']).optional(),
  rows: z.literal('all').optional(),
});
export type AttemptChoice = z.infer<typeof AttemptChoice>;

type Attempt = SinkDetail['recent'][number];

/** Returns the last attempts or the last failed ones, newest first. `choice` and the period come from the address. */
export function recentTable(
  { recent, recent_failed: failed, sink, period }: SinkDetail,
  choice: AttemptChoice,
): VNode {
  const attempts = choice.attempts ?? (recent.some(isFailed) ? 'failed' : 'all');
  const chosen = (attempts === 'failed' ? failed : recent).toSorted((a, b) => beganOf(b) - beganOf(a));
  const shown = choice.rows === 'all' ? chosen : chosen.slice(0, FIRST_ROWS);
  const address = (query: AttemptChoice) => `${withQuery(sinkAddress(sink), { period, ...query })}#attempts`;
  const choices = [
    ['failed', failed],
    ['all', recent],
  ] as const;
  return html`<section id="attempts"><h2>Last attempts</h2>
    <nav class="periods" aria-label="Last attempts">${choices.map(
      ([one, { length }]) =>
        html`<a class="button" href=${address({ attempts: one })} aria-current=${one === attempts ? 'true' : undefined}>${one} ${printCount(length)}</a>`,
    )}<span class="hint">${attempts === 'failed' ? 'The last attempts that failed' : 'The last attempts'}, at most 50.</span></nav>
    ${table<Attempt>({
      name: 'Last attempts',
      columns,
      rows: shown,
      key: ({ delivery_id, started_at }) => `attempt-${delivery_id}-${started_at}`,
      empty:
        attempts === 'failed'
          ? 'No failed attempt of this sink is among the newest ones that were searched.'
          : 'No attempt in the last week.',
    })}
    ${
      shown.length < chosen.length &&
      html`<p class="pager"><a class="button" href=${address({ attempts, rows: 'all' })}>Show all ${countOf(chosen.length, attempts === 'failed' ? 'failed attempt' : 'attempt')}</a></p>`
    }
  </section>`;
}

const isFailed = ({ outcome }: Attempt) => outcome !== 'delivered';

const columns: readonly Column<Attempt>[] = [
  { label: 'Began', of: (attempt) => moment(lastOf(attempt)) },
  {
    label: 'Lead',
    of: ({ source, lead_id }) =>
      html`<a href=${leadAddress(source, lead_id)}>${lead_id}</a> <small>${source}</small>`,
  },
  {
    label: 'Outcome',
    of: ({ outcome, times, started_at }) => [
      badge(outcome),
      times > 1 && html` <small>${printCount(times)} times, the first ${moment(started_at)}</small>`,
    ],
  },
  { label: 'HTTP status', of: ({ http_status: status }) => status ?? html`<span class="none">–</span>` },
  { label: 'Duration', of: ({ duration_ms }) => printSpan(duration_ms), number: true },
  { label: 'Error', of: (attempt) => reasonAndAnswer(attempt.error, attempt), text: true },
];

/**
 * Returns the start of the attempt. If several attempts share the row because they failed in the same way, returns the start of the last one, whose
 * duration the row shows.
 */
function lastOf({ started_at, last_started_at }: Attempt): string {
  return last_started_at ?? started_at;
}

function beganOf(attempt: Attempt): number {
  return Date.parse(lastOf(attempt));
}
