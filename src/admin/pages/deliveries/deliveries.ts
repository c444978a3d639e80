import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import {
  DELIVERY_COLUMNS,
  DeliveryFilter,
  type DeliveryRow,
  SelectedState,
} from '../../contract/deliveries.ts';
import { MAX_COUNTED, MAX_NOTE, type Page } from '../../contract/operations.ts';
import type { Overview, SinkOverview } from '../../contract/overview.ts';
import { may } from '../../contract/rights.ts';
import type { Order } from '../../contract/values.ts';
import {
  type Field,
  filterText,
  type ParsedFilter,
  queryOf,
  readFilter,
  sourceField,
} from '../lists/filters.ts';
import { addList, type ListPage } from '../lists/list-page.ts';
import { emptyText } from '../lists/pager.ts';
import { orderField, sortedColumn, withOrder } from '../lists/sorting.ts';
import { leadAddress, withQuery } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import { dialogAttributes } from '../parts/confirmation.ts';
import type { Content } from '../parts/content.ts';
import { nextAttempt, waitReason } from '../parts/next-attempt.ts';
import { type AddPage, fieldsOf, type Site } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';
import { attemptCount } from './attempt-count.ts';
import { reasonAndAnswer } from './delivery-answers.ts';

/** The filter of the list, with its order. */
type Listed = DeliveryFilter & { readonly order?: Order | undefined };
type Filter = ParsedFilter<Listed>;

/** Adds the deliveries page, which lists pending, delivered, dead and skipped deliveries. */
export const addDeliveries: AddPage = (app, site) => {
  addList(app, site, '/deliveries', 'deliveries', () => listPage(site));
  app.post('/deliveries/retry', { config: { operation: 'retry' } }, (request, reply) => {
    const selected = fieldsOf(request).getAll('delivery');
    return selected.length > 0
      ? retrySelected(site, request, reply, selected)
      : retryMatching(site, request, reply);
  });
  app.post('/deliveries/discard', { config: { operation: 'discard' } }, (request, reply) =>
    discard(site, request, reply),
  );
};

async function listPage({ operations }: Site): Promise<ListPage<Listed, DeliveryRow>> {
  const { sinks, sources } = await operations.overview();
  return {
    name: 'Deliveries',
    path: '/deliveries',
    noun: 'delivery',
    fields: fieldsFor({ sinks, sources }),
    schema: withOrder(DeliveryFilter),
    rows: ({ order, ...filter }, page) => operations.deliveries(filter, { ...page, order }),
    count: ({ order: _, ...filter }) => operations.countDeliveries(filter),
    columns: DELIVERY_COLUMNS,
    body: (filtered, deliveries) => body(filtered, deliveries, columnsFor(sinks, filtered, new Date())),
  };
}

function fieldsFor({ sinks, sources }: Pick<Overview, 'sinks' | 'sources'>): readonly Field[] {
  return [
    { name: 'sink', label: 'Sink', choices: sinks.map(({ sink }) => [sink, sink] as const) },
    {
      name: 'state',
      label: 'State',
      choices: SelectedState.options.map((state) => [state, state] as const),
    },
    { name: 'lead', label: 'Lead', number: true },
    sourceField(sources),
    { name: 'reason', label: 'Reason or HTTP status' },
    { name: 'since', label: 'Owed since', time: true },
    { name: 'until', label: 'Owed until', time: true },
    { name: 'delivered_since', label: 'Delivered since', time: true },
    { name: 'delivered_until', label: 'Delivered until', time: true },
    orderField,
  ];
}

function body(
  filtered: Filter,
  deliveries: Page<DeliveryRow>,
  columns: readonly Column<DeliveryRow>[],
): Content {
  const { input } = filtered;
  const empty = emptyText(filtered, deliveries, words);
  const rows = table({ name: 'Deliveries', columns, rows: deliveries.rows, key: keyOf, empty });
  if (!canSelect()) return html`<div class="rows">${rows}</div>`;
  return html`<form method="post" action=${withQuery('/deliveries/retry', input)} class="rows" data-select>
    ${deliveries.rows.length > 0 && buttons(input)}
    ${rows}
  </form>`;
}

const words = { noMatch: 'No delivery matches.', noneYet: 'There are no deliveries yet.' };

function buttons(input: Filter['input']): VNode {
  const state = input['state'];
  const action = withQuery('/deliveries/retry', input);
  const discardAction = withQuery('/deliveries/discard', input);
  const retryable = state === undefined || state === 'dead' || state === 'pending' || state === 'discarded';
  const all = `Retry all ${state ?? 'dead'}…`;
  const discardable = state === undefined || state === 'dead';
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
  { label: 'Event', of: ({ event, replay }) => `${event}${replay ? ', replay' : ''}` },
  { label: 'State', of: ({ state }) => badge(state) },
  { label: 'Attempts', of: attemptCount, number: true },
  sortedColumn({ label: 'Owed', of: (row) => moment(row.owed_at), number: true }, '/deliveries', filtered),
  { label: 'Settled', of: (row) => moment(row.settled_at), number: true },
  { label: 'Next attempt', of: (row) => waitReason(row, sinks, now) ?? nextAttempt(row, now), number: true },
  { label: 'Reason', of: (row) => reasonAndAnswer(row.reason, row, canSelect()), text: true },
];

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

