import type { Json } from '../http/json-answer.ts';
import type { AccountFields } from './account-fields.ts';
import type { RecordOwner } from './build-records.ts';
import { type Call, calls } from './calls.ts';
import type { Limits, PipedriveApi } from './pipedrive-api.ts';
import { idOf } from './read-answer.ts';
import { keysOf, recordsWithKey } from './search-key.ts';

/** A lead or deal that Pipedrive has. */
export interface ExistingRecord {
  readonly object: RecordOwner;
  readonly id: string;
  /** Whether it is archived, so that the API can no longer change it. */
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

/**
 * The lists in which the records of an object can be, the likeliest and cheapest first. A salesperson may convert a lead into a deal, which keeps
 * its key.
 */
const PLACES: Readonly<Record<RecordOwner, readonly Place[]>> = {
  lead: [LEADS, DEALS, ARCHIVED_LEADS, ARCHIVED_DEALS],
  deal: [DEALS, ARCHIVED_DEALS],
};

/**
 * Returns the records with these keys, by key. Reads the person's lists, which show changes immediately, and no more of them than necessary.
 * Searches the company for the rest, because people assign leads to other persons. @throws SinkUnavailable
 */
export async function findRecords(
  api: PipedriveApi,
  object: RecordOwner,
  { personId, keys, fields }: { personId: string; keys: readonly string[]; fields: AccountFields },
  limits: Limits,
): Promise<ReadonlyMap<string, ExistingRecord>> {
  const wanted = new Set(keys);
  const found = new Map<string, ExistingRecord>();
  for (const place of PLACES[object]) {
    if (found.size === wanted.size) break;
    for await (const [key, record] of recordsIn(api, place, { person_id: personId }, fields, limits))
      if (wanted.has(key) && !found.has(key)) found.set(key, record);
  }
  for (const key of wanted) {
    if (found.has(key)) continue;
    const [record] = await searchRecords(api, key, fields, limits);
    if (record) found.set(key, record);
  }
  return found;
}

/** Returns the keys of every lead and deal of a person. @throws SinkUnavailable */
export async function keysOfPerson(
  api: PipedriveApi,
  object: RecordOwner,
  { personId, fields }: { personId: string; fields: AccountFields },
  limits: Limits,
): Promise<readonly string[]> {
  const keys: string[] = [];
  for (const place of PLACES[object])
    for await (const [key] of recordsIn(api, place, { person_id: personId }, fields, limits)) keys.push(key);
  return keys;
}

/** Searches the company for the leads and deals with a key. @throws SinkUnavailable */
async function searchRecords(
  api: PipedriveApi,
  key: string,
  fields: AccountFields,
  limits: Limits,
): Promise<readonly ExistingRecord[]> {
  const found = await recordsWithKey(api, key, { types: ['lead', 'deal'], fields, limits });
  return found.flatMap(({ object, id, record }) =>
    object === 'person' ? [] : [{ object, id, record, isArchived: record['is_archived'] === true }],
  );
}

/** Returns every record of an object that has one of leadsync's keys, with that key. @throws SinkUnavailable */
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
  for await (const record of api.list(call, query, limits)) {
    const id = idOf(record);
    const [key] = keysOf(object, record, fields);
    if (id !== undefined && key) yield [key, { object, id, isArchived, record }];
  }
}
