import { html } from 'htm/preact';
import { LEAD_COLUMNS, type LeadRow, LeadSearch } from '../../contract/leads.ts';
import { may } from '../../contract/rights.ts';
import { type Field, type ParsedFilter, sourceField } from '../lists/filters.ts';
import { addList } from '../lists/list-page.ts';
import { emptyText } from '../lists/pager.ts';
import { orderField, sortedColumn, withOrder } from '../lists/sorting.ts';
import { leadAddress, replayAddress, withQuery } from '../parts/addresses.ts';
import type { Content } from '../parts/content.ts';
import type { AddPage, Site } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';
import { sourcesOf } from '../sources/source-state.ts';
import { findForm } from './find-leads.ts';

/** Adds the page that lists and searches leads. */
export const addLeads: AddPage = (app, site) => {
  addList(app, site, '/leads', 'leads', async () => ({
    name: 'Leads',
    path: '/leads',
    noun: 'lead',
    above: may('findLeads') && findForm(),
    fields: await fieldsFor(site),
    schema: withOrder(LeadSearch),
    rows: ({ order, ...search }, page) => site.operations.leads(search, { ...page, order }),
    // Counting would read the deliveries of every lead.
    count: async ({ order: _, ...search }) =>
      search.delivered === undefined ? site.operations.countLeads(search) : undefined,
    columns: LEAD_COLUMNS,
    body: (filtered, leads) => [
      leads.rows.length > 0 && toReplay(filtered),
      table({
        name: 'Leads',
        columns: columnsFor(filtered),
        rows: leads.rows,
        key: keyOf,
        empty: emptyText(filtered, leads, words),
        compact: true,
      }),
    ],
  }));
};

const words = {
  noMatch: 'No lead matches. The search compares whole ids and service slugs.',
  noneYet: 'No source has listed a lead yet.',
};

/** Returns the fields of the filter. Without suggestions, the field for the service still takes any text. */
async function fieldsFor(site: Site): Promise<readonly Field[]> {
  const [{ sources }, suggestions] = await Promise.all([
    sourcesOf(site),
    site.operations.services().catch(() => []),
  ]);
  return [
    { name: 'lead', label: 'Id', number: true },
    { name: 'service', label: 'Service', suggestions },
    sourceField(sources),
    ...otherFields,
  ];
}

const otherFields: readonly Field[] = [
  {
    name: 'listing',
    label: 'Listing',
    choices: [
      ['current', 'still listed'],
      ['gone', 'no longer listed'],
    ],
  },
  {
    name: 'delivered',
    label: 'Delivered',
    choices: [
      ['everywhere', 'everywhere'],
      ['not-everywhere', 'not everywhere'],
    ],
  },
  { name: 'since', label: 'First seen or gone since', time: true },
  { name: 'until', label: 'First seen or gone until', time: true },
  orderField,
];

const columns: readonly Column<LeadRow>[] = [
  {
    label: 'Lead',
    of: (lead) => html`<a href=${leadAddress(lead.source, lead.lead_id)}>${lead.lead_id}</a>`,
  },
  { label: 'Source', of: ({ source }) => source },
  { label: 'Service', of: (lead) => html`<bdi>${lead.service_slug ?? '–'}</bdi>`, text: true },
  { label: 'Delivered', of: deliveredOf },
  { label: 'First seen', of: (lead) => moment(lead.first_seen_at), number: true },
  { label: 'Created', of: (lead) => moment(lead.created_at), number: true },
  {
    label: 'Changed',
    of: (lead) => (lead.version > 1 ? moment(lead.changed_at) : html`<span class="none">–</span>`),
    number: true,
  },
  {
    label: 'Gone since',
    of: (lead) => (lead.gone_at ? moment(lead.gone_at) : html`<span class="none">–</span>`),
    number: true,
  },
  { label: 'Version', of: ({ version }) => version, number: true },
];

/** Returns a link to the form that replays the leads that match the filter, if that form can select the same leads. */
function toReplay({ input, filter }: ParsedFilter<LeadSearch>): Content {
  const { source, lead, since, until } = input;
  // The list compares `since` with when a lead was first seen; a replay also sends leads that have changed since.
  const { service, listing, delivered } = filter ?? {};
  const isSame = (service ?? listing ?? delivered ?? since) === undefined;
  if (!isSame || !may('replayAll')) return null;
  const which = (source ?? lead ?? until) ? undefined : 'all';
  return html`<p class="summary"><a href=${replayAddress({ source, lead, until, which })}>Replay these leads to a sink…</a></p>`;
}

/**
 * Returns the columns. The list is sorted by the time when leads were first seen or, if it lists leads that are gone, by the time when they
 * disappeared. With a service in the filter, it is sorted by the time when leads came to that service, which no column shows.
 */
function columnsFor(filtered: ParsedFilter<unknown>): readonly Column<LeadRow>[] {
  if (filtered.input['service']) return columns;
  const sorted = filtered.input['listing'] === 'gone' ? 'Gone since' : 'First seen';
  return columns.map((column) =>
    column.label === sorted ? sortedColumn(column, '/leads', filtered) : column,
  );
}

/** Returns the numbers of sinks that the lead was owed to, that have it, and for which it is dead, linked to its deliveries unless all have it. */
function deliveredOf({ source, lead_id, sinks, sinks_delivered, sinks_dead }: LeadRow): Content {
  if (sinks === 0) return html`<span class="none">–</span>`;
  const words = `${sinks_delivered} of ${sinks}`;
  if (sinks_delivered === sinks) return words;
  const dead = sinks_dead > 0 && html`, <span class="dead">${sinks_dead} dead</span>`;
  return html`<a href=${withQuery('/deliveries', { source, lead: lead_id })}>${words}${dead}</a>`;
}

function keyOf({ source, lead_id }: LeadRow): string {
  return `lead-${source}-${lead_id}`;
}
