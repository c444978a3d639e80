import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printSpan } from '../../../platform/text/human-readable.ts';
import { DELIVERY_COLUMNS, DeliveryFilter, type DeliveryRow } from '../../contract/deliveries.ts';
import type { Page } from '../../contract/operations.ts';
import type { SinkOverview } from '../../contract/overview.ts';
import { may } from '../../contract/rights.ts';
import type { Order } from '../../contract/values.ts';
import type { ParsedFilter } from '../lists/filters.ts';
import { addList, type ListPage } from '../lists/list-page.ts';
import { emptyText } from '../lists/pager.ts';
import { orderOf, sortedColumn, withOrder } from '../lists/sorting.ts';
import { leadAddress, withQuery } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import { dialogAttributes } from '../parts/confirmation.ts';
import type { Content } from '../parts/content.ts';
import { nextAttempt, waitReason } from '../parts/next-attempt.ts';
import type { AddPage, Site } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';
import { attemptCount } from './attempt-count.ts';
import { answerButton, reasonAndAnswer } from './delivery-answers.ts';
import { fieldsFor } from './delivery-filter.ts';
import { countViews, type ViewCounts, views } from './delivery-views.ts';
import { discard } from './discard.ts';
import { reasonsLink } from './failure-reasons.ts';
import { retry } from './retry.ts';
import { reasonLine, sameReason } from './same-reason.ts';

/** The filter of the list, with its order. */
type Listed = DeliveryFilter & { readonly order?: Order | undefined };
type Filter = ParsedFilter<Listed>;

/** Adds the deliveries page, which lists pending, delivered, dead and skipped deliveries. */
export const addDeliveries: AddPage = (app, site) => {
  addList(app, site, '/deliveries', 'deliveries', (query) => listPage(site, query));
  app.post('/deliveries/retry', { config: { operation: 'retry' } }, (request, reply) =>
    retry(site, request, reply),
  );
  app.post('/deliveries/discard', { config: { operation: 'discard' } }, (request, reply) =>
    discard(site, request, reply),
  );
};

async function listPage(
  { operations }: Site,
  query: URLSearchParams,
): Promise<ListPage<Listed, DeliveryRow>> {
  const { sinks, sources } = await operations.overview();
  const order = orderOf({ input: Object.fromEntries(query) });
  // The page is built for each request, which counts before it shows.
  let counts: ViewCounts | undefined;
  return {
    name: 'Deliveries',
    path: '/deliveries',
    noun: 'delivery',
    above: reasonsLink,
    fields: fieldsFor({ sinks, sources }, query),
    schema: withOrder(DeliveryFilter),
    rows: (filter, page) => operations.deliveries(withoutOrder(filter), { ...page, order }),
    count: (filter) => operations.countDeliveries(withoutOrder(filter)),
    columns: DELIVERY_COLUMNS,
    intro: async (filtered) => {
      counts = filtered.filter && (await countViews(operations, withoutOrder(filtered.filter)));
      return views(filtered, counts);
    },
    problem: ({ input }) => (input['state'] === 'dead' ? 'deliveries_dead' : undefined),
    body: (filtered, deliveries) => body(filtered, deliveries, { sinks, counts, now: new Date() }),
  };
}

function withoutOrder({ order: _, ...filter }: Listed): DeliveryFilter {
  return filter;
}

function body(
  filtered: Filter,
  deliveries: Page<DeliveryRow>,
  {
    sinks,
    counts,
    now,
  }: {
    readonly sinks: readonly SinkOverview[];
    readonly counts: ViewCounts | undefined;
    readonly now: Date;
  },
): Content {
  const { input } = filtered;
  const reason = sameReason(deliveries.rows);
  const columns = [...columnsFor(sinks, filtered, now), reason === undefined ? reasonColumn : answerColumn];
  const empty = emptyText(filtered, deliveries, words);
  const rows = [
    reason !== undefined && reasonLine(deliveries.rows, reason),
    table({ name: 'Deliveries', columns, rows: deliveries.rows, key: keyOf, empty, compact: true }),
  ];
  if (!canSelect()) return html`<div class="rows">${rows}</div>`;
  return html`<form method="post" action=${withQuery('/deliveries/retry', input)} class="rows" data-select>
    ${deliveries.rows.length > 0 && buttons(input, mayHaveDead(counts))}
    ${rows}
  </form>`;
}

