import type { DestinationRecord } from '../../leads/outcome.ts';
import { changesOf, overwriteOf } from '../crm/overwrite.ts';
import type { CallLimits } from '../http/api-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { createLeads } from './create-leads.ts';
import { deliver, type Enquiry, newRecord, type Values } from './enquiry.ts';
import { DESCRIPTION, fitValues, heldValues } from './fit-values.ts';
import type { RecordFault } from './judge-record.ts';
import type { LeadFields } from './lead-fields.ts';
import { mergeIntoMatch } from './merge-into-match.ts';
import { KEY, type SalesforceOptions } from './options.ts';
import type { SalesforceError } from './read-answer.ts';
import { type ExistingLead, readLeads } from './read-leads.ts';
import type { SalesforceApi } from './salesforce-api.ts';
import {
  ALLOW_DUPLICATES,
  saveHeaders,
  UPDATE,
  type WriteOptions,
  type Writing,
  type Written,
  writeRecords,
  writeSingle,
} from './write-records.ts';

const CONVERTED = 'The lead has been converted in Salesforce, so leadsync does not change it.';
const DELETED = 'The lead was deleted in Salesforce, so leadsync does not update it.';
const UNFOUND =
  'No lead in Salesforce has the key of this lead: it was deleted or merged there, or a duplicate rule found the person and leadsync filled in another lead, which it does not update.';
const NEW =
  'A duplicate rule found the person, but no open lead, so leadsync created a new one (`converted: new`).';

/** The headers of an update: it keeps the owner, and Salesforce saves it even if a duplicate rule alerts. */
const UPDATE_HEADERS = saveHeaders(false, true);

/**
 * Creates or updates the lead of each enquiry, and sets the outcome of the enquiry. Reads the leads by their keys first, so that a repeated lead
 * does not overwrite what people wrote.
 * @throws SinkUnavailable if Salesforce cannot be used; an enquiry whose outcome is certain then has that outcome
 */
export class LeadWriter {
  readonly #api: SalesforceApi;
  readonly #options: Pick<SalesforceOptions, 'overwrite' | 'duplicates' | 'converted'>;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #limits: CallLimits;
  /** The fields of leads, as they were last read. */
  #fields: LeadFields;
  #areFieldsFresh = false;
  #existing: ReadonlyMap<string, ExistingLead> = new Map();

  constructor(
    api: SalesforceApi,
    fields: LeadFields,
    {
      limits,
      headers,
      ...options
    }: Pick<SalesforceOptions, 'overwrite' | 'duplicates' | 'converted'> & {
      readonly limits: CallLimits;
      /** The headers of a request that creates leads. */
      readonly headers: Readonly<Record<string, string>>;
    },
  ) {
    this.#api = api;
    this.#fields = fields;
    this.#options = options;
    this.#headers = headers;
    this.#limits = limits;
  }

