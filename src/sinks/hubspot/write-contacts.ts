import type { Overwrite } from '../crm/overwrite.ts';
import type { CallLimits } from '../http/api-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { contactAfter, type Person, personsOf, remarkOn } from './contact-values.ts';
import { type Enquiry, KEY, namesOf } from './enquiry.ts';
import type { HubSpotApi } from './hubspot-api.ts';
import type { RecordFault } from './judge-fault.ts';
import type { RecordInput } from './match-results.ts';
import type { HubSpotRecord } from './read-answer.ts';

const NO_EMAIL = 'HubSpot does not accept the email address, so the contact has none.';
const TAKEN_EMAIL = 'Another contact in HubSpot has the email address, so the contact of the lead has none.';
const OTHER_EMAIL = 'The contact has another email address in HubSpot, which leadsync leaves as it is.';
const NO_CONTACT =
  'HubSpot no longer has a contact with the email address or key of the lead, and only a new lead gets one.';
const TAKEN =
  'A record with the same email address or key appeared in HubSpot during this attempt. leadsync tries again.';
const CONFLICT =
  "has another contact with one of this lead's unique values, and does not say in which property. Correct `fields` or the property in HubSpot, then run `leadsync retry`.";
const GONE = 'The record was deleted in HubSpot during this attempt. leadsync tries again.';

/**
 * Finds or creates the contact of each enquiry by email address. Uses the key of the lead instead if the enquiry has no address that HubSpot
 * accepts, or if the address was changed in HubSpot. Sets the contact's id, or the outcome of an enquiry that HubSpot does not accept. Creates no
 * contact for a lead that HubSpot already has, because people may have deleted, merged or corrected the contact.
 *
 * Reads first, then creates or updates, because HubSpot does not say what an upsert by email address does to properties that the request omits.
 * If another program creates the contact in between, HubSpot refuses a second one and names the first.
 * @throws SinkUnavailable
 */
export async function writeContacts(
  api: HubSpotApi,
  enquiries: readonly Enquiry[],
  { overwrite, limits }: { readonly overwrite: Overwrite; readonly limits: CallLimits },
): Promise<void> {
  const writer = new ContactWriter(api, overwrite, limits, namesOf(enquiries, 'contact'));
  await writer.write(personsOf(enquiries));
  // HubSpot does not say which enquiry of a person has the wrong value.
  for (const one of oneByOne(writer.refusedTogether)) await writer.write(personsOf(one));
  // By key: the enquiries whose address HubSpot has just refused.
  await writer.write(personsOf(enquiries.filter((one) => isOpen(one) && one.email === undefined)));
  for (const { remarks } of enquiries.filter(isOpen)) remarks.push(NO_CONTACT);
}

/** Returns the enquiries of persons in groups that contain at most one enquiry of each person. */
function oneByOne(persons: readonly Person[]): readonly (readonly Enquiry[])[] {
  const most = Math.max(0, ...persons.map(({ enquiries }) => enquiries.length));
  return Array.from({ length: most }, (_, at) => persons.flatMap(({ enquiries }) => enquiries[at] ?? []));
}

function isOpen(enquiry: Enquiry | undefined): boolean {
  return enquiry?.contactId === undefined && enquiry?.outcome === undefined;
}

class ContactWriter {
  readonly #api: HubSpotApi;
  readonly #overwrite: Overwrite;
  readonly #limits: CallLimits;
  readonly #names: readonly string[];
  /** Persons whose enquiries HubSpot has refused as one contact. Each enquiry may be accepted without the others. */
  readonly refusedTogether: Person[] = [];
  /** Persons for whom HubSpot reports that another contact already has one of their unique values, other than the email address. */
  readonly #conflicting = new Set<Person>();

  constructor(api: HubSpotApi, overwrite: Overwrite, limits: CallLimits, names: readonly string[]) {
    this.#api = api;
    this.#overwrite = overwrite;
    this.#limits = limits;
    this.#names = names;
  }