const words = { noMatch: 'No delivery matches.', noneYet: 'There are no deliveries yet.' };

/** Whether deliveries that match the filter may be dead. */
function mayHaveDead(counts: ViewCounts | undefined): boolean {
  return counts === undefined || counts.dead.count > 0 || counts.dead.isAtLeast;
}

function buttons(input: Filter['input'], hasDead: boolean): VNode {
  const state = input['state'];
  const action = withQuery('/deliveries/retry', input);
  const discardAction = withQuery('/deliveries/discard', input);
  const retryable = state === undefined ? hasDead : state !== 'delivered' && state !== 'skipped';
  const all = `Retry all ${state ?? 'dead'}…`;
  const discardable = (state === undefined || state === 'undelivered' || state === 'dead') && hasDead;
  return html`<p class="buttons selecting">
    ${may('retry') && html`<button data-needs-selection ...${dialogAttributes(action)}>Retry selected…</button>`}
    ${may('retry') && retryable && html`<button name="all" value="yes" ...${dialogAttributes(action)}>${all}</button>`}
    ${
      may('discard') &&
      discardable &&
      html`<button data-needs-selection formaction=${discardAction} ...${dialogAttributes(discardAction)}>Discard selected…</button>
        <button name="all" value="yes" formaction=${discardAction} ...${dialogAttributes(discardAction)}>Discard all dead…</button>`
    }
    <span class="hint" data-selected></span>
  </p>`;
}

const columnsFor = (
  sinks: readonly SinkOverview[],
  filtered: Filter,
  now: Date,
): readonly Column<DeliveryRow>[] => [
  ...(canSelect() ? [selectColumn] : []),
  { label: 'Lead', of: (row) => html`<a href=${leadAddress(row.source, row.lead_id)}>${row.lead_id}</a>` },
  { label: 'Source', of: ({ source }) => source },
  { label: 'Sink', of: ({ sink }) => sink },
  { label: 'Event', of: ({ event, replay }) => `${event}${replay ? ', replay' : ''}`, wide: true },
  { label: 'State', of: ({ state }) => badge(state) },
  { label: 'Attempts', of: attemptCount, number: true },
  { label: 'HTTP status', of: ({ last_http_status: status }) => status ?? NONE, number: true },
  {
    label: 'Duration',
    of: ({ last_duration_ms: ms }) => (ms === null ? NONE : printSpan(ms)),
    number: true,
    wide: true,
  },
  sortedColumn({ label: 'Owed', of: (row) => moment(row.owed_at), number: true }, '/deliveries', filtered),
  { label: 'Settled or next', of: (row) => settledOrNext(row, sinks, now), number: true },
];

const reasonColumn: Column<DeliveryRow> = {
  label: 'Reason',
  of: (row) => reasonAndAnswer(row.reason, row, canSelect()),
  text: true,
};

/** Replaces the reasons if all rows have the same one. */
const answerColumn: Column<DeliveryRow> = {
  label: 'Actions',
  of: (row) => html`<div class="actions">${answerButton(row, canSelect())}</div>`,
};

const NONE = html`<span class="none">–</span>`;

/** Returns when a delivery was settled or, while it is pending, what it waits for. */
function settledOrNext(row: DeliveryRow, sinks: readonly SinkOverview[], now: Date): Content {
  if (row.settled_at !== null) return moment(row.settled_at);
  return waitReason(row, sinks, now) ?? nextAttempt(row, now, sinks);
}

/** Whether the reader may do anything with selected rows. */
function canSelect(): boolean {
  return may('retry') || may('discard');
}

const selectColumn: Column<DeliveryRow> = {
  label: 'Select',
  // A script inserts a checkbox here that selects all rows. Live updates leave it unchanged.
  heading: html`<span data-select-all hx-morph-skip>Select</span>`,
  of: selectBox,
};

/** Returns a checkbox for a dead, pending or discarded delivery; other deliveries cannot be retried. */
function selectBox({ delivery_id, lead_id, sink, state, discarded }: DeliveryRow): Content {
  if (state !== 'dead' && state !== 'pending' && !discarded) return null;
  const label = `Select lead ${lead_id} for ${sink}`;
  return html`<input type="checkbox" name="delivery" value=${delivery_id} id=${`select-${delivery_id}`} aria-label=${label} />`;
}

function keyOf({ delivery_id }: DeliveryRow): string {
  return `delivery-${delivery_id}`;
}
