import type { Batch } from '../../leads/delivery.ts';
import type { MappedColumn } from '../../leads/mapped-fields.ts';
import type { DestinationRecord, Outcome } from '../../leads/outcome.ts';
import type { Person } from '../../leads/person.ts';
import type { Quota } from '../../leads/quota.ts';
import { outcomesInOrder, settleRest } from '../crm/batch-leads.ts';
import { KeyedMutex } from '../crm/keyed-mutex.ts';
import { keyText } from '../crm/lead-key.ts';
import { requireFields, requireParts } from '../crm/require-fields.ts';
import { StoredParts } from '../crm/stored-parts.ts';
import { makeAndDelete, notTaken } from '../crm/test-records.ts';
import type { DestinationField, MissingPart } from '../destination-parts.ts';
import { type CallLimits, withoutLease } from '../http/api-server.ts';
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
import { SinkUnavailable } from '../sink-unavailable.ts';
import { type Enquiry, enquiriesOf } from './enquiry.ts';
import { deleteRecords, eraseRecords, type RecordObject, SINGULAR } from './erase-records.ts';
import { HubSpotApi, type ObjectName, objectPath, VERSION } from './hubspot-api.ts';
import type { HubSpotOptions } from './options.ts';
import { missingProperties, readFields } from './prepare-account.ts';
import type { HubSpotRecord } from './read-answer.ts';
import { storedRecords } from './stored-leads.ts';
import { contactInputs, writeContacts } from './write-contacts.ts';
import { deliver, readRecords, recordInputs, VERBS, writeRecords } from './write-records.ts';

/** HubSpot's ids of object types, as they appear in the addresses of records. */
const TYPE_IDS: Readonly<Record<ObjectName, string>> = { contacts: '0-1', deals: '0-3', leads: '0-136' };
const OBJECTS: Readonly<Record<HubSpotOptions['object'], RecordObject | undefined>> = {
  deal: 'deals',
  lead: 'leads',
  none: undefined,
};

/** Where the records of an account are shown. */
interface Account {
  readonly portalId: string;
  readonly domain: string;
}

/** Writes the contacts of a batch first, and then the deals or leads that it links to them. */
export class HubSpotSink implements Sink {
  readonly #options: HubSpotOptions;
  readonly #parts: SinkParts;
  readonly #api: HubSpotApi;
  /** The object in which HubSpot stores enquiries; undefined if there are only contacts. */
  readonly #object: RecordObject | undefined;
  /** Absent if there is no record per lead, because a contact has only the key of its first lead. */
  readonly storedLeads?: (stop: AbortSignal) => AsyncIterable<StoredLead>;
  /** Prevents two batches from writing the contact of the same person at the same time: both could find that there is none yet, and create one. */
  readonly #contacts = new KeyedMutex();
  #account: Account | undefined;

