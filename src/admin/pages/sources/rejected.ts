import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  REJECTED_COLUMNS,
  type RejectedContent,
  RejectedFilter,
  type RejectedRow,
  RejectionState,
} from '../../contract/rejected.ts';
import { may } from '../../contract/rights.ts';
import { type Field, sourceField } from '../lists/filters.ts';
import { addList } from '../lists/list-page.ts';
import { emptyText } from '../lists/pager.ts';
import { orderField, sortedColumn, withOrder } from '../lists/sorting.ts';
import { rejectedAction, withQuery } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import { markup } from '../parts/markup.ts';
import { rawText } from '../parts/raw-text.ts';
import { type AddPage, paramOf } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';
import { sourcesOf } from './source-state.ts';

/** Adds the page that lists the leads that leadsync could not record, and the page that shows the text of one of them. */
export const addRejected: AddPage = (app, site) => {
  addList(app, site, '/rejected', 'rejected', async () => ({
    name: 'Rejected',
    path: '/rejected',
    noun: 'rejected lead',
    fields: [sourceField((await sourcesOf(site)).sources), stateField, orderField],
    schema: withOrder(Listed),
    rows: ({ order, state = 'open', ...filter }, page) =>
      site.operations.rejected({ ...filter, state: state === 'any' ? undefined : state }, { ...page, order }),
    columns: REJECTED_COLUMNS,
    body: (filtered, rejected) => [
      html`<p class="hint">Leads that do not match the service’s API description. No sink gets them. leadsync records and delivers each one when the service lists it without the fault.</p>`,
      table({
        name: 'Rejected leads',
        columns: columns.map((column) =>
          column.label === 'First rejected' ? sortedColumn(column, '/rejected', filtered) : column,
        ),
        rows: rejected.rows,
        key: ({ rejected_id }) => `rejected-${rejected_id}`,
        empty: emptyText(filtered, rejected, words),
      }),
    ],
  }));
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

function shown({ raw, source, path, reason }: RejectedContent): VNode {
  return html`<section>
    <p class="said"><bdi>${markup(path === '' ? reason : `\`${path}\`: ${reason}`)}</bdi></p>
    ${raw === '' ? html`<p class="empty">Its text was erased.</p>` : rawText(raw)}
    <p class="buttons"><a class="button" href=${withQuery('/rejected', { source })}>Hide</a></p>
  </section>`;
}

const words = {
  noMatch: 'No rejected lead matches.',
  noneYet: 'No rejected lead is open. Use State to show those that are no longer listed or are resolved.',
};

/** The filter of the page. Without a state, the page lists the open rejected leads, which are those that the overview counts. */
const Listed = RejectedFilter.extend({ state: RejectionState.or(z.literal('any')).optional() });

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
    of: ({ path, reason }) =>
      html`${path !== '' && html`<code><bdi>${path}</bdi></code> `}<bdi>${reason}</bdi>`,
    text: true,
  },
  { label: 'State', of: ({ state }) => badge(state, STATES[state]) },
  { label: 'First rejected', of: (row) => moment(row.rejected_at) },
  { label: 'Last rejected', of: (row) => moment(row.last_rejected_at) },
  { label: 'Resolved', of: (row) => moment(row.resolved_at) },
  {
    label: 'Actions',
    of: ({ rejected_id }) =>
      may('revealRejected') &&
      html`<form method="post" action=${rejectedAction(rejected_id)} class="actions"><button>Show the text</button></form>`,
  },
];
