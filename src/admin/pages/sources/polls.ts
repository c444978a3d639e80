import { html } from 'htm/preact';
import { z } from 'zod';
import { printBytes, printCount, printSpan } from '../../../platform/text/human-readable.ts';
import type { Overview } from '../../contract/overview.ts';
import { POLL_COLUMNS, PollFilter, type PollRow } from '../../contract/polls.ts';
import { PollResult, SelectedResult } from '../../contract/values.ts';
import { type Field, sourceField } from '../lists/filters.ts';
import { addList, type ListPage } from '../lists/list-page.ts';
import { emptyText } from '../lists/pager.ts';
import { orderField, sortedColumn, withOrder } from '../lists/sorting.ts';
import { goneLeadsAddress, withQuery } from '../parts/addresses.ts';
import type { Content } from '../parts/content.ts';
import { withLineBreaks } from '../parts/line-breaks.ts';
import type { AddPage, Site } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';
import { pollButton } from './poll-now.ts';
import { failureNote, nextPoll, pollBadges, sourceBadges, sourcesOf } from './source-state.ts';

/** The filter of the page. Without a result, the page leaves out unchanged polls, because they would be nearly all of its rows. */
const Listed = withOrder(PollFilter.extend({ result: SelectedResult.or(z.literal('any')).optional() }));
type Listed = z.infer<typeof Listed>;

/** Returns the filter for the operations. */
function filterOf({ order: _, result, ...filter }: Listed): PollFilter {
  const usual = filter.status === undefined ? ('not-unchanged' as const) : undefined;
  return { ...filter, result: result === 'any' ? undefined : (result ?? usual) };
}

/** Adds the page that lists polls and their results. */
export const addPolls: AddPage = (app, site) => {
  addList(app, site, '/polls', 'polls', async () => listPage(site, await sourcesOf(site)));
};

function listPage(
  { operations }: Site,
  { sources, at }: Pick<Overview, 'sources' | 'at'>,
): ListPage<Listed, PollRow> {
  return {
    name: 'Polls',
    path: '/polls',
    noun: 'poll',
    fields: [sourceField(sources), resultField, statusField, orderField],
    schema: Listed,
    rows: (filter, page) => operations.polls(filterOf(filter), { ...page, order: filter.order }),
    count: (filter) => operations.countPolls(filterOf(filter)),
    columns: POLL_COLUMNS,
    intro: ({ filter, input }) => [
      sourceTable(sources, filter?.source, new Date(at)),
      filter &&
        filterOf(filter).result === 'not-unchanged' &&
        html`<p class="hint">Without the polls that found an unchanged listing. <a href=${withQuery('/polls', { ...input, result: 'any' })}>Show all polls</a></p>`,
    ],
    body: (filtered, polls) =>
      table({
        name: 'Polls',
        columns: columns.map((column) =>
          column.label === 'Started' ? sortedColumn(column, '/polls', filtered) : column,
        ),
        rows: polls.rows,
        key: keyOf,
        empty: emptyText(filtered, polls, words),
        compact: true,
      }),
  };
}

/** Returns the state of all sources or, if the filter names a source, of that one, with the time of the next poll. */
function sourceTable(sources: Overview['sources'], only: string | undefined, now: Date): Content {
  const shown = sources.filter(({ source }) => only === undefined || source === only);
  if (shown.length === 0) return null;
  return html`<section>${table({
    name: 'Sources',
    columns: [
      { label: 'Source', of: ({ source }) => html`<a href=${withQuery('/polls', { source })}>${source}</a>` },
      {
        label: 'Last poll',
        of: (source) => [sourceBadges(source), failureNote(source, now)],
        text: true,
      },
      { label: 'Next poll', of: (source) => nextPoll(source, now) },
      {
        label: 'Leads',
        of: ({ source }) =>
          html`<a href=${goneLeadsAddress(source)}>Show leads that ${source} no longer lists</a>`,
      },
      { label: 'Actions', of: ({ source }) => pollButton(source) },
    ],
    rows: shown,
    key: ({ source }) => `source-${source}`,
    empty: null,
  })}</section>`;
}

const words = {
  noMatch: 'No poll matches.',
  noneYet: 'No poll has started yet, or every poll on record found an unchanged listing.',
};

const resultField: Field = {
  name: 'result',
  label: 'Status',
  none: 'all but unchanged',
  unsaid: ['not-unchanged'],
  choices: [...PollResult.options, 'any'].map((result) => [result, result] as const),
};

/** The filter of earlier versions, which does not distinguish a shrunk listing or rejected leads. */
const statusField: Field = {
  name: 'status',
  label: 'Status without the listing',
  isFormer: true,
  choices: PollFilter.shape.status.unwrap().options.map((status) => [status, status] as const),
};

const columns: readonly Column<PollRow>[] = [
  { label: 'Poll', of: (poll) => poll.poll_id, number: true },
  { label: 'Source', of: ({ source }) => source },
  { label: 'Started', of: (poll) => moment(poll.started_at) },
  { label: 'Status', of: pollBadges },
  {
    label: 'Duration',
    of: (poll) => (poll.duration_ms === null ? '–' : printSpan(poll.duration_ms)),
    number: true,
  },
  { label: 'Listed', of: listedIn, number: true },
  { label: 'New', of: (poll) => counted(poll, poll.leads_new), number: true },
  { label: 'Changed', of: (poll) => counted(poll, poll.leads_changed), number: true },
  { label: 'Rejected', of: rejectedIn, number: true },
  { label: 'Size', of: ({ bytes }) => (bytes === 0 ? '–' : printBytes(bytes)), number: true },
  { label: 'HTTP', of: (poll) => poll.http_status ?? '–', number: true },
  { label: 'Error', of: ({ error }) => error && html`<bdi>${withLineBreaks(error)}</bdi>`, text: true },
];

/**
 * Returns the number of leads that a poll listed, and that of the previous listing if it was far larger. Returns a dash for a failed or running poll
 * that has counted none, because that does not mean that the listing is empty.
 */
function listedIn({ status, leads_listed, listed_before: before, problems }: PollRow) {
  if (leads_listed === 0 && isUncounted(status)) return html`<span class="none">–</span>`;
  const isShrunk = before !== null && problems.includes('listing_shrunk');
  return [
    printCount(leads_listed),
    isShrunk && html`<small class="until">${printCount(before)} before</small>`,
  ];
}

/** Whether a poll with this status has not counted the leads of a listing. */
function isUncounted(status: PollRow['status']): boolean {
  return status === 'failed' || status === 'running';
}

/** Highlights a count above 0, because most polls find nothing. Returns a dash for a failed or running poll that has counted none. */
function counted({ status }: PollRow, count: number) {
  if (count === 0 && isUncounted(status)) return html`<span class="none">–</span>`;
  return count === 0 ? html`<span class="none">0</span>` : html`<strong>${printCount(count)}</strong>`;
}

/** Returns the number of leads that a poll rejected, as a link to those of its source. */
function rejectedIn(poll: PollRow) {
  const shown = counted(poll, poll.leads_rejected);
  if (poll.leads_rejected === 0) return shown;
  return html`<a href=${withQuery('/rejected', { source: poll.source, state: 'any' })}>${shown}</a>`;
}

function keyOf({ poll_id }: PollRow): string {
  return `poll-${poll_id}`;
}
