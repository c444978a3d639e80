import { html } from 'htm/preact';
import { type LeadRow, LeadSearch } from '../contract/leads.ts';
import { findForm } from './find-leads.ts';
import { leadAddress } from './parts/addresses.ts';
import type { Field } from './parts/filters.ts';
import { showList } from './parts/list-page.ts';
import { moment } from './parts/moment.ts';
import { emptyText, pageRequest, pager } from './parts/pager.ts';
import type { AddPage } from './parts/site.ts';
import { type Column, table } from './parts/table.ts';

/** Adds the page that lists and searches leads. */
export const addLeads: AddPage = (app, site) => {
  app.get('/leads', (request, reply) =>
    showList(site, request, reply, {
      name: 'Leads',
      path: '/leads',
      above: findForm(),
      fields,
      schema: LeadSearch,
      rows: (search, filtered) => site.operations.leads(search, pageRequest(filtered)),
      body: (search, leads) => [
        table({
          name: 'Leads',
          columns,
          rows: leads.rows,
          key: keyOf,
          empty: emptyText(search, leads, words),
        }),
        pager('/leads', search, leads),
      ],
    }),
  );
};

const words = {
  noMatch: 'No lead matches. The search compares whole ids and service slugs.',
  noneYet: 'No source has listed a lead yet.',
};

const fields: readonly Field[] = [
  { name: 'lead', label: 'Id', number: true },
  { name: 'service', label: 'Service' },
  { name: 'source', label: 'Source' },
  {
    name: 'listing',
    label: 'Listing',
    choices: [
      ['current', 'still listed'],
      ['gone', 'no longer listed'],
    ],
  },
  { name: 'since', label: 'First seen or gone since', time: true },
  { name: 'until', label: 'until', time: true },
];

const columns: readonly Column<LeadRow>[] = [
  {
    label: 'Lead',
    of: (lead) => html`<a href=${leadAddress(lead.source, lead.lead_id)}>${lead.lead_id}</a>`,
  },
  { label: 'Source', of: ({ source }) => source },
  { label: 'Service', of: (lead) => html`<bdi>${lead.service_slug ?? '–'}</bdi>`, text: true },
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

function keyOf({ source, lead_id }: LeadRow): string {
  return `lead-${source}-${lead_id}`;
}
