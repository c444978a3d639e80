import type { DestinationRecord } from '../../leads/outcome.ts';
import { deliveredAs } from '../crm/batch-leads.ts';
import { overwriteOf } from '../crm/overwrite.ts';
import { StoredParts } from '../crm/stored-parts.ts';
import type { Json } from '../http/json-answer.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import {
  enquiryBody,
  leadBody,
  noteContent,
  noteMark,
  noteText,
  type Parts,
  type RecordOwner,
  v2Body,
} from './build-records.ts';
import { calls } from './calls.ts';
import type { Enquiry, Person } from './enquiry.ts';
import type { ExistingRecord } from './find-records.ts';
import { KEY, URL_FIELD } from './options.ts';
import { recordChanges } from './person-changes.ts';
import { isFault } from './pipedrive-api.ts';
import { idOf } from './read-answer.ts';
import { customOf } from './search-key.ts';
import { PersonWriter, refusedBy, unnamed, type WritingTools, type WrittenPerson } from './write-persons.ts';

const DELETED = 'The record was deleted or archived in Pipedrive, so leadsync does not update it.';
const NOT_FOUND =
  'Pipedrive has no record with the key of the lead: it was deleted, or its key was changed. leadsync updates none.';
const ARCHIVED = 'The record is archived in Pipedrive, so leadsync does not change it.';
const CONVERTED = 'The lead has become a deal in Pipedrive, so leadsync does not change it.';
const NO_NOTE = 'Pipedrive did not accept the note.';
const PERSON_GONE =
  'The person was deleted or merged in Pipedrive during this attempt. leadsync looks for the person again.';

const MAKE = { lead: calls.makeLead, deal: calls.makeDeal };
const CHANGE = { lead: calls.changeLead, deal: calls.changeDeal };

/** Creates or changes the Pipedrive records of persons and their enquiries, and sets the outcomes of the enquiries. */
export class EnquiryWriter {
  readonly #tools: WritingTools;
  readonly #persons: PersonWriter;
  /** The values to write to the record of each enquiry. */
  readonly #parts = new Map<Enquiry, Parts>();

  /** Whether Pipedrive may have stored data of the person that is being written. */
  #stored = new StoredParts();

  constructor({ limits, ...tools }: WritingTools) {
    const onStored = () => this.#stored.note();
    this.#tools = { ...tools, limits: { ...limits, onStored } };
    this.#persons = new PersonWriter(this.#tools);
  }

  /**
   * Delivers a person and the person's enquiries. A failure is the outcome of the enquiry that was being written; later enquiries are unsent.
   * Returns the failure, after which the caller must stop.
   */
  async write(person: Person): Promise<SinkUnavailable | undefined> {
    const result = await this.#writeTogether(person);
    if (result !== 'one by one') return result;
    const open = person.enquiries.filter(({ outcome }) => outcome === undefined);
    for (const [at, enquiry] of open.entries()) {
      const failure = await this.#writeTogether({ ...person, enquiries: [enquiry] });
      if (!(failure instanceof SinkUnavailable)) continue;
      for (const later of open.slice(at + 1)) later.outcome = failure.beforeSending().toOutcome();
      return failure;
    }
    return undefined;
  }

