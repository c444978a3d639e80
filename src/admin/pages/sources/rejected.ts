import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { z } from 'zod';
import { countOf, printCount } from '../../../platform/text/human-readable.ts';
import type { Overview } from '../../contract/overview.ts';
import {
  REJECTED_COLUMNS,
  type RejectedContent,
  type RejectedCount,
  RejectedFilter,
  type RejectedRow,
  RejectionState,
} from '../../contract/rejected.ts';
import { may } from '../../contract/rights.ts';
import { type Field, sourceField } from '../lists/filters.ts';
import { addList, type ListPage } from '../lists/list-page.ts';
import { emptyText } from '../lists/pager.ts';
import { orderField, sortedColumn, withOrder } from '../lists/sorting.ts';
import { pollAddress, rejectedAction, runbookAddress, withQuery } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { rawText } from '../parts/raw-text.ts';
import { type AddPage, paramOf, type Site } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';
import { sourcesOf } from './source-state.ts';

/** Adds the page that lists the leads that leadsync could not record, and the page that shows the text of one of them. */
export const addRejected: AddPage = (app, site) => {
  addList(app, site, '/rejected', 'rejected', async () => listPage(site, (await sourcesOf(site)).sources));

  app.post('/rejected/:id/data', { config: { operation: 'revealRejected' } }, async (request, reply) => {
    const content = await site.operations.revealRejected(paramOf(request, 'id'));
    if (content === undefined)
      return site.fail(request, reply, {
        title: 'No such rejected lead',
        what: 'The ledger has no rejected lead with this number.',
        next: '`retention` may have removed it.',
        status: 404,
      });
    return site.show(request, reply, {
      title: `Rejected lead ${content.lead_id ?? 'without an id'} of ${content.source}`,
      name: 'Rejected',
      still: shown(content),
      address: '/rejected',
    });
  });
};

function listPage(
  { operations }: Site,
  sources: Overview['sources'],
): ListPage<z.infer<typeof Sorted>, RejectedRow> {
  const filterOf = ({ state = 'open', source }: z.infer<typeof Listed>) => ({
    source,
    state: state === 'any' ? undefined : state,
  });
  // The page is built for each request, which counts before it shows.
  let counted: RejectedCount | undefined;
  return {
    name: 'Rejected',
    path: '/rejected',
    noun: 'rejected lead',
    fields: [sourceField(sources), stateField, orderField],
    schema: Sorted,
    rows: ({ order, ...filter }, page) => operations.rejected(filterOf(filter), { ...page, order }),
    count: async ({ order: _, ...filter }) => {
      counted = await operations.countRejected(filterOf(filter));
      return counted;
    },
    columns: REJECTED_COLUMNS,
    body: (filtered, rejected) => [
      html`<p class="hint">Leads that do not match the service’s API description. No sink gets them. leadsync records and delivers each one when the service lists it without the fault. <a href=${RUNBOOK}>What to do about them</a></p>`,
      counted && faultTable(counted),
      html`<section>${table({
        name: 'Rejected leads',
        columns: columns.map((column) =>
          column.label === 'First rejected' ? sortedColumn(column, '/rejected', filtered) : column,
        ),
        rows: rejected.rows,
        key: ({ rejected_id }) => `rejected-${rejected_id}`,
        empty: emptyText(filtered, rejected, words),
      })}</section>`,
    ],
  };
}

const RUNBOOK = runbookAddress('docs/operating.md#leads-rejected');

/** Returns the number of rejected leads with each fault, most frequent first; null if all have the same fault, or each has its own. */
function faultTable({ count, faults }: RejectedCount): Content {
  if (faults.length < 2 || faults.every(({ leads }) => leads === 1)) return null;
  const others = count - faults.reduce((sum, { leads }) => sum + leads, 0);
  return html`<section>${table({
    name: 'Rejected leads by fault',
    columns: [
      { label: 'Source', of: ({ source }) => source },
      { label: 'Fault', of: faultOf, text: true },
      { label: 'Leads', of: ({ leads }) => printCount(leads), number: true },
    ],
    rows: faults,
    key: (fault) => `fault-${faults.indexOf(fault)}`,
    empty: null,
  })}${others > 0 && html`<p class="hint">${countOf(others, 'lead has', 'leads have')} other faults.</p>`}</section>`;
}

function faultOf({ path, reason }: Pick<RejectedRow, 'path' | 'reason'>): Content {
  return html`${path !== '' && html`<code><bdi>${path}</bdi></code> `}<bdi>${reason}</bdi>`;
}

/** Returns the start time of a poll that rejected a lead, linked to the poll. */
function atPoll(source: string, poll: number, at: string): VNode {
  return html`<a href=${pollAddress(source, poll)}>${moment(at)}</a>`;
}

/** Returns the whole text of a rejected lead, and what is known about its rejection. */
function shown(content: RejectedContent): VNode {
  const { raw, source, path, reason, state, resolved_at } = content;
  return html`<section class="whole">
    <p class="said"><bdi>${formattedText(path === '' ? reason : `\`${path}\`: ${reason}`)}</bdi></p>
    <dl class="facts">
      <div><dt>State</dt><dd>${badge(state, STATES[state])}</dd></div>
      <div><dt>First rejected</dt><dd>${atPoll(source, content.poll_id, content.rejected_at)}</dd></div>
      <div><dt>Last rejected</dt><dd>${atPoll(source, content.last_poll_id, content.last_rejected_at)}</dd></div>
      ${resolved_at && html`<div><dt>Resolved</dt><dd>${moment(resolved_at)}</dd></div>`}
    </dl>
    ${raw === '' ? html`<p class="empty">Its text was erased.</p>` : rawText(raw)}
    <p class="buttons"><a class="button" href=${withQuery('/rejected', { source, state: state === 'open' ? undefined : state })}>Back to the rejected leads</a> <a class="button" href=${RUNBOOK}>What to do about it</a></p>
  </section>`;
}

const words = {
  noMatch: 'No rejected lead matches.',
  noneYet: 'No rejected lead is open. Use State to show those that are no longer listed or are resolved.',
};

/** The filter of the page. Without a state, the page lists the open rejected leads, which are those that the overview counts. */
const Listed = RejectedFilter.extend({ state: RejectionState.or(z.literal('any')).optional() });
const Sorted = withOrder(Listed);

const STATES: Readonly<Record<RejectionState, string>> = {
  open: 'open',
  gone: 'no longer listed',
  resolved: 'resolved',
};

const stateField: Field = {
  name: 'state',
  label: 'State',
  none: STATES.open,
  unsaid: ['open'],
  choices: [
    ['gone', STATES.gone],
    ['resolved', STATES.resolved],
    ['any', 'any'],
  ],
};

const columns: readonly Column<RejectedRow>[] = [
  { label: 'Source', of: ({ source }) => source },
  { label: 'Lead', of: ({ lead_id }) => lead_id ?? '–', number: true },
  {
    label: 'Fault',
    of: faultOf,
    text: true,
  },
  { label: 'State', of: ({ state }) => badge(state, STATES[state]) },
  { label: 'First rejected', of: (row) => atPoll(row.source, row.poll_id, row.rejected_at) },
  { label: 'Last rejected', of: (row) => atPoll(row.source, row.last_poll_id, row.last_rejected_at) },
  { label: 'Resolved', of: (row) => moment(row.resolved_at) },
  {
    label: 'Actions',
    of: ({ rejected_id }) =>
      may('revealRejected') &&
      html`<form method="post" action=${rejectedAction(rejected_id)} class="actions"><button>Show the text</button></form>`,
  },
];
