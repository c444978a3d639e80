import type { CallLimits } from '../http/api-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { chunksOf, MAX_INPUTS } from './batch-requests.ts';
import { type HubSpotApi, type ObjectName, VERSION } from './hubspot-api.ts';

/** A result of a request for associations. */
interface Result {
  readonly from?: { readonly id?: unknown };
  readonly to?: readonly { readonly toObjectId?: unknown }[];
}

/**
 * Returns the ids of the contacts that are linked to deals or leads, by the id of the deal or lead. A record without a contact is absent. @throws
 * SinkUnavailable
 */
export async function readLinkedContacts(
  api: HubSpotApi,
  object: Exclude<ObjectName, 'contacts'>,
  ids: readonly string[],
  limits: Pick<CallLimits, 'stop' | 'confirmLease'>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const linked = new Map<string, readonly string[]>();
  for (const part of chunksOf(ids, MAX_INPUTS)) {
    const body = { inputs: part.map((id) => ({ id })) };
    const path = `/crm/associations/${VERSION}/${object}/contacts/batch/read`;
    const { results } = (await api.ask('POST', path, limits, { body })) ?? {};
    if (!Array.isArray(results))
      throw new SinkUnavailable('HubSpot did not say which contacts the records have.', {
        hint: 'Check `api_url`, and whether a proxy answers in place of HubSpot.',
        unsent: true,
      });
    for (const { from, to = [] } of results as readonly Result[]) {
      const contacts = to.map(({ toObjectId }) => String(toObjectId));
      if (contacts.length > 0) linked.set(String(from?.id), contacts);
    }
  }
  return linked;
}