  async #writeTogether(person: Person): Promise<SinkUnavailable | 'one by one' | undefined> {
    let current: Enquiry | undefined;
    this.#stored = new StoredParts();
    try {
      const { object } = this.#tools.options;
      if (object !== 'none')
        for (const enquiry of person.enquiries) {
          const parts = this.#persons.recordOf(object, enquiry);
          if (parts) this.#parts.set(enquiry, parts);
        }
      const written = await this.#persons.write(person);
      if (!written || written === 'one by one') return written;
      for (current of person.enquiries.filter(({ outcome }) => outcome === undefined))
        await this.#writeEnquiry(current, person, written);
      return undefined;
    } catch (error) {
      if (!(error instanceof SinkUnavailable)) throw error;
      const failure = this.#stored.judge(error);
      for (const enquiry of person.enquiries)
        enquiry.outcome ??= outcomeOf(failure, enquiry, current === undefined || enquiry === current);
      return failure;
    }
  }

  async #writeEnquiry(
    enquiry: Enquiry,
    person: Person,
    { id, existing, known }: WrittenPerson,
  ): Promise<void> {
    const { object } = this.#tools.options;
    if (object === 'none') {
      enquiry.recordId = id; // from now on, Pipedrive has a part of the lead
      const isNew = !known.has(enquiry.key);
      await this.#writeNote(enquiry, { person_id: Number(id) }, isNew);
      enquiry.outcome = deliveredAs(refOf(this.#tools.api.addressee, 'person', id), enquiry.remarks);
      return;
    }
    const held = existing.get(enquiry.key);
    if (!held && !enquiry.mayCreate)
      enquiry.outcome = deliveredAs(undefined, [...enquiry.remarks, NOT_FOUND]);
    else if (held) await this.#change(enquiry, held);
    else await this.#make(object, enquiry, person, id);
    const { recordId } = enquiry;
    if (enquiry.outcome !== undefined || recordId === undefined) return;
    const owner = held?.object ?? object;
    if (!held?.isArchived) {
      const link = owner === 'lead' ? { lead_id: recordId } : { deal_id: Number(recordId) };
      await this.#writeNote(enquiry, link, held === undefined);
    }
    enquiry.outcome = deliveredAs(refOf(this.#tools.api.addressee, owner, recordId), enquiry.remarks);
  }

  async #make(object: RecordOwner, enquiry: Enquiry, person: Person, personId: string): Promise<void> {
    const { api, finder, limits } = this.#tools;
    const parts = this.#parts.get(enquiry);
    if (!parts) return;
    const body = enquiryBody(object, enquiry, parts, Number(personId));
    const made = await api.write(MAKE[object], { body }, limits);
    if (isFault(made)) {
      const isPersonGone =
        !person.isMade && (await api.read(calls.readPerson, personId, limits)) === undefined;
      if (isPersonGone) finder.forget(personId);
      enquiry.outcome = isPersonGone
        ? { kind: 'unavailable', reason: PERSON_GONE, mayHaveArrived: false }
        : refusedBy(made);
      return;
    }
    enquiry.recordId = idOf(made);
    if (enquiry.recordId === undefined) throw unnamed(api, `the ${object}`);
    this.#compareStored(object, enquiry, parts, made);
  }

  /**
   * Checks that the answer contains the custom fields that were sent, because Pipedrive does not document whether it drops a field that no longer
   * exists. If some are missing, adds a remark, and has the fields read again.
   */
  #compareStored(object: RecordOwner, enquiry: Enquiry, { custom }: Parts, stored: Json): void {
    const held = customOf(object, stored);
    const lacking = Object.keys(custom).filter((code) => !(code in held));
    if (lacking.length === 0) return;
    const hasEcho = lacking.length < Object.keys(custom).length;
    this.#tools.suspectFields(hasEcho);
    if (!hasEcho) return;
    const { nameOf } = this.#tools.api.addressee;
    const shown = lacking.map((code) => `\`${nameOf(code) ?? 'a field'}\``).join(', ');
    enquiry.remarks.push(`Pipedrive stored the ${object} without ${shown}: the field was deleted.`);
  }

  async #change(enquiry: Enquiry, held: ExistingRecord): Promise<void> {
    const { api, options, limits, fields } = this.#tools;
    enquiry.recordId = held.id;
    if (held.object !== options.object || held.isArchived) {
      if (!enquiry.mayCreate) enquiry.remarks.push(held.object === options.object ? ARCHIVED : CONVERTED);
      return;
    }
    const parts = this.#parts.get(enquiry);
    if (!parts) return;
    const kept = [KEY, URL_FIELD].flatMap((name) => fields.get(held.object, name)?.code ?? []);
    const policy = overwriteOf(enquiry, options.overwrite);
    const stored = { own: held.record, custom: customOf(held.object, held.record) };
    const changes = recordChanges(stored, parts, policy, kept);
    const body = held.object === 'lead' ? leadBody(changes) : v2Body(changes);
    if (Object.keys(body).length === 0) return;
    const changed = await api.write(CHANGE[held.object], { id: held.id, body }, limits);
    if (!isFault(changed)) {
      if (idOf(changed) === undefined) throw unnamed(api, `the ${held.object}`);
    } else if (changed.kind === 'gone') {
      enquiry.outcome = deliveredAs(undefined, [...enquiry.remarks, DELETED]);
    } else enquiry.outcome = refusedBy(changed);
  }

  /** Adds the note of a new enquiry. Looks for the note first if the record already existed, because an earlier attempt may have added it. */
  async #writeNote(
    enquiry: Enquiry,
    link: Readonly<Record<string, string | number>>,
    isNew: boolean,
  ): Promise<void> {
    const { api, limits } = this.#tools;
    if (noteText(enquiry) === '' || !enquiry.mayCreate || (!isNew && !enquiry.mayExist)) return;
    if (!isNew) {
      const query = Object.fromEntries(Object.entries(link).map(([name, id]) => [name, String(id)]));
      const mark = noteMark(enquiry);
      for await (const { content } of api.list(calls.listNotes, query, limits))
        if (typeof content === 'string' && mark.test(content)) return;
    }
    const made = await api.write(
      calls.makeNote,
      { body: { content: noteContent(enquiry), ...link } },
      limits,
    );
    if (isFault(made)) enquiry.remarks.push(NO_NOTE);
    else {
      enquiry.noteId = idOf(made);
      if (enquiry.noteId === undefined) throw unnamed(api, 'the note');
    }
  }
}

/** Returns the outcome of an enquiry after a failure. An enquiry whose record was already created has arrived, at least in part. */
function outcomeOf(error: SinkUnavailable, { recordId }: Enquiry, isUnderWay: boolean): Enquiry['outcome'] {
  if (recordId !== undefined) return { ...error.toOutcome(), unsent: false, mayHaveArrived: true };
  return (isUnderWay ? error : error.beforeSending()).toOutcome();
}

/** Returns a record with its address in Pipedrive. */
export function refOf(
  { origin }: { readonly origin: string },
  object: RecordOwner | 'person',
  id: string,
): DestinationRecord {
  const path = { lead: `leads/inbox/${id}`, deal: `deal/${id}`, person: `person/${id}` }[object];
  return { object, id, url: `${origin}/${path}` };
}
