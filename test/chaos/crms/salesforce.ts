import { type SalesforceStub, startSalesforceStub } from '../../stub/salesforce/salesforce-stub.ts';
import { type Crm, type HeldRecords, repeated } from './crm.ts';

type Request = Parameters<SalesforceStub['misbehave']>[0];

/** What the org can do wrong, in words. */
export const TROUBLES: Readonly<Record<string, Request>> = {
  'breaks the connection': { upsert: 'cut', data: 'cut' },
  'stores leads and breaks the connection': { upsert: 'cut-after-storing' },
  'stores leads and sends no body': { upsert: 'no-body-after-storing' },
  'stores leads and names none': { upsert: 'no-results-after-storing' },
  'stores leads and leaves one out': { upsert: 'fewer-results' },
  'stores leads and sends half of an answer': { upsert: 'truncated-json-after-storing' },
  'stores leads and says 500': { upsert: 'server-error-after-storing' },
  'stores leads and shows a page of a proxy': { upsert: 'proxy-page-after-storing' },
  'shows a page of a proxy': { upsert: 'proxy-page', data: 'proxy-page' },
  'is in maintenance': { upsert: 'maintenance-page', data: 'maintenance-page' },
  'says that the session has expired': { upsert: 'session-expired', data: 'session-expired' },
  'gives no token': { token: 'server-unavailable' },
  'says 503': { upsert: 'server-unavailable', data: 'server-unavailable' },
  'never answers': { upsert: 'silent-after-storing' },
};

/** Starts a Salesforce org, which makes a lead of each lead. */
export async function openSalesforce(): Promise<Crm> {
  const stub = await startSalesforceStub();
  return {
    sink: 'salesforce',
    oneIn: 5,
    options: {
      type: 'salesforce',
      domain: stub.url,
      client_id: stub.clientId,
      client_secret: stub.clientSecret,
    },
    textField: 'Title',
    misbehave: (trouble) => stub.misbehave(TROUBLES[trouble] as Request),
    behave: () => stub.behave(),
    held: () => heldBy(stub),
    close: () => stub.close(),
  };
}

function heldBy({ records }: SalesforceStub): HeldRecords {
  const keys = (records['Lead'] ?? []).map((lead) => String(lead['Leadsync_Key__c']));
  return { keys, faults: repeated(keys).map((key) => `two leads have the key ${key}`) };
}
