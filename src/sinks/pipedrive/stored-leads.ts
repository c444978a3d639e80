import type { LeadKey, Person, Subject } from '../../leads/person.ts';
import { leadOfKey } from '../crm/lead-key.ts';
import { type Json, objectOf } from '../http/json-answer.ts';
import type { StoredLead } from '../sink.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import type { AccountFields } from './account-fields.ts';
import { keysIn } from './build-records.ts';
import { calls } from './calls.ts';
import type { PersonFinder } from './find-persons.ts';
import { allRecords, keysOfPerson } from './find-records.ts';
import { ENQUIRIES, type PipedriveOptions } from './options.ts';
import type { Limits, PipedriveApi } from './pipedrive-api.ts';

/** What is needed to read or erase the stored leads of a company. */
export interface StoreTools {
  readonly api: PipedriveApi;
  readonly fields: AccountFields;
  readonly finder: PersonFinder;
  readonly object: PipedriveOptions['object'];
  readonly limits: Limits;
}

/** Returns the leads that a company has from leadsync. Reads lists, because a search would miss the newest leads. @throws SinkUnavailable */
export async function* storedLeads({ api, fields, object, limits }: StoreTools): AsyncIterable<StoredLead> {
  const keys = object === 'none' ? personKeys(api, fields, limits) : recordKeys(api, object, fields, limits);
  for await (const key of keys) {
    if (limits.stop.aborted) throw new SinkUnavailable('Reading Pipedrive was interrupted.', { hint: '' });
    const stored = leadOfKey(key);
    if (stored) yield stored;
  }
}

/**
 * Returns the leads of the persons with this email address or phone number, or the lead with this id. After a merge, the remaining person has the
 * leads of both persons, but the keys of only one. @throws SinkUnavailable
 */
export async function findPerson(
  subject: Subject,
  { api, fields, finder, object, limits }: StoreTools,
): Promise<Person> {
  const ids =
    subject.kind === 'lead'
      ? await finder.withKey(`:${subject.lead}`, fields, limits)
      : await finder.withContact(subject.kind, subject.contact, limits);
  const leads: LeadKey[] = [];
  for (const id of ids) {
    const held = await api.read(calls.readPerson, id, limits);
    const own = held ? heldKeys(held, fields) : [];
    const moved =
      held && object !== 'none' && subject.kind !== 'lead'
        ? await keysOfPerson(api, object, { personId: id, fields }, limits)
        : [];
    leads.push(...[...new Set([...own, ...moved])].flatMap((key) => leadOfKey(key) ?? []));
  }
  const isWanted = ({ leadId }: LeadKey) => subject.kind !== 'lead' || leadId === subject.lead;
  return { leads: leads.filter(isWanted), rejected: [] };
}

async function* personKeys(api: PipedriveApi, fields: AccountFields, limits: Limits): AsyncIterable<string> {
  const code = fields.get('person', ENQUIRIES)?.code;
  if (code === undefined) return;
  for await (const person of api.list(calls.listPersons, { custom_fields: code }, limits))
    yield* heldKeys(person, fields);
}

async function* recordKeys(
  api: PipedriveApi,
  object: Exclude<StoreTools['object'], 'none'>,
  fields: AccountFields,
  limits: Limits,
): AsyncIterable<string> {
  for await (const [key] of allRecords(api, object, fields, limits)) yield key;
}

/** Returns the keys of the enquiries that a person's field lists. */
export function heldKeys(person: Json, fields: AccountFields): readonly string[] {
  const custom = objectOf(person['custom_fields']) ?? {};
  return keysIn(custom[fields.get('person', ENQUIRIES)?.code ?? '']);
}
