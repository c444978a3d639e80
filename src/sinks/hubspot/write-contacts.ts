import type { CallLimits } from '../api-server.ts';
import { changesOf, type Overwrite } from '../crm/overwrite.ts';
import { SinkUnavailable } from '../sink.ts';
import { type Enquiry, KEY, namesOf, type Properties } from './enquiry.ts';
import type { HubSpotApi } from './hubspot-api.ts';
import type { RecordFault } from './judge-fault.ts';
import type { RecordInput } from './match-results.ts';
import type { HubSpotRecord } from './read-answer.ts';

/** The property that tells how far a contact has come. */
const STAGE = 'lifecyclestage';
const NO_EMAIL = 'HubSpot does not take the email address, so the contact has none.';
const OTHER_EMAIL = 'The contact has another email address in HubSpot, which leadsync leaves as it is.';
const NO_CONTACT =
  'HubSpot no longer has a contact with the email address or key of the lead, and only a new lead gets one.';
const TAKEN =
  'A record with the same email address or key appeared in HubSpot during this attempt. leadsync tries again.';
const GONE = 'The record was deleted in HubSpot during this attempt. leadsync tries again.';

/** A person: the enquiries with the same email address, or one enquiry without any. */
interface Person {
  readonly traceId: string;
  readonly enquiries: readonly Enquiry[];
  /** Undefined if the person is found by the key of the lead. */
  readonly email: string | undefined;
  readonly properties: Properties;
  /** Whether a contact that HubSpot does not have is to be made. */
  readonly isNew: boolean;
}

/**
 * Finds or makes the contact of each enquiry by email address. Uses the key of the lead instead if HubSpot accepts no address of it, or if the
 * address was changed in HubSpot. Sets the contact's id, or the outcome of an enquiry that HubSpot does not accept. Makes no contact for a lead that
 * HubSpot already knows: its users may have deleted, merged or corrected the contact.
 *
 * Reads first, then makes or updates: HubSpot does not say what an upsert by email address does to properties that the request omits. If another
 * program makes the contact in between, HubSpot refuses a second one and names the first.
 * @throws SinkUnavailable
 */
export async function writeContacts(
  api: HubSpotApi,
  enquiries: readonly Enquiry[],
  { overwrite, limits }: { readonly overwrite: Overwrite; readonly limits: CallLimits },
): Promise<void> {
  const writer = new ContactWriter(api, overwrite, limits, namesOf(enquiries, 'contact'));
  await writer.write(personsOf(enquiries));
  // Those whose address HubSpot has just refused.
  await writer.write(personsOf(enquiries.filter((one) => isOpen(one) && one.email === undefined)));
  for (const { remarks } of enquiries.filter(isOpen)) remarks.push(NO_CONTACT);
}

function isOpen(enquiry: Enquiry | undefined): boolean {
  return enquiry?.contactId === undefined && enquiry?.outcome === undefined;
}

