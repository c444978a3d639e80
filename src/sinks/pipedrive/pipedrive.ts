import type { Batch } from '../../leads/delivery.ts';
import type { MappedColumn } from '../../leads/mapped-fields.ts';
import type { Outcome } from '../../leads/outcome.ts';
import type { Person as PersonKeys, Subject } from '../../leads/person.ts';
import type { Quota } from '../../leads/quota.ts';
import { outcomesInOrder } from '../crm/batch-leads.ts';
import { KeyedMutex } from '../crm/keyed-mutex.ts';
import { requireFields, requireParts } from '../crm/require-fields.ts';
import { makeAndDelete, notTaken } from '../crm/test-records.ts';
import type { DestinationField, MissingPart } from '../destination-parts.ts';
import { withoutLease } from '../http/api-server.ts';
import {
  type AttemptUnderWay,
  type ErasedRecords,
  type Preview,
  type Sink,
  type StoredLead,
  type TestResult,
  WITHOUT_LEASE,
} from '../sink.ts';
import type { SinkParts } from '../sink-type.ts';
import type { SinkUnavailable } from '../sink-unavailable.ts';
import { type AccountFields, readFields, readPipelines } from './account-fields.ts';
import { enquiryBody, merged, namedFields, noteContent, RecordBuilder, v2Body } from './build-records.ts';
import { calls, costOf } from './calls.ts';
import { type Enquiry, type Person, personsOf } from './enquiry.ts';
import { eraseLeads } from './erase-leads.ts';
import { PersonFinder } from './find-persons.ts';
import type { PipedriveOptions } from './options.ts';
import { type Limits, PipedriveApi } from './pipedrive-api.ts';
import { missingFields } from './prepare-account.ts';
import { requireFitting, requireLinks } from './require-constants.ts';
import { findPerson, type StoreTools, storedLeads } from './stored-leads.ts';
import { EnquiryWriter } from './write-enquiries.ts';

/** Writes the persons of a batch one after the other, each with its leads or deals. */
export class PipedriveSink implements Sink {
  readonly #options: PipedriveOptions;
  readonly #parts: SinkParts;
  readonly #api: PipedriveApi;
  readonly #finder: PersonFinder;
  /** Ensures that two attempts of this process do not write to a person at the same time. */
  readonly #turns = new KeyedMutex();
  /** Undefined until they are read, and after an answer that does not fit them. */
  #fields: AccountFields | undefined;
  /** The last fields that were read. Messages take the names of fields from them, even after `#fields` was discarded. */
  #lastFields: AccountFields | undefined;
  /** The fields against which the constants of the mapping were verified. */
  #verified: AccountFields | undefined;
  /** The fields that have the same value for every lead, according to the mapping of the last batch. */
  #constants: ReadonlySet<string> = new Set();
  /** Whether Pipedrive's answers contain the custom fields of a new lead. */
  #hasEcho = true;

