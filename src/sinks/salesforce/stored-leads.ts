import { leadOfKey } from '../crm/lead-key.ts';
import type { StoredLead } from '../sink.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { KEY } from './options.ts';
import type { Limits, SalesforceApi } from './salesforce-api.ts';

/** Returns the leads that an org has from leadsync, in bounded memory. @throws SinkUnavailable */
export async function* storedLeads(api: SalesforceApi, limits: Limits): AsyncIterable<StoredLead> {
  for await (const page of api.query(`SELECT ${KEY} FROM Lead WHERE ${KEY} != null`, limits))
    for (const { [KEY]: key } of page) {
      if (limits.stop.aborted) throw new SinkUnavailable('Reading Salesforce was interrupted.', { hint: '' });
      const stored = leadOfKey(key);
      if (stored) yield stored;
    }
}
