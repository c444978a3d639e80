import type { PipedriveOptions } from './options.ts';

/** A request to Pipedrive. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** How many of the company's daily API tokens it costs (`x-token-cost` in the vendor's OpenAPI description). */
  readonly tokens: number;
}

/**
 * The requests that the sink makes. Leads, notes, users and lead labels exist only in v1; everything else is in v2
 * (https://developers.pipedrive.com/docs/api/v1, https://developers.pipedrive.com/docs/api/v2).
 */
export const calls = {
  searchItems: { method: 'GET', path: '/api/v2/itemSearch', tokens: 20 },
  searchPersons: { method: 'GET', path: '/api/v2/persons/search', tokens: 20 },
  listPersons: { method: 'GET', path: '/api/v2/persons', tokens: 10 },
  readPerson: { method: 'GET', path: '/api/v2/persons/{id}', tokens: 1 },
  makePerson: { method: 'POST', path: '/api/v2/persons', tokens: 5 },
  changePerson: { method: 'PATCH', path: '/api/v2/persons/{id}', tokens: 5 },
  deletePerson: { method: 'DELETE', path: '/api/v2/persons/{id}', tokens: 3 },
  listLeads: { method: 'GET', path: '/api/v1/leads', tokens: 20 },
  readLead: { method: 'GET', path: '/api/v1/leads/{id}', tokens: 2 },
  listArchivedLeads: { method: 'GET', path: '/api/v1/leads/archived', tokens: 40 },
  makeLead: { method: 'POST', path: '/api/v1/leads', tokens: 10 },
  changeLead: { method: 'PATCH', path: '/api/v1/leads/{id}', tokens: 10 },
  deleteLead: { method: 'DELETE', path: '/api/v1/leads/{id}', tokens: 6 },
  listDeals: { method: 'GET', path: '/api/v2/deals', tokens: 10 },
  readDeal: { method: 'GET', path: '/api/v2/deals/{id}', tokens: 1 },
  listArchivedDeals: { method: 'GET', path: '/api/v2/deals/archived', tokens: 20 },
  makeDeal: { method: 'POST', path: '/api/v2/deals', tokens: 5 },
  changeDeal: { method: 'PATCH', path: '/api/v2/deals/{id}', tokens: 5 },
  deleteDeal: { method: 'DELETE', path: '/api/v2/deals/{id}', tokens: 3 },
  listNotes: { method: 'GET', path: '/api/v1/notes', tokens: 20 },
  makeNote: { method: 'POST', path: '/api/v1/notes', tokens: 10 },
  deleteNote: { method: 'DELETE', path: '/api/v1/notes/{id}', tokens: 6 },
  listPersonFields: { method: 'GET', path: '/api/v2/personFields', tokens: 10 },
  makePersonField: { method: 'POST', path: '/api/v2/personFields', tokens: 5 },
  listDealFields: { method: 'GET', path: '/api/v2/dealFields', tokens: 10 },
  makeDealField: { method: 'POST', path: '/api/v2/dealFields', tokens: 5 },
  listPipelines: { method: 'GET', path: '/api/v2/pipelines', tokens: 5 },
  listStages: { method: 'GET', path: '/api/v2/stages', tokens: 5 },
  listUsers: { method: 'GET', path: '/api/v1/users', tokens: 20 },
  listLeadLabels: { method: 'GET', path: '/api/v1/leadLabels', tokens: 10 },
} as const satisfies Record<string, Call>;

/** Returns the number of tokens that a lead of a new person costs. */
export function tokensOfLead(object: 'lead' | 'deal' | 'none', hasNote: boolean): number {
  const record = { lead: calls.makeLead.tokens, deal: calls.makeDeal.tokens, none: 0 }[object];
  const note = hasNote ? calls.makeNote.tokens : 0;
  return calls.searchPersons.tokens + calls.makePerson.tokens + record + note;
}

/** Returns the number of tokens that a lead of a new person costs with these options. */
export function costOf({ object, note, standard_fields: hasFields }: PipedriveOptions): number {
  return tokensOfLead(object, note && hasFields);
}
