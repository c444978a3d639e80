import type { LeadKey } from '../../leads/person.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import { keyText } from '../crm/lead-key.ts';
import { type Json, objectOf } from '../http/json-answer.ts';
import type { ErasedRecords, KeptRecord } from '../sink.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { keysIn, noteMark } from './build-records.ts';
import { type Call, calls } from './calls.ts';
import { allRecords, type ExistingRecord, findRecords } from './find-records.ts';
import { ENQUIRIES, KEY } from './options.ts';
import { isFault } from './pipedrive-api.ts';
import { idOf } from './read-answer.ts';
import { heldKeys, type StoreTools } from './stored-leads.ts';
import { refOf } from './write-enquiries.ts';

const RECYCLING = 'An administrator can restore the deleted records in Pipedrive for 30 days.';

const REMOVE = { lead: calls.deleteLead, deal: calls.deleteDeal };

/**
 * Deletes the leads, deals and notes that belong to these leads, and the persons whom leadsync created for them and who have no other enquiry.
 * Removes the keys from other persons, and empties leadsync's own fields there if no other enquiry is left. @throws SinkUnavailable
 */
export async function eraseLeads(leads: readonly LeadKey[], tools: StoreTools): Promise<ErasedRecords> {
  const { api, fields, finder, object, limits } = tools;
  const keys = new Set(leads.map(keyText));
  const left = new Set(keys);
  const persons = new Set<string>();
  for (const key of keys) for (const id of await finder.withKey(key, fields, limits)) persons.add(id);
  const erasure = new Erasure(tools);
  for (const id of persons) {
    const held = await api.read(calls.readPerson, id, limits);
    const own = held ? heldKeys(held, fields).filter((key) => keys.has(key)) : [];
    if (!held || own.length === 0) continue;
    if (object !== 'none') {
      const records = await findRecords(api, object, { personId: id, keys: own, fields }, limits);
      for (const [key, record] of records) {
        await erasure.removeRecord(record);
        left.delete(key);
      }
    }
    await erasure.removePerson(held, id, keys);
  }
  // The person of a record may have been deleted or merged, and the record may now belong to another person.
  if (object !== 'none' && left.size > 0)
    for await (const [key, record] of allRecords(api, object, fields, limits))
      if (left.has(key)) await erasure.removeRecord(record);
  await erasure.nameOthers();
  return erasure.result;
}

/** Deletes records, and collects the result for each. */
class Erasure {
  readonly #tools: StoreTools;
  readonly #deleted: Record<string, number> = {};
  readonly #kept: KeptRecord[] = [];
  /** Ids of the persons to which the deleted records were linked, except persons that were handled themselves. */
  readonly #persons = new Set<string>();

  constructor(tools: StoreTools) {
    this.#tools = tools;
  }

  get result(): ErasedRecords {
    return { deleted: this.#deleted, kept: this.#kept, remark: RECYCLING };
  }

  async removeRecord({ object, id, record }: ExistingRecord): Promise<void> {
    const personId = idOf({ id: record['person_id'] });
    if (personId !== undefined) this.#persons.add(personId);
    await this.#removeNotes({ [`${object}_id`]: id }, isOwnNote);
    await this.#delete(REMOVE[object], id, object);
  }

  /** Deletes a person whom leadsync created and who has no other enquiry. Otherwise removes the keys from the person. */
  async removePerson(held: Json, id: string, keys: ReadonlySet<string>): Promise<void> {
    const { api, fields, finder, object, limits } = this.#tools;
    this.#persons.delete(id);
    const code = (name: string) => fields.get('person', name)?.code ?? '';
    const custom = objectOf(held['custom_fields']) ?? {};
    const remaining = keysIn(custom[code(ENQUIRIES)]).filter((key) => !keys.has(key));
    if (keys.has(String(custom[code(KEY)])) && remaining.length === 0) {
      await this.#removeNotes({ person_id: id }, isOwnNote);
      finder.forget(id);
      return this.#delete(calls.deletePerson, id, 'person');
    }
    if (object === 'none') {
      const marks = keysIn(custom[code(ENQUIRIES)])
        .filter((key) => keys.has(key))
        .map((key) => noteMark({ key }));
      await this.#removeNotes({ person_id: id }, (content) => marks.some((mark) => mark.test(content)));
    }
    const isOwn = (name = '') => name.startsWith('leadsync_') && name !== KEY;
    const own = Object.keys(custom).filter((of) => custom[of] !== null && isOwn(fields.nameOf(of)));
    const body = {
      custom_fields:
        remaining.length > 0
          ? { [code(ENQUIRIES)]: remaining.join('\n') }
          : Object.fromEntries(own.map((of) => [of, null])),
    };
    const changed = await api.write(calls.changePerson, { id, body }, limits);
    if (isFault(changed)) {
      if (changed.kind === 'gone') return;
      throw new SinkUnavailable("Pipedrive did not change leadsync's fields of a person.", {
        hint: 'Check the permissions of the user whose token leadsync uses.',
      });
    }
    const why =
      remaining.length > 0
        ? `it has ${countOf(remaining.length, 'other enquiry')} from leadsync; the keys of these leads were removed from it`
        : 'leadsync did not create it; its `leadsync_…` fields were emptied';
    this.#kept.push({ ...refOf(api.addressee, 'person', id), why });
  }

  /** Adds the persons who had a record but not its key to the kept records, because leadsync does not know whether they are the person to erase. */
  async nameOthers(): Promise<void> {
    const { api, limits } = this.#tools;
    const why =
      'it had one of these leads without the key: it was merged with another person, or was given the lead';
    for (const id of this.#persons)
      if (await api.read(calls.readPerson, id, limits))
        this.#kept.push({ ...refOf(api.addressee, 'person', id), why });
  }

  async #removeNotes(
    query: Readonly<Record<string, string>>,
    isOwn: (content: string) => boolean,
  ): Promise<void> {
    const { api, limits } = this.#tools;
    const ids: string[] = [];
    for await (const note of api.list(calls.listNotes, query, limits)) {
      const id = idOf(note);
      if (id !== undefined && isOwn(String(note['content']))) ids.push(id);
    }
    for (const id of ids) await this.#delete(calls.deleteNote, id, 'note');
  }

  async #delete(call: Call, id: string, object: string): Promise<void> {
    const { api, limits } = this.#tools;
    if (await api.delete(call, id, limits)) this.#deleted[object] = (this.#deleted[object] ?? 0) + 1;
  }
}

function isOwnNote(content: string): boolean {
  return content.includes('<p>leadsync ');
}