  constructor(options: PipedriveOptions, parts: SinkParts) {
    this.#options = options;
    this.#parts = parts;
    this.#api = new PipedriveApi(options, parts, {
      nameOf: (...field) => this.#lastFields?.nameOf(...field),
      isConstant: (name) => this.#constants.has(name),
    });
    this.#finder = new PersonFinder(this.#api, parts.clock);
  }

  async check(stop: AbortSignal, columns: readonly MappedColumn[] = []): Promise<void> {
    const missing = await this.missingParts(stop, columns);
    const { name } = this.#parts;
    requireParts(missing, 'Pipedrive', `\`leadsync setup ${name} --yes\` creates what is missing.`);
    const fields = await this.destinationFields(stop);
    requireFields(columns, fields, { sink: name, destination: 'Pipedrive' });
    const limits = withoutLease(stop);
    const own = this.#fields ?? (await this.#readFields(limits));
    requireFitting(columns, own, this.#api);
    await requireLinks(columns, own, { api: this.#api, limits });
    this.#api.budget.demand(this.#tokensOfLead, this.#api.addressee.origin);
  }

  missingParts(stop: AbortSignal, columns: readonly MappedColumn[] = []): Promise<readonly MissingPart[]> {
    return missingFields(this.#api, this.#options.object, { columns, limits: withoutLease(stop) });
  }

  async destinationFields(stop: AbortSignal): Promise<readonly DestinationField[]> {
    const limits = withoutLease(stop);
    const fields = await this.#readFields(limits);
    const isDeal = this.#options.object === 'deal';
    return fields.toDestinationFields(isDeal ? await readPipelines(this.#api, limits) : undefined);
  }

  async deliver(
    { deliveries, columns = [] }: Batch,
    stop: AbortSignal,
    under: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<readonly Outcome[]> {
    const persons = personsOf(deliveries, this.#options.object, this.#parts);
    await this.#write(persons, { columns, under, limits: { stop, confirmLease: under.confirmLease } });
    return outcomesInOrder(deliveries, enquiriesOf(persons));
  }

  /** Creates the records of the test lead, and deletes them. */
  async test({ deliveries, columns = [] }: Batch, stop: AbortSignal): Promise<TestResult> {
    const { object } = this.#options;
    const persons = personsOf(deliveries, object, this.#parts);
    const limits = withoutLease(stop);
    const how = { columns, under: WITHOUT_LEASE, limits };
    await makeAndDelete(
      () => this.#write(persons, how),
      () => this.#undo(persons, limits),
    );
    const [outcome] = enquiriesOf(persons).map((enquiry) => enquiry.outcome);
    if (outcome?.kind !== 'delivered') return notTaken(outcome, 'Pipedrive');
    const made = object === 'none' ? 'a person' : `a person and a ${object}`;
    const what = `${this.#options.domain} accepted the test lead: leadsync created ${made}, and deleted what it made.`;
    return {
      arrived: true,
      what: [what, outcome.remark, this.#api.budget.describe(this.#tokensOfLead)].filter(Boolean).join(' '),
    };
  }

  /** Shows the requests for persons and enquiries that Pipedrive does not have yet, with the names of custom fields in place of their codes. */
  preview({ deliveries }: Batch): readonly Preview[] {
    const { object } = this.#options;
    const builder = new RecordBuilder(namedFields, this.#api.addressee);
    const newPerson = ({ email, enquiries }: Person) => {
      const values = enquiries.map((enquiry) => builder.personValues(enquiry).parts);
      return builder.newPerson(merged(values, this.#options.overwrite), email, enquiries);
    };
    return personsOf(deliveries, object, this.#parts).flatMap((person) => [
      this.#previewOf(calls.makePerson.path, v2Body(newPerson(person))),
      ...person.enquiries.flatMap((enquiry) => {
        const link = object === 'none' ? { person_id: '[person]' } : { [`${object}_id`]: `[${object}]` };
        const note = enquiry.note === '' ? [] : [{ content: noteContent(enquiry), ...link }];
        const notes = note.map((body) => this.#previewOf(calls.makeNote.path, body));
        if (object === 'none') return notes;
        const { parts } = builder.record(object, enquiry);
        const body = enquiryBody(object, enquiry, parts, '[person]');
        const { path } = object === 'lead' ? calls.makeLead : calls.makeDeal;
        return [this.#previewOf(path, body), ...notes];
      }),
    ]);
  }

  async *storedLeads(stop: AbortSignal): AsyncIterable<StoredLead> {
    yield* storedLeads(await this.#storeTools(stop));
  }

  async findPerson(subject: Subject, stop: AbortSignal): Promise<PersonKeys> {
    return findPerson(subject, await this.#storeTools(stop));
  }

  async erase({ leads }: PersonKeys, stop: AbortSignal): Promise<ErasedRecords> {
    return eraseLeads(leads, await this.#storeTools(stop));
  }

  quota(): Quota | undefined {
    return this.#api.quota;
  }

  close(): Promise<void> {
    return this.#api.close();
  }

  get #tokensOfLead(): number {
    return costOf(this.#options);
  }

  #previewOf(path: string, body: object): Preview {
    return {
      target: `POST ${this.#options.domain}${path}`,
      fields: { 'x-api-token': '[secret]', 'content-type': 'application/json' },
      content: JSON.stringify(body),
    };
  }

  /** Sets the outcomes of enquiries. Enquiries of persons who were not tried get none. @throws SinkUnavailable if nothing was sent to Pipedrive */
  async #write(
    persons: readonly Person[],
    {
      columns,
      under,
      limits,
    }: {
      readonly columns: readonly MappedColumn[];
      readonly under: AttemptUnderWay;
      readonly limits: Limits;
    },
  ): Promise<void> {
    this.#api.budget.demand(this.#tokensOfLead, this.#api.addressee.origin);
    const fields = this.#fields ?? (await this.#readFields(limits));
    this.#constants = new Set(
      columns.flatMap(({ name, constant }) => (constant === undefined ? [] : [name])),
    );
    if (this.#verified !== fields) await requireLinks(columns, fields, { api: this.#api, limits });
    this.#verified = fields;
    const writer = new EnquiryWriter({
      api: this.#api,
      finder: this.#finder,
      options: this.#options,
      fields,
      limits,
      columns,
      suspectFields: (hasEcho) => this.#suspectFields(hasEcho),
    });
    let failure: SinkUnavailable | undefined;
    for (const [at, person] of persons.entries()) {
      if (at > 0 && under.timeLeftMs() < this.#parts.timeoutMs) break;
      const names = [person.email, ...person.enquiries.map(({ key }) => key)];
      failure = await this.#turns.take(names, () => writer.write(person));
      if (!failure) continue;
      const outcome = failure.beforeSending().toOutcome();
      for (const { enquiries } of persons.slice(at + 1))
        for (const enquiry of enquiries) enquiry.outcome ??= outcome;
      break;
    }
    const outcomes = enquiriesOf(persons).map(({ outcome }) => outcome);
    if (outcomes.some(isOfFields)) this.#fields = undefined;
    if (failure && outcomes.every((one) => one?.kind === 'unavailable' && one.unsent)) throw failure;
  }

  async #readFields(limits: Limits): Promise<AccountFields> {
    this.#lastFields = await readFields(this.#api, this.#options.object, limits);
    this.#fields = this.#lastFields;
    return this.#fields;
  }

  /** Makes the next batch read the fields again, unless Pipedrive's answers never contain them. */
  #suspectFields(hasEcho: boolean): void {
    if (hasEcho || this.#hasEcho) this.#fields = undefined;
    this.#hasEcho = hasEcho;
  }

  async #storeTools(stop: AbortSignal): Promise<StoreTools> {
    const limits = withoutLease(stop);
    const fields = await this.#readFields(limits);
    return { api: this.#api, fields, finder: this.#finder, object: this.#options.object, limits };
  }

  /** Deletes what a test created. Finds records whose answer was lost by their keys. */
  async #undo(persons: readonly Person[], limits: Limits): Promise<void> {
    const leads = persons.flatMap(({ enquiries }) => enquiries.map(({ newest }) => newest));
    await eraseLeads(leads, await this.#storeTools(limits.stop));
  }
}

/** Whether an outcome may be due to fields that have changed in Pipedrive. */
function isOfFields(outcome: Outcome | undefined): boolean {
  if (outcome?.kind === 'refused') return true;
  return outcome?.kind === 'unavailable' && [undefined, 400, 422].includes(outcome.httpStatus);
}

function enquiriesOf(persons: readonly Person[]): readonly Enquiry[] {
  return persons.flatMap(({ enquiries }) => enquiries);
}
