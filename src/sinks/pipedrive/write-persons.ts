import { type MappedColumn, mappedText } from '../../leads/mapped-fields.ts';
import { type Overwrite, overwriteOf } from '../crm/overwrite.ts';
import { type Json, objectOf } from '../http/json-answer.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import type { AccountFields } from './account-fields.ts';
import { merged, type Parts, RecordBuilder, type RecordOwner, v2Body, withKeys } from './build-records.ts';
import { calls, tokensOfLead } from './calls.ts';
import type { Enquiry, Person } from './enquiry.ts';
import type { PersonFinder } from './find-persons.ts';
import { type ExistingRecord, findRecords } from './find-records.ts';
import type { RecordFault } from './judge-answer.ts';
import { AS_TYPED, ENQUIRIES, type PipedriveOptions } from './options.ts';
import { personChanges, unheldOf } from './person-changes.ts';
import { isFault, type Limits, type PipedriveApi } from './pipedrive-api.ts';
import { idOf } from './read-answer.ts';
import { keysOf } from './search-key.ts';

const NO_EMAIL = `Pipedrive does not accept the email address, so it is only in \`${AS_TYPED}\`.`;
const ONLY_AS_TYPED = `Pipedrive has the email address in \`${AS_TYPED}\` only.`;
const NO_PERSON =
  'Pipedrive no longer has a person with the email address or key of the lead, and only a new lead gets one.';
const GONE =
  'The person was deleted or merged in Pipedrive during this attempt. leadsync looks for the person again.';

/** The parts that write the persons and enquiries of one batch. */
export interface WritingTools {
  readonly api: PipedriveApi;
  readonly fields: AccountFields;
  readonly finder: PersonFinder;
  readonly options: Pick<PipedriveOptions, 'object' | 'overwrite'>;
  readonly limits: Limits;
  /** The fields of the mapping, some of which have the same value for every lead. */
  readonly columns: readonly MappedColumn[];
  /** Called if a stored lead lacks fields that were sent: all of them, or only some (`hasEcho`). */
  suspectFields(hasEcho: boolean): void;
}

/** A person as stored after the write, with the records of enquiries that already existed. */
export interface WrittenPerson {
  readonly id: string;
  readonly existing: ReadonlyMap<string, ExistingRecord>;
  /** The keys of enquiries that the person already had. */
  readonly known: ReadonlySet<string>;
}

/** Finds or creates persons. */
export class PersonWriter {
  readonly #tools: WritingTools;
  readonly #builder: RecordBuilder;
  /** The values that enquiries have for their persons. */
  readonly #values = new Map<Enquiry, Parts>();

  constructor(tools: WritingTools) {
    this.#tools = tools;
    this.#builder = new RecordBuilder(tools.fields, tools.api.addressee);
  }

  /**
   * Finds or creates the person of enquiries, and stores the keys of the enquiries in the person before it creates any of their records. Returns
   * undefined if every enquiry has its outcome, and `one by one` if Pipedrive refuses a value that only one of the enquiries may have. @throws
   * SinkUnavailable
   */
  async write(person: Person): Promise<WrittenPerson | 'one by one' | undefined> {
    const { api, options } = this.#tools;
    this.#fit(person);
    const open = openOf(person);
    if (open.length === 0) return undefined;
    const perEnquiry = tokensOfLead(
      options.object,
      open.some(({ note }) => note !== ''),
    );
    api.budget.demand(perEnquiry * open.length, api.addressee.origin);
    const held = await this.#findHeld(person);
    if (held === 'gone') return settle(open, { kind: 'unavailable', reason: GONE, mayHaveArrived: false });
    return held === undefined ? this.#make(person, open) : this.#change(person, open, held);
  }

