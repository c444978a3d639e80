import type { AccountFields } from './account-fields.ts';
import type { RecordOwner } from './build-records.ts';
import { type Call, calls } from './calls.ts';
import { idOf } from './find-persons.ts';
import { KEY } from './options.ts';
import type { Limits, PipedriveApi } from './pipedrive-api.ts';
import { type Json, objectOf, textOf } from './read-answer.ts';

/** A lead or deal that Pipedrive has. */
export interface ExistingRecord {
  readonly object: RecordOwner;
  readonly id: string;
  /** Whether nothing can change it any more through the API. */
  readonly isArchived: boolean;
  readonly record: Json;
}

/** A list in which a record can be. */
interface Place {
  readonly call: Call;
  readonly object: RecordOwner;
  readonly isArchived: boolean;
}

const LEADS: Place = { call: calls.listLeads, object: 'lead', isArchived: false };
const ARCHIVED_LEADS: Place = { call: calls.listArchivedLeads, object: 'lead', isArchived: true };
const DEALS: Place = { call: calls.listDeals, object: 'deal', isArchived: false };
const ARCHIVED_DEALS: Place = { call: calls.listArchivedDeals, object: 'deal', isArchived: true };

/** Where the records of an object can be, the likeliest and cheapest first. A salesperson converts a lead into a deal, with its key. */
const PLACES: Readonly<Record<RecordOwner, readonly Place[]>> = {
  lead: [LEADS, DEALS, ARCHIVED_LEADS, ARCHIVED_DEALS],
  deal: [DEALS, ARCHIVED_DEALS],
};

/**
 * Returns the records of a person that have these keys, by key. Reads lists, which follow the records at once, and no more of them than it
 * needs. @throws SinkUnavailable
 */
export async function findRecords(
  api: PipedriveApi,
  object: RecordOwner,
  { personId, keys, fields }: { personId: string; keys: Iterable<string>; fields: AccountFields },
  limits: Limits,
): Promise<ReadonlyMap<string, ExistingRecord>> {
  const wanted = new Set(keys);
  const found = new Map<string, ExistingRecord>();
  for (const place of PLACES[object]) {
    if (found.size === wanted.size) break;
    for await (const [key, record] of recordsIn(api, place, { person_id: personId }, fields, limits))
      if (wanted.has(key) && !found.has(key)) found.set(key, record);
  }
  return found;
}

/** Returns every record of an object that has a key of leadsync, with that key. @throws SinkUnavailable */
export async function* allRecords(
  api: PipedriveApi,
  object: RecordOwner,
  fields: AccountFields,
  limits: Limits,
): AsyncIterable<readonly [key: string, record: ExistingRecord]> {
  for (const place of PLACES[object]) yield* recordsIn(api, place, {}, fields, limits);
}

async function* recordsIn(
  api: PipedriveApi,
  { call, object, isArchived }: Place,
  query: Readonly<Record<string, string>>,
  fields: AccountFields,
  limits: Limits,
): AsyncIterable<readonly [key: string, record: ExistingRecord]> {
  const code = (fields.get('lead', KEY) ?? fields.get('deal', KEY))?.code ?? '';
  for await (const record of api.list(call, query, limits)) {
    const id = idOf(record);
    const key = textOf(customOf(object, record)[code]) || textOf(record['origin_id']);
    if (id !== undefined && key) yield [key, { object, id, isArchived, record }];
  }
}

/** Returns the values of custom fields in a record by their codes: leads of v1 have them beside their own. */
export function customOf(object: RecordOwner | 'person', record: Json): Json {
  return object === 'lead' ? record : (objectOf(record['custom_fields']) ?? {});
}
