import type { Batch } from '../../leads/delivery.ts';
import type { MappedColumn } from '../../leads/mapped-fields.ts';
import type { Outcome } from '../../leads/outcome.ts';
import type { Person } from '../../leads/person.ts';
import type { Quota } from '../../leads/quota.ts';
import { outcomesInOrder, settleRest } from '../crm/batch-leads.ts';
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
import { type Enquiry, enquiriesOf, newRecord } from './enquiry.ts';
import { deleteLeads, eraseLeads } from './erase-leads.ts';
import type { LeadFields } from './lead-fields.ts';
import { LeadWriter } from './lead-writer.ts';
import type { SalesforceOptions } from './options.ts';
import { missingInOrg, requireUsable } from './prepare-org.ts';
import { SalesforceApi } from './salesforce-api.ts';
import { storedLeads } from './stored-leads.ts';
import { collection, saveHeaders, UPSERT } from './write-records.ts';

/** Writes the leads of a batch by their key, after it has read which of them exist. */
export class SalesforceSink implements Sink {
  readonly #options: SalesforceOptions;
  readonly #parts: SinkParts;
  readonly #api: SalesforceApi;

  constructor(options: SalesforceOptions, parts: SinkParts) {
    this.#options = options;
    this.#parts = parts;
    this.#api = new SalesforceApi(options, parts);
  }