  /** Sets the values that the enquiries have for the person. Refuses enquiries with a value that is not an option of its field. */
  #fit(person: Person): void {
    for (const enquiry of openOf(person)) {
      const { parts, noOption } = this.#builder.personValues(enquiry);
      this.#values.set(enquiry, parts);
      if (noOption.length > 0) this.refuse([enquiry], noOption);
      if (person.email === undefined && mappedText(enquiry.person.get(AS_TYPED)).trim() !== '')
        enquiry.remarks.push(ONLY_AS_TYPED);
    }
  }

  /** Returns the person as Pipedrive has it; `gone` if Pipedrive's search still finds a person who was deleted. */
  async #findHeld(person: Person): Promise<Json | 'gone' | undefined> {
    const { api, finder, fields, limits } = this.#tools;
    const isThorough = person.enquiries.some(({ mayExist }) => mayExist);
    const found = await finder.find(person, fields, { isThorough, limits });
    if (found.id === undefined) return undefined;
    const held = await api.read(calls.readPerson, found.id, limits);
    if (held) return held;
    finder.forget(found.id);
    const other = await finder.find(person, fields, { isThorough, except: found.id, limits });
    if (other.id === undefined) return other.isGone ? 'gone' : undefined;
    return (await api.read(calls.readPerson, other.id, limits)) ?? 'gone';
  }

  async #make(person: Person, open: readonly Enquiry[]): Promise<WrittenPerson | 'one by one' | undefined> {
    const { api, finder, limits, options } = this.#tools;
    const created = open.filter(({ mayCreate }) => mayCreate);
    if (created.length === 0) return deliverAll(open, NO_PERSON);
    const values = this.#valuesOf(open, options.overwrite);
    const parts = this.#builder.newPerson(values, person.email, created);
    const made = await api
      .write(calls.makePerson, { body: v2Body(parts) }, limits)
      .catch((error: unknown) => {
        if (!(error instanceof SinkUnavailable) || error.mayHaveArrived !== false) finder.distrust();
        throw error;
      });
    if (isFault(made)) {
      if (made.kind !== 'wrong-email' || person.email === undefined) return refuseAlone(open, made);
      person.email = undefined;
      for (const { remarks } of open) remarks.push(NO_EMAIL);
      return this.write(person);
    }
    const id = idOf(made);
    if (id === undefined) {
      finder.distrust();
      throw unnamed(api, 'the person');
    }
    finder.add([...(person.email === undefined ? [] : [person.email]), ...keysOfAll(person)], id);
    person.id = id;
    person.isMade = true;
    this.#setUnheld(open, { ...parts.own, custom_fields: parts.custom });
    return { id, existing: new Map(), known: new Set() };
  }

  /** Writes what a known person lacks, together with the keys of the enquiries. */
  async #change(
    person: Person,
    open: readonly Enquiry[],
    held: Json,
  ): Promise<WrittenPerson | 'one by one' | undefined> {
    const { api, options, fields, limits, finder } = this.#tools;
    const id = idOf(held);
    if (id === undefined) throw unnamed(api, 'the person');
    person.id = id;
    const heldCustom = objectOf(held['custom_fields']) ?? {};
    const heldKeys = new Set(keysOf('person', held, fields));
    const { own, custom } = this.#changesOf(person, open, { held, heldKeys });
    const newKeys = open.filter(({ key, mayCreate }) => mayCreate && !heldKeys.has(key));
    const list = fields.get('person', ENQUIRIES)?.code ?? '';
    const withNew = newKeys.length > 0 ? { [list]: withKeys(String(heldCustom[list] ?? ''), newKeys) } : {};
    const body = v2Body({ own, custom: { ...custom, ...withNew } });
    if (Object.keys(body).length > 0) {
      const changed = await api.write(calls.changePerson, { id, body }, limits);
      if (isFault(changed)) {
        if (changed.kind !== 'gone') return refuseAlone(open, changed);
        finder.forget(id);
        if (!open.some(({ mayCreate }) => mayCreate)) return deliverAll(open, NO_PERSON);
        return settle(open, { kind: 'unavailable', reason: GONE, mayHaveArrived: false });
      }
      if (idOf(changed) === undefined) throw unnamed(api, 'the person');
    }
    finder.add(keysOfAll(person), id);
    this.#setUnheld(open, { ...held, ...own, custom_fields: { ...heldCustom, ...custom } });
    const wanted = open.filter(({ key, mayExist }) => mayExist || heldKeys.has(key));
    const keys = wanted.map(({ key }) => key);
    const { object } = options;
    const existing =
      object === 'none' || keys.length === 0
        ? new Map<string, ExistingRecord>()
        : await findRecords(api, object, { personId: id, keys, fields }, limits);
    return { id, existing, known: heldKeys };
  }

  /**
   * Returns the values to write to a known person. An enquiry that the person already had at most fills empty fields, because people may have
   * edited the person since.
   */
  #changesOf(
    { email }: Person,
    open: readonly Enquiry[],
    { held, heldKeys }: { held: Json; heldKeys: ReadonlySet<string> },
  ): Parts {
    const { overwrite } = this.#tools.options;
    const byPolicy = Map.groupBy(open, (enquiry) =>
      heldKeys.has(enquiry.key) ? overwriteOf(enquiry, overwrite) : overwrite,
    );
    const changes = [...byPolicy]
      .sort(([one], [other]) => Number(one === 'always') - Number(other === 'always'))
      .map(([policy, own]) =>
        personChanges(held, { email, wanted: this.#valuesOf(own, policy), overwrite: policy }),
      );
    return merged(changes, 'always');
  }

  #valuesOf(enquiries: readonly Enquiry[], overwrite: Overwrite): Parts {
    const values = enquiries.map((enquiry) => this.#values.get(enquiry) ?? { own: {}, custom: {} });
    return merged(values, overwrite);
  }

  /** Records which values of each enquiry the person, as now stored, does not have. */
  #setUnheld(enquiries: readonly Enquiry[], person: Json): void {
    for (const enquiry of enquiries) {
      enquiry.unheld = unheldOf(person, enquiry, this.#valuesOf([enquiry], 'always'), this.#tools.fields);
      if (enquiry.mayCreate || enquiry.unheld.length === 0) continue;
      const names = enquiry.unheld.map(({ name }) => `\`${name}\``).join(', ');
      enquiry.remarks.push(`The person in Pipedrive keeps another value in ${names}.`);
    }
  }

  /**
   * Refuses enquiries with values that are not options of their fields. @throws SinkUnavailable if a value is a constant of the mapping, because
   * every lead would have it
   */
  refuse(enquiries: readonly Enquiry[], names: readonly string[]): undefined {
    const { columns, api } = this.#tools;
    const { origin, sink } = api.addressee;
    const shown = names.map((name) => `\`${name}\``).join(', ');
    const what = `Pipedrive at ${origin} has no option of ${shown} that matches the value.`;
    if (columns.some(({ name, constant }) => constant !== undefined && names.includes(name)))
      throw new SinkUnavailable(what, {
        hint: `Add the option in Pipedrive, or correct \`fields\`: \`leadsync fields ${sink}\` lists the options.`,
        unsent: true,
      });
    const reason = `${what} Add the option in Pipedrive, or correct \`fields\`, then run \`leadsync retry\`.`;
    for (const enquiry of enquiries) enquiry.outcome ??= { kind: 'refused', reason };
    return undefined;
  }

  /** Returns the values of the lead or deal of an enquiry; undefined if it is refused. */
  recordOf(owner: RecordOwner, enquiry: Enquiry): Parts | undefined {
    const { parts, noOption } = this.#builder.record(owner, enquiry);
    return noOption.length > 0 ? this.refuse([enquiry], noOption) : parts;
  }
}

/** Returns the outcome of an enquiry whose record has this fault. */
export function refusedBy(fault: RecordFault): NonNullable<Enquiry['outcome']> {
  return fault.kind === 'refused' ? fault : fault.refused;
}

/** Returns the failure of a record that the answer does not name. */
export function unnamed({ addressee }: PipedriveApi, what: string): SinkUnavailable {
  return new SinkUnavailable(`Pipedrive at ${addressee.origin} did not report what happened to ${what}.`, {
    hint: 'Before leadsync sends the lead again, it checks whether Pipedrive already has it.',
    mayHaveArrived: true,
  });
}

function keysOfAll({ enquiries }: Person): readonly string[] {
  return enquiries.map(({ key }) => key);
}

function openOf({ enquiries }: Person): readonly Enquiry[] {
  return enquiries.filter(({ outcome }) => outcome === undefined);
}

/** Refuses an enquiry if it is the only one. If there are several, returns `one by one`, because Pipedrive may accept all but one. */
function refuseAlone(enquiries: readonly Enquiry[], fault: RecordFault): 'one by one' | undefined {
  return enquiries.length > 1 ? 'one by one' : settle(enquiries, refusedBy(fault));
}

function settle(enquiries: readonly Enquiry[], outcome: NonNullable<Enquiry['outcome']>): undefined {
  for (const enquiry of enquiries) enquiry.outcome ??= outcome;
  return undefined;
}

function deliverAll(enquiries: readonly Enquiry[], remark: string): undefined {
  for (const enquiry of enquiries) enquiry.outcome ??= { kind: 'delivered', remark };
  return undefined;
}
