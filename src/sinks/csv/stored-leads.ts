import type { StoredLead } from '../sink.ts';
import type { StoredFormat } from '../stored-files.ts';

/** The end of a delivery id: version, hash and, for a replay, its time. */
const VERSION = /:(\d+):[0-9a-f]+(?::r\d+)?$/;

/** The format of this sink's files, with its reader. */
export const storedFormat: StoredFormat = { name: 'CSV', ending: '.csv', leadsOf };

async function* leadsOf(file: string, content: Buffer): AsyncIterable<StoredLead> {
  let at: { readonly id: number; readonly source: number; readonly delivery: number } | undefined;
  const { csvRecords } = await import('../../platform/text/csv-records.ts');
  for await (const record of csvRecords(content)) {
    if (!at) {
      const [id, source, delivery] = ['id', '_leadsync_source', '_leadsync_delivery_id'].map((name) =>
        record.indexOf(name),
      ) as [number, number, number];
      at = { id, source, delivery };
      continue;
    }
    const { [at.id]: leadId = '', [at.source]: source, [at.delivery]: delivery = '' } = record;
    const version = VERSION.exec(delivery)?.[1];
    if (!/^\d+$/.test(leadId) || source === undefined || version === undefined) continue;
    yield { source, leadId: BigInt(leadId), version: Number(version), file };
  }
}