  async check(stop: AbortSignal, columns: readonly MappedColumn[] = []): Promise<void> {
    const missing = await this.missingParts(stop, columns);
    requireParts(missing, 'Salesforce', this.#setup);
    const fields = (await this.#api.fields(withoutLease(stop))).toDestinationFields();
    requireFields(columns, fields, { sink: this.#parts.name, destination: 'Salesforce' });
    const names = new Set(columns.map(({ name }) => name));
    const required = fields.filter(({ name, required }) => required && !names.has(name));
    if (required.length > 0)
      throw new SinkUnavailable(
        `Salesforce requires ${required.map(({ name }) => `\`${name}\``).join(', ')} of a lead, and the mapping has no such field.`,
        {
          hint: "Add each of them to the sink's `fields`, or make it optional in Salesforce.",
          unsent: true,
        },
      );
  }

  missingParts(stop: AbortSignal, columns: readonly MappedColumn[] = []): Promise<readonly MissingPart[]> {
    return missingInOrg(this.#api, { columns, limits: withoutLease(stop) });
  }

  async destinationFields(stop: AbortSignal): Promise<readonly DestinationField[]> {
    return (await this.#api.fields(withoutLease(stop), true)).toDestinationFields();
  }

  async deliver(
    { deliveries }: Batch,
    stop: AbortSignal,
    under: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<readonly Outcome[]> {
    const enquiries = enquiriesOf(deliveries, this.#parts);
    await this.#write(enquiries, { stop, confirmLease: under.confirmLease });
    return outcomesInOrder(deliveries, enquiries);
  }

  /** Creates the test lead, and deletes it. */
  async test({ deliveries }: Batch, stop: AbortSignal): Promise<TestResult> {
    const limits = withoutLease(stop);
    const [enquiry] = enquiriesOf(deliveries, this.#parts);
    if (!enquiry) throw new Error('a batch is never empty');
    if (!(await this.#fieldsFor([enquiry], limits)).mayDelete)
      return {
        arrived: false,
        what: 'The user of the app may not delete leads, so the test lead would stay in Salesforce. leadsync therefore did not create it. Allow the user to delete leads; `leadsync erase` needs that too.',
      };
    // Not `update`: the lead that a rule finds is not leadsync's to delete.
    const duplicates = this.#options.duplicates === 'refuse' ? 'refuse' : 'save';
    await makeAndDelete(
      () => this.#write([enquiry], limits, duplicates),
      () => deleteLeads(this.#api, [enquiry.key], limits),
    );
    const { outcome } = enquiry;
    if (outcome?.kind !== 'delivered') return notTaken(outcome, 'Salesforce');
    const what = `${this.#options.domain} accepted the test lead: leadsync created it and deleted it again.`;
    return {
      arrived: true,
      what: [what, outcome.remark, this.#api.usage.describe()].filter(Boolean).join(' '),
    };
  }

  /** Shows the request for leads that Salesforce does not have yet. */
  preview({ deliveries }: Batch): readonly Preview[] {
    const enquiries = enquiriesOf(deliveries, this.#parts);
    return [
      {
        target: `${UPSERT.method} ${this.#options.domain}${UPSERT.path}`,
        fields: {
          authorization: 'Bearer [secret]',
          'content-type': 'application/json',
          ...this.#headersFor(enquiries),
        },
        content: JSON.stringify(collection(enquiries.map(newRecord))),
      },
    ];
  }

  storedLeads(stop: AbortSignal): AsyncIterable<StoredLead> {
    return storedLeads(this.#api, withoutLease(stop));
  }

  async erase({ leads }: Person, stop: AbortSignal): Promise<ErasedRecords> {
    const mayBeElsewhere = this.#options.duplicates === 'update';
    return eraseLeads(this.#api, leads.map(keyText), { mayBeElsewhere, limits: withoutLease(stop) });
  }

  quota(): Quota | undefined {
    return this.#api.usage.quota();
  }

  close(): Promise<void> {
    return this.#api.close();
  }

  get #setup(): string {
    return `\`leadsync setup ${this.#parts.name} --yes\` creates what is missing; \`--print\` prints the commands for an administrator.`;
  }

  /** Sets the outcome of every enquiry. @throws SinkUnavailable if Salesforce could not be used before any outcome was certain */
  async #write(
    enquiries: readonly Enquiry[],
    given: CallLimits,
    duplicates = this.#options.duplicates,
  ): Promise<void> {
    const { overwrite, converted } = this.#options;
    const stored = new StoredParts();
    const limits = stored.noting(given);
    try {
      const fields = await this.#fieldsFor(enquiries, limits);
      const headers = this.#headersFor(enquiries, duplicates);
      const options = { overwrite, duplicates, converted, headers, limits };
      await new LeadWriter(this.#api, fields, options).write(enquiries);
    } catch (error) {
      this.#api.forgetFields();
      if (!(error instanceof SinkUnavailable)) throw error;
      settleRest(enquiries, stored.judge(error));
    }
    if (enquiries.some(({ outcome }) => outcome?.kind === 'unavailable')) this.#api.forgetFields();
  }

  /** Returns the fields of leads. Verifies that they include those of the enquiries. @throws SinkUnavailable if the org lacks one */
  async #fieldsFor(enquiries: readonly Enquiry[], limits: CallLimits): Promise<LeadFields> {
    const names = new Set(enquiries.flatMap((enquiry) => Object.keys(newRecord(enquiry))));
    const lackingIn = (fields: LeadFields) => [...names].filter((name) => !fields.canWrite(name));
    let fields = await this.#api.fields(limits);
    if (lackingIn(fields).length > 0) fields = await this.#api.fields(limits, true);
    requireUsable(fields, this.#options.domain);
    const lacking = lackingIn(fields);
    if (lacking.length > 0)
      throw new SinkUnavailable(
        `Leads in Salesforce have no ${lacking.map((name) => `\`${name}\``).join(', no ')} that the user of the app may write.`,
        { hint: this.#setup, unsent: true },
      );
    return fields;
  }

  /**
   * Returns the headers of a request that creates leads. By default, they turn off the assignment rule if the mapping gives a lead its owner,
   * because the rule would replace that owner.
   */
  #headersFor(
    enquiries: readonly Enquiry[],
    duplicates = this.#options.duplicates,
  ): Readonly<Record<string, string>> {
    const hasOwner = enquiries.some(({ mapped }) =>
      Object.keys(mapped).some((name) => /^OwnerId$/i.test(name)),
    );
    const { assignment = !hasOwner } = this.#options;
    return saveHeaders(assignment, duplicates === 'save');
  }
}