  async write(persons: readonly Person[]): Promise<void> {
    const byEmail = persons.filter(({ email }) => email !== undefined);
    const byKey = persons.filter(({ email }) => email === undefined);
    const known = new Map([...(await this.#readByEmail(byEmail)), ...(await this.#readByKey(byKey))]);
    const unknown = byEmail.filter((person) => !known.has(person));
    const existing = await this.#create(unknown.filter(({ isNew }) => isNew));
    // Neither found, nor created, nor refused: persons for whom no contact is to be created, and persons whose key another contact has.
    const others = unknown
      .filter(({ enquiries: [first] }) => first?.email !== undefined && isOpen(first))
      .filter((person) => !existing.has(person) && !this.refusedTogether.includes(person));
    await this.#update(new Map([...known, ...existing, ...(await this.#readOfOtherEmail(others))]));
    await this.#upsert(byKey.filter((person) => person.isNew && !known.has(person)));
  }

  async #readByEmail(persons: readonly Person[]): Promise<Map<Person, HubSpotRecord>> {
    const ids = persons.flatMap(({ email }) => email ?? []);
    const byEmail = new Map(
      (await this.#read(ids, 'email')).flatMap((record) =>
        emailsOf(record).map((email) => [email, record] as const),
      ),
    );
    return known(persons, ({ email = '' }) => byEmail.get(email));
  }

  async #readByKey(persons: readonly Person[]): Promise<Map<Person, HubSpotRecord>> {
    const ids = persons.map(({ key }) => key);
    const byKey = new Map((await this.#read(ids, KEY)).map((record) => [record.properties[KEY], record]));
    return known(persons, ({ key }) => byKey.get(key));
  }

  /** Returns the contacts that leadsync created for these leads and whose address is no longer that of the lead. */
  async #readOfOtherEmail(persons: readonly Person[]): Promise<Map<Person, HubSpotRecord>> {
    const found = await this.#readByKey(persons);
    for (const [person, record] of found)
      if (emailsOf(record).length > 0) for (const { remarks } of person.enquiries) remarks.push(OTHER_EMAIL);
    for (const person of persons)
      if (!found.has(person) && person.isNew) this.#settle(person, this.#conflictOf(person));
    return found;
  }

  #read(ids: readonly string[], by?: string): Promise<readonly HubSpotRecord[]> {
    const properties = ['email', 'hs_additional_emails', KEY, ...this.#names.filter((name) => name !== KEY)];
    return this.#api.read('contacts', { ids, properties, ...(by === undefined ? {} : { by }) }, this.#limits);
  }

  /** Returns the fault of a person whose contact HubSpot does not create and leadsync does not find. */
  #conflictOf(person: Person): RecordFault {
    if (!this.#conflicting.has(person)) return { kind: 'existing', id: undefined };
    return { kind: 'refused', reason: `HubSpot at ${this.#api.addressee.origin} ${CONFLICT}` };
  }

  /**
   * Creates contacts. Returns contacts that exist although leadsync did not find them, because they have the address as a second one or were
   * created in the meantime. Leaves a person open if HubSpot does not accept the address, or if another contact has the person's key or another
   * unique value.
   */
  async #create(persons: readonly Person[]): Promise<Map<Person, HubSpotRecord>> {
    const ids = new Map<Person, string>();
    const written = await this.#api.write('contacts', 'create', this.#inputsOf(persons), {
      limits: this.#limits,
      keyOf: ({ properties }) => properties['email']?.toLowerCase(),
    });
    for (const person of persons) {
      const result = written.get(person.traceId);
      if (isFault(result, 'wrong-email')) goByKey(person, NO_EMAIL);
      else if (!isFault(result, 'existing')) this.#settle(person, result);
      else if (result.id !== undefined) ids.set(person, result.id);
    }
    const records = await this.#read([...new Set(ids.values())]);
    const byId = new Map(records.map((record) => [record.id, record]));
    const existing = known([...ids.keys()], (person) => byId.get(ids.get(person) ?? ''));
    for (const [person, record] of existing) {
      if (emailsOf(record).includes(person.email ?? '')) continue;
      existing.delete(person); // otherwise leadsync would write to the contact of another client
      this.#conflicting.add(person);
    }
    return existing;
  }

  async #upsert(persons: readonly Person[]): Promise<void> {
    const written = await this.#api.write('contacts', 'upsert', this.#inputsOf(persons), {
      limits: this.#limits,
      keyOf: ({ properties }) => properties[KEY] ?? undefined,
    });
    for (const person of persons) this.#settle(person, written.get(person.traceId));
  }

  /** Writes what known contacts lack. */
  async #update(contacts: ReadonlyMap<Person, HubSpotRecord>): Promise<void> {
    const inputs = new Map<Person, RecordInput>();
    for (const [person, record] of contacts) {
      const { id, properties } = record;
      const changes = changed(properties, contactAfter(person, properties, this.#overwrite));
      if (Object.keys(changes).length === 0) this.#settle(person, record, properties);
      else inputs.set(person, { objectWriteTraceId: person.traceId, id, properties: changes });
    }
    const written = await this.#api.write('contacts', 'update', [...inputs.values()], {
      limits: this.#limits,
      keyOf: ({ id }) => id,
    });
    for (const [person, { properties }] of inputs) {
      const result = written.get(person.traceId);
      const isOfEmail = properties['email'] !== undefined;
      if (isFault(result, 'wrong-email')) goByKey(person, NO_EMAIL);
      else if (isFault(result, 'existing') && isOfEmail) goByKey(person, TAKEN_EMAIL);
      else this.#settle(person, result, contacts.get(person)?.properties);
    }
  }

  #inputsOf(persons: readonly Person[]): readonly RecordInput[] {
    return persons.map((person) => inputOf(person, this.#overwrite));
  }

  /**
   * Sets the contact of a person's enquiries, or their outcome. `held` is what the contact had before. Leaves the enquiries of a refused person
   * open if there are several.
   */
  #settle(
    person: Person,
    result: HubSpotRecord | RecordFault | undefined,
    held?: HubSpotRecord['properties'],
  ): void {
    const { enquiries } = person;
    const isStored = result !== undefined && 'id' in result && !('kind' in result);
    if (!isStored && enquiries.length > 1 && outcomeOf(result)?.kind === 'refused') {
      this.refusedTogether.push(person);
      return;
    }
    const after = contactAfter(person, held, this.#overwrite);
    for (const enquiry of enquiries) {
      if (isStored) {
        enquiry.contactId = result.id;
        enquiry.remarks.push(...remarkOn('contact', enquiry.contact, after));
      } else enquiry.outcome = outcomeOf(result);
    }
  }
}

