import { type Json, objectOf, textOf } from '../http/json-answer.ts';
import type { AccountFields } from './account-fields.ts';
import { keysIn } from './build-records.ts';
import { calls } from './calls.ts';
import { ENQUIRIES, type FieldOwner, KEY } from './options.ts';
import type { Limits, PipedriveApi } from './pipedrive-api.ts';
import { idOf } from './read-answer.ts';

/** A person, lead or deal with one of leadsync's keys. */
interface KeyedRecord {
  readonly object: FieldOwner;
  readonly id: string;
  readonly record: Json;
}

const READ = { person: calls.readPerson, lead: calls.readLead, deal: calls.readDeal };

/**
 * Searches the company for the persons, leads and deals with a key, whichever person they belong to. Reads each of them, because the search may
 * return outdated values, and because a client may have typed the key into another field. The search does not find the newest records. @throws
 * SinkUnavailable
 */
export async function recordsWithKey(
  api: PipedriveApi,
  key: string,
  { types, fields, limits }: { types: readonly FieldOwner[]; fields: AccountFields; limits: Limits },
): Promise<readonly KeyedRecord[]> {
  const query = { term: key, item_types: types.join(','), fields: 'custom_fields', exact_match: 'true' };
  const records: KeyedRecord[] = [];
  for (const item of await api.all(calls.searchItems, query, limits)) {
    const object = types.find((type) => type === item['type']);
    const id = idOf(item);
    if (object === undefined || id === undefined) continue;
    const record = await api.read(READ[object], id, limits);
    if (record && keysOf(object, record, fields).includes(key)) records.push({ object, id, record });
  }
  return records;
}

/** Returns the keys in leadsync's fields of a record. */
export function keysOf(object: FieldOwner, record: Json, fields: AccountFields): readonly string[] {
  const custom = customOf(object, record);
  if (object === 'person')
    return [ENQUIRIES, KEY].flatMap((name) => keysIn(custom[fields.get('person', name)?.code ?? '']));
  const code = (fields.get('lead', KEY) ?? fields.get('deal', KEY))?.code ?? '';
  const key = textOf(custom[code]) || textOf(record['origin_id']);
  return key ? [key] : [];
}

/** Returns the values of a record's custom fields, by code. A lead (v1) has them beside Pipedrive's own fields. */
export function customOf(object: FieldOwner, record: Json): Json {
  return object === 'lead' ? record : (objectOf(record['custom_fields']) ?? {});
}
