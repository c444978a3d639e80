import type { MappedColumn } from '../../leads/mapped-fields.ts';
import { changesOf, type Overwrite } from '../crm/overwrite.ts';
import { SinkUnavailable } from '../sink.ts';
import type { AccountFields } from './account-fields.ts';
import { keysIn, type Parts, RecordBuilder, type RecordOwner, v2Body, withKeys } from './build-records.ts';
import { calls, tokensOfLead } from './calls.ts';
import type { Enquiry, Person } from './enquiry.ts';
import type { PersonFinder } from './find-persons.ts';
import { type ExistingRecord, findRecords } from './find-records.ts';
import { comparable } from './fit-values.ts';
import type { RecordFault } from './judge-answer.ts';
import { AS_TYPED, ENQUIRIES, KEY, type PipedriveOptions } from './options.ts';
import { isFault, type Limits, type PipedriveApi } from './pipedrive-api.ts';
import { idOf, type Json, listOf, objectOf } from './read-answer.ts';

const NO_EMAIL = `Pipedrive does not take the email address, so that it stands in \`${AS_TYPED}\` alone.`;
const NO_PERSON =
  'Pipedrive no longer has a person with the email address or key of the lead, and only a new lead gets one.';
const GONE =
  'The person was deleted or merged in Pipedrive during this attempt. leadsync looks for the person again.';

/** What a writer works with. */
export interface WritingTools {
  readonly api: PipedriveApi;
  readonly fields: AccountFields;
  readonly finder: PersonFinder;
  readonly options: Pick<PipedriveOptions, 'object' | 'overwrite'>;
  readonly limits: Limits;
  /** The fields of the mapping, of which some have the same value for every lead. */
  readonly columns: readonly MappedColumn[];
  /** Called if a stored lead lacks fields that were sent: all of them, or only some (`hasEcho`). */
  suspectFields(hasEcho: boolean): void;
}

/** A person as Pipedrive has it at the end, with the records of enquiries that were there before. */
export interface WrittenPerson {
  readonly id: string;
  readonly existing: ReadonlyMap<string, ExistingRecord>;
  /** The keys of enquiries that the person had already. */
  readonly known: ReadonlySet<string>;
}

/** Finds or makes persons. */
export class PersonWriter {
  readonly #tools: WritingTools;
  readonly #builder: RecordBuilder;

  constructor(tools: WritingTools) {
    this.#tools = tools;
    this.#builder = new RecordBuilder(tools.fields, tools.api.addressee);
  }

  /**
   * Finds or makes the person of enquiries, and notes the keys of the enquiries there before any of them is made. Returns undefined if every
   * enquiry has its outcome. @throws SinkUnavailable
   */
  async write(person: Person): Promise<WrittenPerson | undefined> {
    const { api, options } = this.#tools;
    const open = person.enquiries.filter(({ outcome }) => outcome === undefined);
    if (open.length === 0) return undefined;
    const perEnquiry = tokensOfLead(
      options.object,
      open.some(({ note }) => note !== ''),
    );
    api.budget.demand(perEnquiry * open.length, api.addressee.origin);
    const held = await this.#findHeld(person);
    if (held === 'gone') return settle(person, { kind: 'unavailable', reason: GONE, mayHaveArrived: false });
    return held === undefined ? this.#make(person) : this.#change(person, held);
  }

  /** Returns the person as Pipedrive has it; `gone` if its search still finds someone who was deleted. */
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