/** Returns the records to send for the contacts of enquiries if HubSpot has none of the contacts. */
export function contactInputs(enquiries: readonly Enquiry[], overwrite: Overwrite): readonly RecordInput[] {
  return personsOf(enquiries).map((person) => inputOf(person, overwrite));
}

function inputOf(person: Person, overwrite: Overwrite): RecordInput {
  const { traceId, email, key } = person;
  const properties = changed({}, contactAfter(person, undefined, overwrite));
  return email === undefined
    ? { objectWriteTraceId: traceId, id: key, idProperty: KEY, properties }
    : { objectWriteTraceId: traceId, properties };
}

/** Returns the properties in `after` that differ from those in `before`. */
function changed(
  before: HubSpotRecord['properties'],
  after: HubSpotRecord['properties'],
): Readonly<Record<string, string>> {
  const changes = Object.entries(after).flatMap(([name, value]) =>
    value === null || before[name] === value ? [] : [[name, value] as const],
  );
  return Object.fromEntries(changes);
}

function known(
  persons: readonly Person[],
  find: (person: Person) => HubSpotRecord | undefined,
): Map<Person, HubSpotRecord> {
  const found = new Map<Person, HubSpotRecord>();
  for (const person of persons) {
    const record = find(person);
    if (record) found.set(person, record);
  }
  return found;
}

/** Returns the addresses of a contact in lower case. */
function emailsOf({ properties: { email, hs_additional_emails: others } }: HubSpotRecord): readonly string[] {
  return [email, ...(others ?? '').split(';')].flatMap((one) => (one ? [one.trim().toLowerCase()] : []));
}

/** Makes leadsync look for the contact by the key of the lead from now on. `why` is a remark for the operator. */
function goByKey({ enquiries }: Person, why: string): void {
  for (const enquiry of enquiries) {
    enquiry.email = undefined;
    enquiry.remarks.push(why);
  }
}

/** Returns the outcome of an enquiry whose record has this fault. */
export function outcomeOf(fault: RecordFault | undefined): Enquiry['outcome'] {
  if (fault instanceof SinkUnavailable) return fault.toOutcome();
  if (fault?.kind === 'refused') return fault;
  if (fault?.kind === 'wrong-email') return fault.refused;
  return { kind: 'unavailable', reason: fault?.kind === 'gone' ? GONE : TAKEN, mayHaveArrived: false };
}

/** Whether a result is a fault of this kind. */
export function isFault<Kind extends 'existing' | 'wrong-email' | 'gone'>(
  result: HubSpotRecord | RecordFault | undefined,
  kind: Kind,
): result is Extract<RecordFault, { readonly kind: Kind }> {
  return result !== undefined && 'kind' in result && result.kind === kind;
}