async function retrySelected(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  selected: readonly string[],
): Promise<FastifyReply> {
  const back = withQuery('/deliveries', Object.fromEntries(queryOf(request)));
  if (fieldsOf(request).has('all')) return retryMatching(site, request, reply);
  if (!fieldsOf(request).has('sure')) {
    return site.confirm(request, reply, {
      ...retryAsk(countOf(selected.length, 'selected delivery'), back),
      fields: selected.map((delivery) => ['delivery', delivery] as const),
    });
  }
  let count = 0;
  for (const delivery of selected) count += await site.operations.retry({ delivery });
  return site.done(reply, back, retryNotice(count));
}

async function retryMatching(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = queryOf(request);
  const back = withQuery('/deliveries', Object.fromEntries(query));
  const fields = fieldsOf(request);
  if (!fields.has('all'))
    return site.done(reply, back, { kind: 'bad', text: 'Nothing was retried: no row is selected.' });
  const filterFields = fieldsFor(await site.operations.overview());
  const filtered = readFilter(query, filterFields, DeliveryFilter, new Date());
  const { filter } = filtered;
  if (filter === undefined)
    return site.done(reply, back, { kind: 'bad', text: 'Nothing was retried: the filter is not valid.' });
  const selection = { ...filter, state: filter.state ?? 'dead' };
  if (fields.has('sure')) return site.done(reply, back, retryNotice(await site.operations.retry(selection)));
  const count = await site.operations.countDeliveries(selection);
  const words = `${count >= MAX_COUNTED ? 'at least ' : ''}${countOf(count, `${selection.state} delivery`)}`;
  const scope = scopeText(filterFields, filtered);
  return site.confirm(request, reply, {
    ...retryAsk(words, back, { count, scope }),
    fields: [['all', 'yes']],
  });
}

/** Describes the deliveries to which an action on everything in a filter applies, because a dialog may cover the filter. */
function scopeText(fields: readonly Field[], filtered: Pick<Filter, 'input'>): string {
  const text = filterText(fields, filtered);
  return text === '' ? 'No filter is set: this applies to every sink and source. ' : `Filter: ${text}. `;
}

function retryAsk(
  words: string,
  back: string,
  { count, scope }: { readonly count: number; readonly scope: string } = { count: 1, scope: '' },
) {
  if (count === 0)
    return {
      title: 'Retry deliveries',
      question: 'There is nothing to retry',
      consequences: `The filter matches ${words}.`,
      back,
    };
  const consequences = `${scope}They are due immediately. A receiver recognises a repeat by the idempotency key, which changes only with the mapping. Deliveries to a held or paused sink still wait.`;
  return {
    title: 'Retry deliveries',
    question: `Retry ${words}?`,
    consequences,
    confirmLabel: `Retry ${words}`,
    back,
  };
}

/** Asks for a note, then discards the selected deliveries, or all dead ones that match the filter in the address. */
async function discard(site: Site, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const query = queryOf(request);
  const back = withQuery('/deliveries', Object.fromEntries(query));
  const fields = fieldsOf(request);
  const refuse = (text: string) =>
    site.done(reply, back, { kind: 'bad', text: `Nothing was discarded: ${text}.` });
  const selected = fields.has('all') ? [] : fields.getAll('delivery');
  if (selected.length === 0 && !fields.has('all')) return refuse('no row is selected');
  const fieldsOfFilter = fieldsFor(await site.operations.overview());
  const filtered = readFilter(query, fieldsOfFilter, DeliveryFilter, new Date());
  const { filter } = filtered;
  if (filter === undefined) return refuse('the filter is not valid');
  const chosen = selected.length > 0 ? { ids: selected } : { ...filter, state: 'dead' as const };
  if (fields.has('sure')) {
    const note = fields.get('note')?.trim() ?? '';
    if (note === '' || note.length > MAX_NOTE)
      return refuse(`enter a note of at most ${MAX_NOTE} characters`);
    const count = await site.operations.discard(chosen, note);
    if (count === 0) return refuse('none of the deliveries is dead any more');
    return site.done(reply, back, {
      kind: 'good',
      text: `${countOf(count, 'delivery is', 'deliveries are')} discarded.`,
    });
  }
  const count =
    selected.length > 0
      ? selected.length
      : await site.operations.countDeliveries({ ...filter, state: 'dead' });
  const most = selected.length === 0 && count >= MAX_COUNTED ? 'at least ' : '';
  const words = `${most}${countOf(count, selected.length > 0 ? 'selected delivery' : 'dead delivery')}`;
  return site.confirm(request, reply, {
    ...discardAsk(words, { count, scope: selected.length > 0 ? '' : scopeText(fieldsOfFilter, filtered) }),
    back,
    fields:
      selected.length > 0 ? selected.map((delivery) => ['delivery', delivery] as const) : [['all', 'yes']],
  });
}

function discardAsk(words: string, { count, scope }: { readonly count: number; readonly scope: string }) {
  const title = 'Discard deliveries';
  if (count === 0)
    return { title, question: 'There is nothing to discard', consequences: `The filter matches ${words}.` };
  return {
    title,
    question: `Discard ${words}?`,
    consequences: `${scope}Dead deliveries become skipped and no longer count as dead. Others stay as they are. A retry can bring them back.`,
    confirmLabel: `Discard ${words}`,
    form: html`<p class="field"><label for="note">Note (shown as the reason; write no personal data)</label>
      <input id="note" name="note" required maxlength=${MAX_NOTE} autocomplete="off" autofocus /></p>`,
  };
}

function retryNotice(count: number) {
  return count === 0
    ? ({
        kind: 'bad',
        text: 'Nothing was retried: none of the deliveries is still dead or pending.',
      } as const)
    : ({ kind: 'good', text: `${countOf(count, 'delivery is', 'deliveries are')} due now.` } as const);
}
