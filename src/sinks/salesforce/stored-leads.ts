import { leadOfKey } from '../crm/lead-key.ts';
import { SinkUnavailable, type StoredLead } from '../sink.ts';
import { KEY } from './options.ts';
import { API, type Limits, type SalesforceApi } from './salesforce-api.ts';

/** Returns the leads that an org has from leadsync, in bounded memory. @throws SinkUnavailable */
export async function* storedLeads(api: SalesforceApi, limits: Limits): AsyncIterable<StoredLead> {
  for await (const page of api.query(`SELECT ${KEY} FROM Lead WHERE ${KEY} != null`, limits))
    for (const { [KEY]: key } of page) {
      if (limits.stop.aborted) throw new SinkUnavailable('Reading Salesforce was interrupted.', { hint: '' });
      const stored = leadOfKey(key);
      if (stored) yield stored;
    }
}

/** Moves the leads with these keys to the recycle bin. Returns their number. @throws SinkUnavailable */
export async function deleteLeads(
  api: SalesforceApi,
  keys: readonly string[],
  limits: Limits,
): Promise<number> {
  // Without the field, Salesforce answers as it does for a lead that is not there.
  if (keys.length > 0 && (await api.fields(limits, true)).get(KEY) === undefined)
    throw new SinkUnavailable(`Salesforce has no field \`${KEY}\` by which leadsync could find the leads.`, {
      hint: `\`leadsync setup ${api.addressee.sink}\` shows and makes what is missing.`,
      unsent: true,
    });
  let deleted = 0;
  for (const key of keys) {
    const path = `${API}/sobjects/Lead/${KEY}/${encodeURIComponent(key)}`;
    const isAbsent = ({ httpStatus }: { readonly httpStatus: number }) => httpStatus === 404;
    if (await api.ask({ method: 'DELETE', path }, limits, { isExpected: isAbsent })) deleted += 1;
  }
  return deleted;
}
