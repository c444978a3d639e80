import type { Clock } from '../../platform/time/clock.ts';
import { listOf, objectOf } from '../http/json-answer.ts';
import type { AccountFields } from './account-fields.ts';
import { keysIn } from './build-records.ts';
import { calls } from './calls.ts';
import type { Person } from './enquiry.ts';
import { ENQUIRIES, KEY } from './options.ts';
import type { Limits, PipedriveApi } from './pipedrive-api.ts';
import { idOf } from './read-answer.ts';
import { recordsWithKey } from './search-key.ts';

/**
 * Maximum time for which a new person may be missing from Pipedrive's search, in ms, including the difference between the clocks. Pipedrive does
 * not document it; a few seconds were observed.
 */
const SEARCH_LAG_MS = 15 * 60_000;
/** Maximum number of email addresses and keys that are remembered. */
const MAX_RECENT = 50_000;

/** The result of a search: the id of the person, or `isGone` if the search still returns a person whom Pipedrive no longer has. */
export interface FoundPerson {
  readonly id?: string | undefined;
  readonly isGone?: boolean;
}

/**
 * Finds persons by email address or key. Pipedrive's search lags behind the records. If it finds no person, leadsync therefore also reads the
 * recently changed persons: the first time, after a request whose answer was lost, and whenever an earlier attempt may have created the person
 * or the search returned only a deleted one.
 */
export class PersonFinder {
  readonly #api: PipedriveApi;
  readonly #clock: Clock;
  /** Ids of recently changed persons, by lower-case email address and by key, with the time on the monotonic clock. */
  readonly #recent = new Map<string, { readonly id: string; readonly atMs: number }>();
  /** The time up to which changes were read; undefined if never. */
  #readUntil: Date | undefined;
  #isStale = true;

  constructor(api: PipedriveApi, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  /**
   * Returns the person of these enquiries. `isThorough` means that an attempt with an unknown result may have created the person, or that the
   * person may have another address by now. `except` is the id of a deleted person.
   * @throws SinkUnavailable
   */
  async find(
    person: Person,
    fields: AccountFields,
    { isThorough, except, limits }: { isThorough: boolean; except?: string; limits: Limits },
  ): Promise<FoundPerson> {
    const { email, enquiries } = person;
    const names = email === undefined ? enquiries.map(({ key }) => key) : [email];
    const recent = () => this.#recall(names);
    const known = recent();
    if (known !== undefined) return { id: known };
    const found =
      email === undefined ? await this.#byKeys(names, fields, limits) : await this.#byEmail(email, limits);
    const [first] = found.filter((id) => id !== except);
    if (first !== undefined) return { id: first };
    if (this.#isStale || isThorough || except !== undefined) {
      await this.#readChanges(fields, limits);
      const changed = recent();
      if (changed !== undefined) return { id: changed };
    }
    if (found.length > 0) return { isGone: true };
    if (email === undefined || !isThorough) return {};
    const keys = enquiries.filter(({ mayExist }) => mayExist).map(({ key }) => key);
    const byKey = async () => (await this.#byKeys(keys, fields, limits)).find((id) => id !== except);
    return { id: this.#recall(keys) ?? (await byKey()) };
  }

  /** Returns the ids of the persons whose list of enquiries has this key, or may have it. @throws SinkUnavailable */
  async withKey(key: string, fields: AccountFields, limits: Limits): Promise<readonly string[]> {
    if (this.#isStale) await this.#readChanges(fields, limits);
    const query = { term: key, fields: 'custom_fields' };
    const found = await this.#search(query, limits);
    return [...new Set([...found, ...[this.#recall([key])].flatMap((id) => id ?? [])])];
  }

  /** Returns the ids of the persons with this email address or phone number. @throws SinkUnavailable */
  async withContact(kind: 'email' | 'phone', contact: string, limits: Limits): Promise<readonly string[]> {
    return this.#search({ term: contact, fields: kind, exact_match: 'true' }, limits);
  }

  /** Remembers a person whom the search does not find yet. */
  add(names: readonly string[], id: string): void {
    for (const name of names) {
      this.#recent.delete(name);
      this.#recent.set(name, { id, atMs: this.#clock.monotonicMs() });
    }
    for (const name of this.#recent.keys()) {
      if (this.#recent.size <= MAX_RECENT) break;
      this.#recent.delete(name);
    }
  }

  /** Forgets a person whom Pipedrive no longer has. */
  forget(id: string): void {
    for (const [name, of] of this.#recent) if (of.id === id) this.#recent.delete(name);
  }

  /** Makes leadsync read the changes before it next concludes that a person does not exist. An unanswered request may have created one. */
  distrust(): void {
    this.#isStale = true;
  }

  /** Returns the id of a recently changed person with one of these email addresses or keys. The search finds all other persons. */
  #recall(names: readonly string[]): string | undefined {
    const fromMs = this.#clock.monotonicMs() - SEARCH_LAG_MS;
    return names.map((name) => this.#recent.get(name)).find((one) => one && one.atMs >= fromMs)?.id;
  }

  async #byEmail(email: string, limits: Limits): Promise<readonly string[]> {
    const query = { term: email, fields: 'email', exact_match: 'true' };
    const ids: string[] = [];
    for await (const item of this.#api.list(calls.searchPersons, query, limits)) {
      const emails = Array.isArray(item['emails']) ? item['emails'] : [];
      const id = idOf(item);
      if (id !== undefined && emails.some((one) => String(one).toLowerCase() === email)) ids.push(id);
    }
    return ids.sort((a, b) => Number(a) - Number(b)); // of several, always the oldest
  }

  /**
   * Returns the ids of the persons that leadsync created for these leads, and of the persons who now have the leads or deals. An exact search for
   * a key does not find a list of several keys.
   */
  async #byKeys(keys: readonly string[], fields: AccountFields, limits: Limits): Promise<readonly string[]> {
    const ids: string[] = [];
    for (const key of keys) {
      const found = await recordsWithKey(this.#api, key, {
        types: ['person', 'lead', 'deal'],
        fields,
        limits,
      });
      for (const { object, id, record } of found) {
        const personId = object === 'person' ? id : idOf({ id: record['person_id'] });
        if (personId !== undefined) ids.push(personId);
      }
    }
    return ids;
  }

  async #search(query: Readonly<Record<string, string>>, limits: Limits): Promise<readonly string[]> {
    return (await this.#api.all(calls.searchPersons, query, limits)).flatMap((item) => idOf(item) ?? []);
  }

  async #readChanges(fields: AccountFields, limits: Limits): Promise<void> {
    const codes = [KEY, ENQUIRIES].flatMap((name) => fields.get('person', name)?.code ?? []);
    const now = this.#clock.now();
    const since = new Date((this.#readUntil ?? now).getTime() - SEARCH_LAG_MS);
    const query = {
      updated_since: `${since.toISOString().slice(0, 19)}Z`,
      ...(codes.length === 0 ? {} : { custom_fields: codes.join(',') }),
    };
    for await (const person of this.#api.list(calls.listPersons, query, limits)) {
      const id = idOf(person);
      const custom = objectOf(person['custom_fields']) ?? {};
      const emails = listOf(person['emails']).map(({ value }) => String(value).toLowerCase());
      if (id !== undefined) this.add([...emails, ...codes.flatMap((code) => keysIn(custom[code]))], id);
    }
    this.#readUntil = now;
    this.#isStale = false;
  }
}
