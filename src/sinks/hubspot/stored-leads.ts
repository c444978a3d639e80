import { leadOfKey } from '../crm/lead-key.ts';
import type { CallLimits } from '../http/api-server.ts';
import type { StoredLead } from '../sink.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { KEY } from './enquiry.ts';
import { type HubSpotApi, type ObjectName, VERSION } from './hubspot-api.ts';

/** Number of records per page. */
const PAGE = 100;

/** Returns the leads that have a record. Reads every record of the object, because a search would miss the newest. @throws SinkUnavailable */
export async function* storedRecords(
  api: HubSpotApi,
  object: Exclude<ObjectName, 'contacts'>,
  limits: Pick<CallLimits, 'stop' | 'confirmLease'>,
): AsyncIterable<StoredLead> {
  for (let after: string | undefined; ; ) {
    const query = new URLSearchParams({
      limit: String(PAGE),
      properties: KEY,
      ...(after === undefined ? {} : { after }),
    });
    const page = await api.list(`/crm/objects/${VERSION}/${object}?${query}`, limits);
    for (const { properties } of page.results as readonly Result[]) {
      const stored = leadOfKey(properties?.[KEY]);
      if (!stored) continue;
      if (limits.stop.aborted) throw new SinkUnavailable('Reading HubSpot was interrupted.', { hint: '' });
      yield stored;
    }
    after = (page.answer as Paged).paging?.next?.after;
    if (after === undefined) return;
  }
}

interface Result {
  readonly properties?: Readonly<Record<string, unknown>>;
}

interface Paged {
  readonly paging?: { readonly next?: { readonly after?: string } };
}