  constructor(options: HubSpotOptions, parts: SinkParts) {
    this.#options = options;
    this.#parts = parts;
    this.#api = new HubSpotApi(options, parts);
    this.#object = OBJECTS[options.object];
    const object = this.#object;
    if (object) this.storedLeads = (stop) => storedRecords(this.#api, object, withoutLease(stop));
  }

  async check(stop: AbortSignal, columns: readonly MappedColumn[] = []): Promise<void> {
    const limits = withoutLease(stop);
    this.#api.lookAgain();
    await this.#readAccount(limits);
    const missing = await this.missingParts(stop, columns);
    requireParts(missing, 'HubSpot', `\`leadsync setup ${this.#parts.name} --yes\` creates what is missing.`);
    const names = { sink: this.#parts.name, destination: 'HubSpot' };
    requireFields(columns, await this.destinationFields(stop), names);
  }

  missingParts(stop: AbortSignal, columns: readonly MappedColumn[] = []): Promise<readonly MissingPart[]> {
    return missingProperties(this.#api, this.#objects, { columns, limits: withoutLease(stop) });
  }

  destinationFields(stop: AbortSignal): Promise<readonly DestinationField[]> {
    return readFields(this.#api, this.#objects, withoutLease(stop));
  }

  async deliver(
    { deliveries }: Batch,
    stop: AbortSignal,
    under: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<readonly Outcome[]> {
    const limits = { stop, confirmLease: under.confirmLease };
    const enquiries = enquiriesOf(deliveries, this.#parts);
    await this.#write(enquiries, limits);
    return outcomesInOrder(deliveries, enquiries);
  }

  /** Creates the records of the test lead, and deletes them. */
  async test({ deliveries }: Batch, stop: AbortSignal): Promise<TestResult> {
    const limits = withoutLease(stop);
    const [enquiry] = enquiriesOf(deliveries, this.#parts);
    if (!enquiry) throw new Error('a batch is never empty');
    const account = { api: this.#api, object: this.#object, limits };
    await makeAndDelete(
      () => this.#write([enquiry], limits),
      () => deleteRecords([enquiry.key], 'archive', account),
    );
    const { outcome } = enquiry;
    if (outcome?.kind !== 'delivered') return notTaken(outcome, 'HubSpot');
    const made = this.#object === undefined ? 'a contact' : `a contact and a ${this.#options.object}`;
    const withoutEmail = outcome.remark === undefined ? '' : ', without its email address';
    const what = `${this.#api.addressee.origin} accepted the test lead${withoutEmail}: leadsync created ${made}, and deleted what it made.`;
    return { arrived: true, what };
  }

  /** Shows the requests for a person and an enquiry that HubSpot does not have yet. */
  preview({ deliveries }: Batch): readonly Preview[] {
    const enquiries = enquiriesOf(deliveries, this.#parts);
    const byKey = enquiries.filter(({ email }) => email === undefined);
    const byEmail = enquiries.filter(({ email }) => email !== undefined);
    const { overwrite } = this.#options;
    const object = this.#object;
    return [
      ...this.#requestOf('contacts', 'create', contactInputs(byEmail, overwrite)),
      ...this.#requestOf('contacts', 'upsert', contactInputs(byKey, overwrite)),
      ...(object ? this.#requestOf(object, VERBS[object], recordInputs(object, enquiries)) : []),
    ];
  }

  #requestOf(object: ObjectName, verb: string, inputs: readonly object[]): readonly Preview[] {
    if (inputs.length === 0) return [];
    return [
      {
        target: `POST ${this.#api.address(objectPath(object, `batch/${verb}`))}`,
        fields: { authorization: 'Bearer [secret]', 'content-type': 'application/json' },
        content: JSON.stringify({ inputs }),
      },
    ];
  }

  async erase({ leads }: Person, stop: AbortSignal): Promise<ErasedRecords> {
    const limits = withoutLease(stop);
    if (!this.#account) await this.#readAccount(limits);
    const refOf = (object: ObjectName, record: HubSpotRecord) => this.#refOf(object, record);
    const keys = [...new Set(leads.map(keyText))];
    return eraseRecords(keys, { api: this.#api, object: this.#object, limits, refOf });
  }

  quota(): Quota | undefined {
    return this.#api.quota;
  }

  close(): Promise<void> {
    return this.#api.close();
  }

  get #objects(): readonly ObjectName[] {
    return this.#object ? ['contacts', this.#object] : ['contacts'];
  }

  /** Sets the outcome of every enquiry. @throws SinkUnavailable if HubSpot could not be used before any outcome was certain */
  async #write(enquiries: readonly Enquiry[], given: CallLimits): Promise<void> {
    const { overwrite } = this.#options;
    const stored = new StoredParts();
    const limits = stored.noting(given);
    try {
      if (!this.#account) await this.#readAccount(limits);
      if (this.#object) await readRecords(this.#api, this.#object, enquiries, limits);
      const persons = enquiries.map(({ email, key }) => email ?? key);
      await this.#contacts.take(persons, () => writeContacts(this.#api, enquiries, { overwrite, limits }));
      const refOf = (record: HubSpotRecord) => this.#refOf(this.#object ?? 'contacts', record);
      if (this.#object) await writeRecords(this.#api, this.#object, enquiries, { overwrite, limits, refOf });
      else
        for (const enquiry of enquiries.filter(({ outcome }) => outcome === undefined))
          deliver(
            enquiry,
            enquiry.contactId === undefined ? undefined : refOf({ id: enquiry.contactId, properties: {} }),
          );
    } catch (error) {
      if (!(error instanceof SinkUnavailable)) throw error;
      settleRest(enquiries, stored.judge(error));
    }
  }

  async #readAccount(limits: CallLimits): Promise<void> {
    const { portalId, uiDomain } =
      (await this.#api.ask('GET', `/account-info/${VERSION}/details`, limits)) ?? {};
    const domain = typeof uiDomain === 'string' && /^[\w.-]+$/.test(uiDomain) ? uiDomain : 'app.hubspot.com';
    this.#account = { portalId: String(portalId), domain };
  }

  #refOf(object: ObjectName, { id }: HubSpotRecord): DestinationRecord {
    const { portalId, domain } = this.#account ?? {};
    const url = `https://${domain}/contacts/${portalId}/record/${TYPE_IDS[object]}/${id}`;
    return { object: SINGULAR[object], id, url: /^\d+$/.test(portalId ?? '') ? url : undefined };
  }
}
