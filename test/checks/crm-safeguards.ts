import type { Safeguard } from './safeguard.ts';

/** What makes of a lead one record in a CRM, and leaves the records of people alone, rests on. */
export const crmSafeguards: readonly Safeguard[] = [
  {
    name: 'leadsync reads the deals of HubSpot before it makes any',
    without: 'a lead that comes again overwrites what people wrote into its deal',
    file: 'src/sinks/hubspot/write-records.ts',
    text: '  for (const enquiry of enquiries) enquiry.existing = byKey.get(enquiry.key);\n',
    instead: '  void byKey;\n',
    tests: ['test/sinks/hubspot'],
  },
  {
    name: 'a record that an answer does not name is not delivered',
    without: 'a lead that HubSpot did not store counts as delivered',
    file: 'src/sinks/hubspot/hubspot-api.ts',
    text: '      if (!written.has(objectWriteTraceId))\n        written.set(objectWriteTraceId, unnamed(this.addressee, answer.httpStatus));',
    instead:
      '      if (!written.has(objectWriteTraceId))\n        written.set(objectWriteTraceId, { id: objectWriteTraceId, properties: {} });',
    tests: ['test/sinks/hubspot/answers.test.ts'],
  },
  {
    name: 'with `overwrite: empty`, a field with a value is not written',
    without: 'leadsync overwrites what a salesperson has typed',
    file: 'src/sinks/crm/overwrite.ts',
    text: "return overwrite === 'always' ? held !== value : isEmpty;",
    instead: 'void isEmpty; return held !== value;',
    tests: ['test/sinks/hubspot', 'test/sinks/pipedrive', 'test/sinks/salesforce'],
  },
  {
    name: 'leadsync keeps its requests within the window that a CRM allows',
    without: 'HubSpot answers 429, and other programs of the account are refused as well',
    file: 'src/sinks/crm/request-window.ts',
    text: 'if (waitMs <= 0 || signal.aborted) break;',
    instead: 'if (waitMs <= 0 || !signal.aborted) break;',
    tests: ['test/sinks/hubspot/limits.test.ts'],
  },
  {
    name: 'before it makes a lead again that may have arrived, leadsync looks for it at Pipedrive',
    without: 'after a lost answer, the lead is in Pipedrive twice',
    file: 'src/sinks/pipedrive/enquiry.ts',
    text: 'lead.deliveries.some(({ mayHaveArrived, replay }) => mayHaveArrived || replay)',
    instead: 'lead.deliveries.some(({ replay }) => replay)',
    tests: ['test/sinks/pipedrive/faults.test.ts', 'test/sinks/pipedrive'],
  },
  {
    name: 'after a lost answer, leadsync also looks for persons that the search of Pipedrive does not show yet',
    without: 'after a lost answer, the person is in Pipedrive twice',
    file: 'src/sinks/pipedrive/write-persons.ts',
    text: 'if (!(error instanceof SinkUnavailable) || error.mayHaveArrived !== false) finder.distrust();',
    instead: 'void SinkUnavailable;',
    tests: ['test/sinks/pipedrive'],
  },
  {
    name: 'a lead that the sink may have is not owed again as one that was left out',
    without: '`leadsync replay --left-out` sends leads twice',
    file: 'src/ledger/delivering/newest-content.ts',
    text: '    if (arrived !== undefined && (!asks || arrived === versionNo)) return false;\n',
    instead: '    void asks;\n',
    tests: ['test/ledger/sqlite-ledger.test.ts'],
  },
];