class ContactWriter {
  readonly #api: HubSpotApi;
  readonly #overwrite: Overwrite;
  readonly #limits: CallLimits;
  readonly #names: readonly string[];

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
    // Neither known, nor made, nor refused: those for whom no contact is made, and those whose key another contact has.
    const others = unknown
      .filter(({ enquiries: [first] }) => first?.email !== undefined && isOpen(first))
      .filter((person) => !existing.has(person));
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
    const records = await this.#read(persons.map(keyOf), KEY);
    const byKey = new Map(records.map((record) => [record.properties[KEY], record]));
    return known(persons, (person) => byKey.get(keyOf(person)));
  }

  /** Returns the contacts that leadsync made for these leads and whose address is another one than that of the lead. */
  async #readOfOtherEmail(persons: readonly Person[]): Promise<Map<Person, HubSpotRecord>> {
    const found = await this.#readByKey(persons);
    for (const [person, record] of found)
      if (emailsOf(record).length > 0) for (const { remarks } of person.enquiries) remarks.push(OTHER_EMAIL);
    for (const person of persons)
      if (!found.has(person) && person.isNew) settle(person, { kind: 'existing', id: undefined });
    return found;
  }

  #read(ids: readonly string[], by?: string): Promise<readonly HubSpotRecord[]> {
    const properties = ['email', 'hs_additional_emails', KEY, ...this.#names.filter((name) => name !== KEY)];
    return this.#api.read('contacts', { ids, properties, ...(by === undefined ? {} : { by }) }, this.#limits);
  }

  /**
   * Makes contacts. Returns those that exist although they were not found: by a second address, or made in this moment. Leaves the persons open
   * whose address HubSpot does not take, or whose key another contact has.
   */
  async #create(persons: readonly Person[]): Promise<Map<Person, HubSpotRecord>> {
    const ids = new Map<Person, string>();
    const written = await this.#api.write('contacts', 'create', persons.map(inputOf), {
      limits: this.#limits,
      keyOf: ({ properties }) => properties['email']?.toLowerCase(),
    });
    for (const person of persons) {
      const result = written.get(person.traceId);
      if (isFault(result, 'wrong-email')) goByKey(person);
      else if (!isFault(result, 'existing')) settle(person, result);
      else if (result.id !== undefined) ids.set(person, result.id);
    }
    const records = await this.#read([...new Set(ids.values())]);
    const byId = new Map(records.map((record) => [record.id, record]));
    return known([...ids.keys()], (person) => byId.get(ids.get(person) ?? ''));
  }

  async #upsert(persons: readonly Person[]): Promise<void> {
    const written = await this.#api.write('contacts', 'upsert', persons.map(inputOf), {
      limits: this.#limits,
      keyOf: ({ properties }) => properties[KEY] ?? undefined,
    });
    for (const person of persons) settle(person, written.get(person.traceId));
  }

  /** Writes what known contacts lack. */
  async #update(contacts: ReadonlyMap<Person, HubSpotRecord>): Promise<void> {
    const inputs: RecordInput[] = [];
    for (const [person, { id, properties }] of contacts) {
      const { [KEY]: key, ...wanted } = person.properties; // the key is that of the lead that made the contact
      const email = person.email === undefined || properties['email'] ? {} : { email: person.email };
      const held = properties[STAGE];
      const stage = held ? { [STAGE]: held } : {}; // moves forward only, and people move it
      const changes = changesOf(properties, { ...email, ...wanted, ...stage }, this.#overwrite);
      if (Object.keys(changes).length === 0) settle(person, { id, properties });
      else inputs.push({ objectWriteTraceId: person.traceId, id, properties: changes });
    }
    const written = await this.#api.write('contacts', 'update', inputs, {
      limits: this.#limits,
      keyOf: ({ id }) => id,
    });
    for (const person of contacts.keys()) {
      const result = written.get(person.traceId);
      if (isFault(result, 'wrong-email')) goByKey(person);
      else if (result !== undefined) settle(person, result);
    }
  }
}

/** Returns the requests for the contacts of enquiries, if HubSpot has none of them. */
export function contactInputs(enquiries: readonly Enquiry[]): readonly RecordInput[] {
  return personsOf(enquiries).map(inputOf);
}

function inputOf({ traceId, email, properties }: Person): RecordInput {
  return email === undefined
    ? { objectWriteTraceId: traceId, id: properties[KEY] ?? '', idProperty: KEY, properties }
    : { objectWriteTraceId: traceId, properties: { email, ...properties } };
}

/** Returns the persons of enquiries. The newest enquiry of a person says most about the contact. */
function personsOf(enquiries: readonly Enquiry[]): readonly Person[] {
  const byPerson = Map.groupBy(enquiries, ({ email, key }) => email ?? `key ${key}`);
  return [...byPerson.values()].map((own) => {
    const [first] = own;
    const properties = Object.assign({}, ...own.map(({ contact }) => contact)) as Record<string, string>;
    return {
      traceId: `contact of ${first?.key}`,
      enquiries: own,
      email: first?.email,
      properties: { ...properties, [KEY]: first?.key ?? '' },
      isNew: own.some(({ mayCreate, existing }) => mayCreate && existing === undefined),
    };
  });
}

function keyOf({ properties }: Person): string {
  return properties[KEY] ?? '';
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

/** Looks for the contact by the key of the lead from now on. */
function goByKey({ enquiries }: Person): void {
  for (const enquiry of enquiries) {
    enquiry.email = undefined;
    enquiry.remarks.push(NO_EMAIL);
  }
}

/** Sets the contact of a person's enquiries, or their outcome. */
function settle({ enquiries }: Person, result: HubSpotRecord | RecordFault | undefined): void {
  for (const enquiry of enquiries) {
    if (result !== undefined && 'id' in result && !('kind' in result)) enquiry.contactId = result.id;
    else enquiry.outcome = outcomeOf(result);
  }
}

/** Returns the outcome that the fault of a record means. */
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
