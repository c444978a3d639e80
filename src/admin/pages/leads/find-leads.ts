import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import type { FoundLeads } from '../../contract/leads.ts';
import { RequestError } from '../../contract/request-error.ts';
import { errorText } from '../lists/filters.ts';
import { leadAddress } from '../parts/addresses.ts';
import type { Content } from '../parts/content.ts';
import { type AddPage, fieldsOf, type Site } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';

const ROWS = 50;
const PATH = '/leads/find';

/**
 * Adds the page that finds leads by the client's name, email address or phone number. Its form posts, so that no address contains personal data,
 * because servers and proxies log addresses and browsers keep them in their history.
 */
export const addFindLeads: AddPage = (app, site) => {
  app.get(PATH, { config: { operation: 'findLeads' } }, (request, reply) =>
    show(site, request, reply, { text: '' }),
  );
  app.post(PATH, { config: { operation: 'findLeads' } }, (request, reply) => find(site, request, reply));
};

/** Returns the form that finds leads by their client. */
export function findForm(text = ''): VNode {
  return html`<form class="filter" method="post" action=${PATH} role="search" aria-label="Find a person">
    <p class="field wide">
      <label for="find-text">Name, email address or phone number</label>
      <input id="find-text" name="text" value=${text} required minlength="2" maxlength="200" autocomplete="off" spellcheck=${false}
        aria-describedby="find-hint" />
      <small id="find-hint" class="hint">Part of it is enough. The audit log records each reader.</small>
    </p>
    <p class="buttons"><button class="primary">Find</button></p>
  </form>`;
}

interface Answer {
  readonly text: string;
  readonly body?: Content;
  readonly status?: number;
}

async function find(site: Site, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const fields = fieldsOf(request);
  const text = fields.get('text')?.trim() ?? '';
  const after = fields.get('after') ?? undefined;
  try {
    const found = await site.operations.findLeads({ text }, { limit: ROWS, after });
    return await show(site, request, reply, { text, body: results(found, text, after !== undefined) });
  } catch (error) {
    if (!(error instanceof RequestError) || error.status >= 500) throw error;
    return show(site, request, reply, { text, body: errorText(error), status: error.status });
  }
}

function show(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  { text, body, status }: Answer,
): Promise<FastifyReply> {
  return site.show(request, reply, {
    title: 'Find a person',
    name: 'Leads',
    still: [findForm(text), body],
    address: PATH,
    ...(status === undefined ? {} : { status }),
  });
}

function results({ rows, next, searched_until }: FoundLeads, text: string, isOlder: boolean): VNode {
  const count = countOf(rows.length, isOlder ? 'older lead' : 'lead');
  const extent =
    next === null
      ? 'All lead versions were searched.'
      : html`Only lead versions recorded since ${moment(searched_until)} were searched.`;
  return html`<section aria-label="Results">
    <p role="status">${count}. ${extent}</p>
    ${rows.length > 0 && table({ name: 'Found leads', columns, rows, key: keyOf, empty: null })}
    ${
      next !== null &&
      html`<form method="post" action=${PATH} class="pager">
        <input type="hidden" name="text" value=${text} /><input type="hidden" name="after" value=${next} />
        <button>Search older leads</button>
      </form>`
    }
  </section>`;
}

type Row = FoundLeads['rows'][number];

const columns: readonly Column<Row>[] = [
  {
    label: 'Name',
    of: (row) =>
      html`<a href=${leadAddress(row.source, row.lead_id)}><bdi>${row.client_name ?? '–'}</bdi></a>`,
    text: true,
  },
  { label: 'Email address', of: (row) => html`<bdi>${row.client_email ?? '–'}</bdi>`, text: true },
  { label: 'Phone number', of: (row) => html`<bdi>${row.client_phone_number ?? '–'}</bdi>`, text: true },
  { label: 'Service', of: (row) => html`<bdi>${row.service_slug ?? '–'}</bdi>`, text: true },
  { label: 'First seen', of: (row) => moment(row.first_seen_at), number: true },
  { label: 'Source', of: ({ source }) => source },
  { label: 'Lead', of: ({ lead_id }) => lead_id, number: true },
  { label: 'Version', of: (row) => versionOf(row), number: true },
];

/** Returns the number of the version that matches, with the number of the current version if that is newer. */
function versionOf({ matched_version: matched, version }: Row): string {
  return matched === version ? String(version) : `${matched} of ${version}`;
}

function keyOf({ source, lead_id }: Row): string {
  return `found-${source}-${lead_id}`;
}
