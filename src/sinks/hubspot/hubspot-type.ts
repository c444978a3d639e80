import { initialConfigLines } from '../crm/initial-config-lines.ts';
import { defineSink } from '../sink-type.ts';
import { DAILY_UNIT } from './account-limits.ts';
import { MAX_INPUTS } from './batch-requests.ts';
import { fieldFault, type HubSpotOptions, hubspotOptions, standardFields } from './options.ts';

/** Number of requests for a batch of new leads: to read and create contacts and deals, and to link them. A lead is created together with its link. */
const REQUESTS: Readonly<Record<HubSpotOptions['object'], number>> = { deal: 5, lead: 4, none: 2 };

/** Delivers each lead to HubSpot as a contact for the person and a deal or lead for the enquiry. */
export const hubspot = defineSink({
  type: 'hubspot',
  summary: 'Creates a deal (or lead) in HubSpot for each lead, and a contact for each new person.',
  get options() {
    return hubspotOptions();
  },
  fieldFault,
  standardFields,
  place: ['api_url', 'object'],
  leadCost: ({ object }, batchMax) => ({
    unit: DAILY_UNIT,
    amount: REQUESTS[object],
    leads: Math.min(batchMax, MAX_INPUTS),
  }),
  checked: () => 'The key is valid and the properties exist; nothing was written.',
  shownByTest: 'whether the key may write',
  defaults: {
    events: ['created'], // people edit the records
    batchMax: 100,
    batchWaitMs: 0,
    concurrency: 2, // one writes contacts while the other writes deals
    timeoutMs: 60_000,
  },
  setup: {
    option: 'token',
    question: 'the service key of HubSpot, as a variable',
    standard: '${HUBSPOT_TOKEN}',
    entry: (
      token,
      region,
    ) => `  crm:                               # a contact and a deal in HubSpot for each lead; first run \`leadsync setup\`
    type: hubspot
    token: ${token}
${initialConfigLines(region)}`,
    needsSetup: true,
  },
  load: async () => {
    const { HubSpotSink } = await import('./hubspot.ts');
    return (options, parts) => new HubSpotSink(options, parts);
  },
});
