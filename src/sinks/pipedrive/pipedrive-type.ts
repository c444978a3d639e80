import { initialConfigLines } from '../crm/initial-config-lines.ts';
import { defineSink } from '../sink-type.ts';
import { costOf } from './calls.ts';
import { fieldFault, pipedriveOptions, standardFields } from './options.ts';
import { DAILY_UNIT } from './token-budget.ts';

/** Delivers each lead to Pipedrive as a person for the client and a lead or deal for the enquiry. */
export const pipedrive = defineSink({
  type: 'pipedrive',
  summary: 'Creates a lead (or deal) in Pipedrive for each lead, and a person for each new client.',
  get options() {
    return pipedriveOptions();
  },
  fieldFault,
  standardFields,
  place: ['domain', 'object'],
  leadCost: (options) => ({
    unit: DAILY_UNIT,
    amount: costOf(options),
    leads: 1,
    limit: options.daily_tokens,
  }),
  checked: () => 'The token is valid and the fields exist; nothing was written.',
  defaults: {
    events: ['created'], // people edit the records
    batchMax: 10, // after an interruption, leadsync has to search for each lead of the batch
    batchWaitMs: 0,
    concurrency: 1, // two processes could create two persons for one client
    timeoutMs: 60_000,
  },
  setup: {
    option: 'domain',
    question: 'the address of the company at Pipedrive',
    standard: '${PIPEDRIVE_DOMAIN}',
    entry: (
      domain,
      region,
    ) => `  crm:                               # a person and a lead in Pipedrive for each lead; first run \`leadsync setup\`
    type: pipedrive
    domain: ${domain}
    token: \${PIPEDRIVE_TOKEN}
${initialConfigLines(region)}`,
    needsSetup: true,
  },
  load: async () => {
    const { PipedriveSink } = await import('./pipedrive.ts');
    return (options, parts) => new PipedriveSink(options, parts);
  },
});
