import type { StoredFormat } from '../drop/leads-in-drop.ts';
import type { StoredLead } from '../sink.ts';

/** The end of a delivery id: version, hash, the time of a replay, and the number of reissues. */
const VERSION = /:(\d+):[0-9a-f]+(?::r\d+)?(?::m\d+)?$/;

/** The format of this sink's files, with its reader. */
export const storedFormat: StoredFormat = { name: 'CSV', ending: '.csv', leadsOf, deliveriesOf };

const DELIVERY = '_leadsync_delivery_id';

async function* leadsOf(file: string, content: Buffer): AsyncIterable<StoredLead> {
  let at: { readonly id: number; readonly source: number; readonly delivery: number } | undefined;
  const { csvRecords } = await import('../../platform/text/csv-records.ts');
  for await (const record of csvRecords(content)) {
    if (!at) {
      const place = (name: string) => record.indexOf(name);
      // In a file of mapped leads, a column `id` may be any field; the lead's id has a column of its own.
      const ofMapped = place('_leadsync_lead_id');
      const id = ofMapped < 0 ? place('id') : ofMapped;
      at = { id, source: place('_leadsync_source'), delivery: place(DELIVERY) };
      continue;
    }
    const { [at.id]: leadId = '', [at.source]: source, [at.delivery]: delivery = '' } = record;
    const version = VERSION.exec(delivery)?.[1];
    if (!/^\d+$/.test(leadId) || source === undefined || version === undefined) continue;
    yield { source, leadId: BigInt(leadId), version: Number(version), file };
  }
}

async function* deliveriesOf(content: Buffer): AsyncIterable<string> {
  let at: number | undefined;
  const { csvRecords } = await import('../../platform/text/csv-records.ts');
  for await (const record of csvRecords(content)) {
    const delivery = at === undefined ? undefined : record[at];
    at ??= record.indexOf(DELIVERY);
    if (delivery !== undefined) yield delivery;
  }
}
