import { html } from 'htm/preact';
import { printBytes, printCount, printSpan } from '../../platform/text/format.ts';
import { POLL_COLUMNS, PollFilter, type PollRow } from '../contract/polls.ts';
import { goneLeadsAddress } from './parts/addresses.ts';
import type { Content } from './parts/content.ts';
import type { Field } from './parts/filters.ts';
import { addList } from './parts/list-page.ts';
import { moment } from './parts/moment.ts';
import { emptyText } from './parts/pager.ts';
import type { AddPage } from './parts/site.ts';
import { orderField, sortedColumn, withOrder } from './parts/sorting.ts';
import { type Column, table } from './parts/table.ts';
import { pollButton } from './poll-now.ts';
import { pollBadges } from './source-state.ts';

/** Adds the page of polls and their results. */
export const addPolls: AddPage = (app, site) => {
  addList(app, site, '/polls', 'polls', () => ({
    name: 'Polls',
    path: '/polls',
    noun: 'poll',
    fields,
    schema: withOrder(PollFilter),
    rows: ({ order, ...filter }, page) => site.operations.polls(filter, { ...page, order }),
    columns: POLL_COLUMNS,
    body: (filtered, polls) => [
      table({
        name: 'Polls',
        columns: columns.map((column) =>
          column.label === 'Started' ? sortedColumn(column, '/polls', filtered) : column,
        ),
        rows: polls.rows,
        key: keyOf,
        empty: emptyText(filtered, polls, words),
      }),
      toGone(filtered.filter?.source),
      filtered.filter?.source !== undefined && pollButton(filtered.filter.source),
    ],
  }));
};

function toGone(source: string | undefined): Content {
  return (
    source !== undefined &&
    html`<p class="hint"><a href=${goneLeadsAddress(source)}>Show leads that ${source} no longer lists</a></p>`
  );
}

const words = { noMatch: 'No poll matches.', noneYet: 'No poll has started yet.' };

const fields: readonly Field[] = [
  { name: 'source', label: 'Source' },
  {
    name: 'status',
    label: 'Status',
    choices: PollFilter.shape.status.unwrap().options.map((status) => [status, status] as const),
  },
  orderField,
];

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
  { label: 'Listed', of: (poll) => printCount(poll.leads_listed), number: true },
  { label: 'New', of: (poll) => highlight(poll.leads_new), number: true },
  { label: 'Changed', of: (poll) => highlight(poll.leads_changed), number: true },
  { label: 'Rejected', of: (poll) => highlight(poll.leads_rejected), number: true },
  { label: 'Size', of: ({ bytes }) => (bytes === 0 ? '–' : printBytes(bytes)), number: true },
  { label: 'HTTP', of: (poll) => poll.http_status ?? '–', number: true },
  { label: 'Error', of: ({ error }) => error && html`<bdi>${error}</bdi>`, text: true },
];

/** Highlights a count above 0, because most polls find nothing. */
function highlight(count: number) {
  return count === 0 ? html`<span class="none">0</span>` : html`<strong>${printCount(count)}</strong>`;
}

function keyOf({ poll_id }: PollRow): string {
  return `poll-${poll_id}`;
}