  async #make(person: Person): Promise<WrittenPerson | undefined> {
    const { api, finder, limits } = this.#tools;
    if (!person.enquiries.some(({ mayCreate }) => mayCreate)) return deliverAll(person, NO_PERSON);
    const { parts, noOption } = this.#builder.person(person);
    if (noOption.length > 0) return this.refuse(person.enquiries, noOption);
    const made = await api
      .write(calls.makePerson, { body: v2Body(parts) }, limits)
      .catch((error: unknown) => {
        if (!(error instanceof SinkUnavailable) || error.mayHaveArrived !== false) finder.distrust();
        throw error;
      });
    if (isFault(made)) {
      if (made.kind !== 'wrong-email' || person.email === undefined) return settle(person, refusedBy(made));
      person.email = undefined;
      for (const { remarks } of person.enquiries) remarks.push(NO_EMAIL);
      return this.write(person);
    }
    const id = idOf(made);
    if (id === undefined) {
      finder.distrust();
      throw unnamed(api, 'the person');
    }
    finder.add([...(person.email === undefined ? [] : [person.email]), ...keysOf(person)], id);
    person.id = id;
    person.isMade = true;
    return { id, existing: new Map(), known: new Set() };
  }

  /** Writes what a known person lacks, together with the keys of the enquiries. */
  async #change(person: Person, held: Json): Promise<WrittenPerson | undefined> {
    const { api, options, fields, limits, finder } = this.#tools;
    const id = idOf(held);
    if (id === undefined) throw unnamed(api, 'the person');
    person.id = id;
    const { parts, noOption } = this.#builder.person(person);
    if (noOption.length > 0) return this.refuse(person.enquiries, noOption);
    const heldCustom = objectOf(held['custom_fields']) ?? {};
    const code = (name: string) => fields.get('person', name)?.code ?? '';
    const heldKeys = new Set([...keysIn(heldCustom[code(ENQUIRIES)]), ...keysIn(heldCustom[code(KEY)])]);
    const changes = personChanges(held, parts, options.overwrite, [KEY, ENQUIRIES].map(code));
    const newKeys = person.enquiries.filter(({ key, mayCreate }) => mayCreate && !heldKeys.has(key));
    if (newKeys.length > 0)
      Object.assign(changes.custom, {
        [code(ENQUIRIES)]: withKeys(String(heldCustom[code(ENQUIRIES)] ?? ''), newKeys),
      });
    const body = v2Body(changes);
    if (Object.keys(body).length > 0) {
      const changed = await api.write(calls.changePerson, { id, body }, limits);
      if (isFault(changed)) {
        if (changed.kind !== 'gone') return settle(person, refusedBy(changed));
        finder.forget(id);
        if (!person.enquiries.some(({ mayCreate }) => mayCreate)) return deliverAll(person, NO_PERSON);
        return settle(person, { kind: 'unavailable', reason: GONE, mayHaveArrived: false });
      }
      if (idOf(changed) === undefined) throw unnamed(api, 'the person');
    }
    finder.add(keysOf(person), id);
    const wanted = person.enquiries.filter(({ key, mayExist }) => mayExist || heldKeys.has(key));
    const keys = wanted.map(({ key }) => key);
    const { object } = options;
    const existing =
      object === 'none' || keys.length === 0
        ? new Map<string, ExistingRecord>()
        : await findRecords(api, object, { personId: id, keys, fields }, limits);
    return { id, existing, known: heldKeys };
  }

  /** Sets the outcome of enquiries with values that are no options. A value that every lead has holds the sink. */
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

/** Returns those of the wanted values that a record has to get, in the words of its request. */
export function recordChanges(
  held: { readonly own: Json; readonly custom: Json },
  wanted: Parts,
  overwrite: Overwrite,
  kept: readonly string[],
): { readonly own: Record<string, unknown>; readonly custom: Record<string, unknown> } {
  const changes = (of: Json, values: Parts['own']) => {
    const texts = (all: Parts['own']) =>
      Object.fromEntries(Object.keys(values).map((name) => [name, comparable(all[name])]));
    const names = Object.keys(changesOf(texts(of), texts(values), overwrite));
    return Object.fromEntries(
      names.filter((name) => !kept.includes(name)).map((name) => [name, values[name]]),
    );
  };
  return { own: changes(held.own, wanted.own), custom: changes(held.custom, wanted.custom) };
}

function personChanges(held: Json, wanted: Parts, overwrite: Overwrite, kept: readonly string[]) {
  const { emails, phones, ...own } = wanted.own;
  const custom = objectOf(held['custom_fields']) ?? {};
  const changes = recordChanges({ own: held, custom }, { own, custom: wanted.custom }, overwrite, kept);
  if (overwrite === 'never') return changes;
  // The addresses and numbers that people have added stay.
  const add = (name: 'emails' | 'phones', values: unknown, isFirst: boolean) => {
    const before = listOf(held[name]);
    const [first] = listOf(values);
    if (!first || before.some(({ value }) => String(value).toLowerCase() === first['value'])) return;
    if (before.length > 0 && !isFirst) return;
    changes.own[name] = [first, ...before.map((one) => ({ ...one, primary: false }))];
  };
  add('emails', emails, false);
  add('phones', phones, overwrite === 'always');
  return changes;
}

/** Returns the outcome that the fault of a record means. */
export function refusedBy(fault: RecordFault): NonNullable<Enquiry['outcome']> {
  return fault.kind === 'refused' ? fault : fault.refused;
}

/** Returns the failure of a record that the answer does not name. */
export function unnamed({ addressee }: PipedriveApi, what: string): SinkUnavailable {
  return new SinkUnavailable(`Pipedrive at ${addressee.origin} does not say what became of ${what}.`, {
    hint: 'leadsync looks before it sends the lead again.',
    mayHaveArrived: true,
  });
}

function keysOf({ enquiries }: Person): readonly string[] {
  return enquiries.map(({ key }) => key);
}

function settle({ enquiries }: Person, outcome: NonNullable<Enquiry['outcome']>): undefined {
  for (const enquiry of enquiries) enquiry.outcome ??= outcome;
  return undefined;
}

function deliverAll({ enquiries }: Person, remark: string): undefined {
  for (const enquiry of enquiries) enquiry.outcome ??= { kind: 'delivered', remark };
  return undefined;
}
