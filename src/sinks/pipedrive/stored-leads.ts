import type { LeadKey, Person, Subject } from '../../leads/person.ts';
import { keyText, leadOfKey } from '../crm/lead-key.ts';
import { SinkUnavailable, type StoredLead } from '../sink.ts';
import type { AccountFields } from './account-fields.ts';
import { keysIn } from './build-records.ts';
import { calls } from './calls.ts';
import { idOf, type PersonFinder } from './find-persons.ts';
import { allRecords, type ExistingRecord, findRecords } from './find-records.ts';
import { ENQUIRIES, KEY, type PipedriveOptions } from './options.ts';
import { isFault, type Limits, type PipedriveApi } from './pipedrive-api.ts';
import { type Json, objectOf } from './read-answer.ts';

/** What the stored leads of a company are read with. */
export interface StoreTools {
  readonly api: PipedriveApi;
  readonly fields: AccountFields;
  readonly finder: PersonFinder;
  readonly object: PipedriveOptions['object'];
  readonly limits: Limits;
}

const REMOVE = { lead: calls.deleteLead, deal: calls.deleteDeal };

/** Returns the leads that a company has from leadsync. Reads lists: a search would miss the newest. @throws SinkUnavailable */
export async function* storedLeads({ api, fields, object, limits }: StoreTools): AsyncIterable<StoredLead> {
  const keys = object === 'none' ? personKeys(api, fields, limits) : recordKeys(api, object, fields, limits);
  for await (const key of keys) {
    if (limits.stop.aborted) throw new SinkUnavailable('Reading Pipedrive was interrupted.', { hint: '' });
    const stored = leadOfKey(key);
    if (stored) yield stored;
  }
}

/** Returns the leads of the persons with this email address or phone number, or the lead with this id. @throws SinkUnavailable */
export async function findPerson(
  subject: Subject,
  { api, fields, finder, limits }: StoreTools,
): Promise<Person> {
  const ids =
    subject.kind === 'lead'
      ? await finder.withKey(`:${subject.lead}`, fields, limits)
      : await finder.withContact(subject.kind, subject.contact, limits);
  const leads: LeadKey[] = [];
  for (const id of ids) {
    const held = await api.read(calls.readPerson, id, limits);
    const own = held ? heldKeys(held, fields) : [];
    leads.push(...own.flatMap((key) => leadOfKey(key) ?? []));
  }
  const isWanted = ({ leadId }: LeadKey) => subject.kind !== 'lead' || leadId === subject.lead;
  return { leads: leads.filter(isWanted), rejected: [] };
}

/**
 * Deletes the leads, deals and notes of these leads, and the persons whom leadsync made for them and who have no other enquiry. Returns the
 * number of records. @throws SinkUnavailable
 */
export async function eraseLeads(leads: readonly LeadKey[], tools: StoreTools): Promise<number> {
  const { api, fields, finder, object, limits } = tools;
  const keys = new Set(leads.map(keyText));
  const left = new Set(keys);
  const persons = new Set<string>();
  for (const key of keys) for (const id of await finder.withKey(key, fields, limits)) persons.add(id);
  let deleted = 0;
  for (const id of persons) {
    const held = await api.read(calls.readPerson, id, limits);
    const own = held ? heldKeys(held, fields).filter((key) => keys.has(key)) : [];
    if (!held || own.length === 0) continue;
    if (object !== 'none') {
      const records = await findRecords(api, object, { personId: id, keys: own, fields }, limits);
      for (const [key, record] of records) {
        deleted += await removeRecord(api, record, limits);
        left.delete(key);
      }
    }
    deleted += await removePerson(held, id, keys, tools);
  }
  // Somebody may have deleted or merged the person of a record.
  if (object !== 'none' && left.size > 0)
    for await (const [key, record] of allRecords(api, object, fields, limits))
      if (left.has(key)) deleted += await removeRecord(api, record, limits);
  return deleted;
}

async function removeRecord(
  api: PipedriveApi,
  { object, id }: ExistingRecord,
  limits: Limits,
): Promise<number> {
  await removeNotes(api, { [`${object}_id`]: id }, limits);
  return Number(await api.delete(REMOVE[object], id, limits));
}

/** Deletes a person whom leadsync made, or else takes the keys from the person's list. */
async function removePerson(
  held: Json,
  id: string,
  keys: ReadonlySet<string>,
  { api, fields, finder, limits }: StoreTools,
): Promise<number> {
  const code = (name: string) => fields.get('person', name)?.code ?? '';
  const custom = objectOf(held['custom_fields']) ?? {};
  const remaining = keysIn(custom[code(ENQUIRIES)]).filter((key) => !keys.has(key));
  if (keys.has(String(custom[code(KEY)])) && remaining.length === 0) {
    await removeNotes(api, { person_id: id }, limits);
    finder.forget(id);
    return Number(await api.delete(calls.deletePerson, id, limits));
  }
  const list = remaining.length === 0 ? null : remaining.join('\n');
  const body = { custom_fields: { [code(ENQUIRIES)]: list } };
  const changed = await api.write(calls.changePerson, { id, body }, limits);
  if (isFault(changed) && changed.kind !== 'gone')
    throw new SinkUnavailable('Pipedrive does not change the list of enquiries of a person.', {
      hint: 'Check the permissions of the user of the token.',
    });
  return 0;
}

async function removeNotes(
  api: PipedriveApi,
  query: Readonly<Record<string, string>>,
  limits: Limits,
): Promise<void> {
  const ids: string[] = [];
  for await (const note of api.list(calls.listNotes, query, limits)) {
    const id = idOf(note);
    if (id !== undefined && String(note['content']).includes('<p>leadsync ')) ids.push(id);
  }
  for (const id of ids) await api.delete(calls.deleteNote, id, limits);
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

function heldKeys(person: Json, fields: AccountFields): readonly string[] {
  const custom = objectOf(person['custom_fields']) ?? {};
  return keysIn(custom[fields.get('person', ENQUIRIES)?.code ?? '']);
}