  async write(enquiries: readonly Enquiry[]): Promise<void> {
    for (const enquiry of enquiries) fitValues(enquiry, this.#fields);
    const keys = enquiries.map(({ key }) => key);
    this.#existing = await readLeads(
      this.#api,
      { by: KEY, keys, names: this.#names(enquiries) },
      this.#limits,
    );
    for (let open = enquiries; open.length > 0; ) open = await this.#writeOnce(open);
  }

  /** Writes enquiries. Returns those with a value that Salesforce does not accept, after that value was left out or cut. */
  async #writeOnce(enquiries: readonly Enquiry[]): Promise<readonly Enquiry[]> {
    const faults: [Enquiry, RecordFault][] = [];
    const settle = (enquiry: Enquiry, written: Written) => {
      if ('id' in written) deliver(enquiry, this.#refOf(written.id));
      else faults.push([enquiry, written.fault]);
    };
    const [creates, updates] = this.#plan(enquiries);
    const how = { limits: this.#limits, headers: this.#headers };
    await createLeads(this.#api, creates, how, settle);
    await writeRecords(this.#api, UPDATE, updates, { ...how, headers: UPDATE_HEADERS }, settle);
    const again: Enquiry[] = [];
    for (const [enquiry, fault] of faults) if (await this.#canRepair(enquiry, fault)) again.push(enquiry);
    return again;
  }

  /** Returns the leads to create and the leads to change. Sets the outcome of every other enquiry. */
  #plan(enquiries: readonly Enquiry[]): readonly [Writing<Enquiry>[], Writing<Enquiry>[]] {
    const creates: Writing<Enquiry>[] = [];
    const updates: Writing<Enquiry>[] = [];
    for (const enquiry of enquiries) {
      const existing = this.#existing.get(enquiry.key);
      if (existing === undefined) {
        if (enquiry.mayCreate) creates.push({ of: enquiry, record: newRecord(enquiry) });
        else deliver(enquiry, undefined, this.#options.duplicates === 'update' ? UNFOUND : DELETED);
        continue;
      }
      const changes = this.#changesOf(enquiry, existing);
      if (existing.isConverted) deliver(enquiry, this.#refOf(existing.id), CONVERTED);
      else if (Object.keys(changes).length === 0) deliver(enquiry, this.#refOf(existing.id));
      else updates.push({ of: enquiry, record: { id: existing.id, ...changes } });
    }
    return [creates, updates];
  }

  #changesOf(enquiry: Enquiry, existing: ExistingLead): Values {
    const held = heldValues(existing.values, this.#fields);
    return changesOf(held, enquiry.values, overwriteOf(enquiry, this.#options.overwrite));
  }

  /** Leaves out or shortens the values at fault, and returns whether to send the enquiry again. If not, sets the enquiry's outcome. */
  async #canRepair(enquiry: Enquiry, fault: RecordFault): Promise<boolean> {
    const existing = this.#existing.get(enquiry.key);
    if (!('kind' in fault)) enquiry.outcome = outcomeOf(fault);
    else if (fault.kind === 'converted') deliver(enquiry, existing && this.#refOf(existing.id), CONVERTED);
    else if (fault.kind === 'gone' && existing !== undefined) {
      if (enquiry.mayCreate) enquiry.outcome = deletedJustNow();
      else deliver(enquiry, undefined, DELETED);
    } else if (fault.kind === 'duplicate' && this.#options.duplicates === 'update' && existing === undefined)
      await this.#writeToMatch(enquiry, fault);
    else if (fault.kind === 'bad-values') {
      if (await this.#leaveOut(enquiry, fault)) return true;
      enquiry.outcome = fault.refused;
    } else enquiry.outcome = outcomeOf(fault);
    return false;
  }

  /** Leaves out the values that are wrong, and cuts values to the present lengths of their fields. Returns whether that changed the enquiry. */
  async #leaveOut(
    enquiry: Enquiry,
    { wrong, isTooLong }: Extract<RecordFault, { readonly kind: 'bad-values' }>,
  ): Promise<boolean> {
    const before = JSON.stringify(enquiry.values);
    for (const name of wrong) enquiry.leftOut.add(this.#fields.get(name)?.name ?? name);
    if (isTooLong && !this.#areFieldsFresh) {
      this.#fields = await this.#api.fields(this.#limits, true);
      this.#areFieldsFresh = true;
    }
    fitValues(enquiry, this.#fields);
    return JSON.stringify(enquiry.values) !== before;
  }

  /** Writes to the open lead that a duplicate rule found. If it found none, creates a lead or refuses the enquiry. */
  async #writeToMatch(
    enquiry: Enquiry,
    fault: Extract<RecordFault, { readonly kind: 'duplicate' }>,
  ): Promise<void> {
    let { matches } = fault;
    if (matches.length === 0) {
      const written = await this.#makeAlone(enquiry, this.#headers);
      if (!('fault' in written)) return deliver(enquiry, this.#refOf(written.id));
      if (!('kind' in written.fault) || written.fault.kind !== 'duplicate') {
        enquiry.outcome = outcomeOf(written.fault);
        return;
      }
      matches = written.fault.matches;
    }
    const match = await this.#openLead(enquiry, matches);
    if (match === undefined) return this.#writeBesideMatches(enquiry, { ...fault, matches });
    const { changes, remark } = mergeIntoMatch(enquiry, match, {
      fields: this.#fields,
      overwrite: this.#options.overwrite,
    });
    const settle = (_: Enquiry, written: Written) => {
      if ('id' in written) deliver(enquiry, this.#refOf(match.id), remark);
      else enquiry.outcome = outcomeOf(written.fault);
    };
    if (Object.keys(changes).length === 0) return settle(enquiry, match);
    const writing = { of: enquiry, record: { id: match.id, ...changes } };
    const how = { limits: this.#limits, headers: UPDATE_HEADERS };
    await writeRecords(this.#api, UPDATE, [writing], how, settle);
  }

  /** Returns the first lead that a duplicate rule found and that is not converted; undefined if there is none. */
  async #openLead(enquiry: Enquiry, matches: SalesforceError['matches']): Promise<ExistingLead | undefined> {
    const keys = matches.flatMap(({ object, id }) => (object === 'Lead' ? [id] : []));
    const names = [KEY, ...this.#names([enquiry])];
    if (this.#fields.get(DESCRIPTION) !== undefined) names.push(DESCRIPTION);
    const found = await readLeads(this.#api, { by: 'Id', keys, names }, this.#limits);
    return [...found.values()].find(({ isConverted }) => !isConverted);
  }

  /**
   * Creates the lead of a person whom Salesforce has only as a contact or a converted lead. Refuses the enquiry with `converted: refuse`, or if a
   * rule blocks it.
   */
  async #writeBesideMatches(
    enquiry: Enquiry,
    { matches, refused }: Extract<RecordFault, { readonly kind: 'duplicate' }>,
  ): Promise<void> {
    if (this.#options.converted === 'new') {
      const written = await this.#makeAlone(enquiry, { ...this.#headers, ...ALLOW_DUPLICATES });
      if (!('fault' in written)) return deliver(enquiry, this.#refOf(written.id), NEW);
      if (!('kind' in written.fault) || written.fault.kind !== 'duplicate') {
        enquiry.outcome = outcomeOf(written.fault);
        return;
      }
    }
    const ids = matches.map(({ object, id }) => `${object} ${id}`).join(', ');
    const reason = `${refused.reason} It found no open lead: ${ids === '' ? 'none that the user of the app may see' : ids}.`;
    enquiry.outcome = { ...refused, reason };
  }

  #makeAlone(enquiry: Enquiry, headers: WriteOptions['headers']): Promise<Written> {
    return writeSingle(this.#api, newRecord(enquiry), { limits: this.#limits, headers });
  }

  /** Returns the names of the fields to compare. */
  #names(enquiries: readonly Enquiry[]): ReadonlySet<string> {
    if (this.#options.overwrite === 'never') return new Set();
    return new Set(enquiries.flatMap(({ values }) => Object.keys(values)));
  }

  #refOf(id: string): DestinationRecord {
    return { object: 'lead', id, url: `${this.#api.addressee.origin}/${id}` };
  }
}

function outcomeOf(fault: RecordFault): Enquiry['outcome'] {
  if (fault instanceof SinkUnavailable) return fault.toOutcome();
  if (fault.kind === 'refused') return fault;
  return 'refused' in fault ? fault.refused : { kind: 'delivered', remark: CONVERTED };
}

function deletedJustNow(): Enquiry['outcome'] {
  const reason = 'The lead was deleted in Salesforce during this attempt.';
  return { kind: 'unavailable', reason, mayHaveArrived: false };
}
