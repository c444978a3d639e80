import type { ErasedRecords, KeptRecord } from '../sink.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { KEY } from './options.ts';
import { readLeads } from './read-leads.ts';
import { API, type Limits, type SalesforceApi } from './salesforce-api.ts';

/** The fields of a converted lead that name what it became. */
const CONVERTED_TO = {
  ConvertedContactId: 'contact',
  ConvertedAccountId: 'account',
  ConvertedOpportunityId: 'opportunity',
};
const RECYCLING =
  "Salesforce's recycle bin keeps deleted leads for 15 days, unless an administrator empties it.";
const UNFOUND =
  'Some of these leads are not in Salesforce, or the user of the app may not see them. What `duplicates: update` wrote into another lead has no key either: look for the person by email address or phone number, and empty or delete by hand what you find.';

/**
 * Moves the leads with these keys to the recycle bin. Keeps the records that people converted them to, and returns those. `mayBeElsewhere`:
 * whether enquiries may have been written to leads that do not have the keys of these enquiries. @throws SinkUnavailable
 */
export async function eraseLeads(
  api: SalesforceApi,
  keys: readonly string[],
  { mayBeElsewhere, limits }: { readonly mayBeElsewhere: boolean; readonly limits: Limits },
): Promise<ErasedRecords> {
  await requireKeyField(api, limits);
  const fields = await api.fields(limits);
  const names = Object.keys(CONVERTED_TO).filter((name) => fields.get(name) !== undefined);
  const found = await readLeads(api, { by: KEY, keys, names }, limits);
  const kept = new Map<string, KeptRecord>();
  for (const { values } of found.values())
    for (const [name, object] of Object.entries(CONVERTED_TO)) {
      const id = values[name];
      if (typeof id !== 'string') continue;
      const url = `${api.addressee.origin}/${id}`;
      kept.set(id, { object, id, url, why: 'a lead was converted to it' });
    }
  const lead = await deleteLeads(api, keys, limits);
  return {
    deleted: lead > 0 ? { lead } : {},
    kept: [...kept.values()],
    remark: RECYCLING,
    unfound: mayBeElsewhere && lead < keys.length ? UNFOUND : undefined,
  };
}

/** Moves the leads with these keys to the recycle bin. Returns their number. @throws SinkUnavailable */
export async function deleteLeads(
  api: SalesforceApi,
  keys: readonly string[],
  limits: Limits,
): Promise<number> {
  if (keys.length > 0) await requireKeyField(api, limits);
  let deleted = 0;
  for (const key of keys) {
    const path = `${API}/sobjects/Lead/${KEY}/${encodeURIComponent(key)}`;
    const isAbsent = ({ httpStatus }: { readonly httpStatus: number }) => httpStatus === 404;
    if (await api.ask({ method: 'DELETE', path }, limits, { isExpected: isAbsent })) deleted += 1;
  }
  return deleted;
}

/** Verifies that the key field exists, because without it Salesforce answers as if the lead did not exist. @throws SinkUnavailable */
async function requireKeyField(api: SalesforceApi, limits: Limits): Promise<void> {
  if ((await api.fields(limits, true)).get(KEY) !== undefined) return;
  throw new SinkUnavailable(`Salesforce has no field \`${KEY}\` by which leadsync could find the leads.`, {
    hint: `\`leadsync setup ${api.addressee.sink}\` shows what is missing; \`--yes\` creates it.`,
    unsent: true,
  });
}
