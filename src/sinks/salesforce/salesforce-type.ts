import { initialConfigLines } from '../crm/initial-config-lines.ts';
import { defineSink } from '../sink-type.ts';
import { DAILY_UNIT } from './api-usage.ts';
import { fieldFault, salesforceOptions, standardFields } from './options.ts';
import { MAX_RECORDS } from './write-records.ts';

/** Delivers each lead to Salesforce as a record of the object Lead. */
export const salesforce = defineSink({
  type: 'salesforce',
  summary: 'Creates a lead in Salesforce for each lead.',
  get options() {
    return salesforceOptions();
  },
  fieldFault,
  standardFields,
  place: ['domain'],
  leadCost: (_options, batchMax) => ({
    unit: DAILY_UNIT,
    amount: 2, // reads the leads by key, and upserts them
    leads: Math.min(batchMax, MAX_RECORDS),
  }),
  checked: () => 'Logged in, and the fields exist; nothing was written.',
  defaults: {
    events: ['created'], // people edit the records
    batchMax: 200,
    batchWaitMs: 0,
    concurrency: 1, // two requests at once can wait for each other's locks
    timeoutMs: 60_000,
  },
  setup: {
    option: 'domain',
    question: 'the My Domain address of Salesforce',
    standard: '${SALESFORCE_DOMAIN}',
    entry: (
      domain,
      region,
    ) => `  crm:                               # a lead in Salesforce for each lead; first run \`leadsync setup\`
    type: salesforce
    domain: ${domain}
    client_id: \${SALESFORCE_CLIENT_ID}
    client_secret: \${SALESFORCE_CLIENT_SECRET}
${initialConfigLines(region)}`,
    needsSetup: true,
  },
  load: async () => {
    const { SalesforceSink } = await import('./salesforce.ts');
    return (options, parts) => new SalesforceSink(options, parts);
  },
});
