import type { StoredFormat } from '../drop/leads-in-drop.ts';
import type { StoredLead } from '../sink.ts';

/** The columns that identify a lead: in files of leads as received, and in files of mapped leads. */
const AS_RECEIVED = ['source', 'id', '_leadsync_version'] as const;
const MAPPED = ['_leadsync_source', '_leadsync_lead_id', '_leadsync_version'] as const;

/** The format of this sink's files, with its reader. */
export const storedFormat: StoredFormat = { name: 'Parquet', ending: '.parquet', leadsOf, deliveriesOf };

async function* leadsOf(file: string, content: Buffer): AsyncIterable<StoredLead> {
  const { readParquet } = await import('../../parquet/read-parquet.ts');
  // `readParquet` yields nothing if a column is missing, so only one of the two yields rows.
  for (const columns of [MAPPED, AS_RECEIVED]) {
    const [ofSource, ofLead, ofVersion] = columns;
    let isFound = false;
    for await (const row of readParquet<string>(content, columns)) {
      isFound = true;
      const { [ofSource]: source, [ofLead]: id, [ofVersion]: version } = row;
      if (typeof source !== 'string' || typeof id !== 'bigint' || typeof version !== 'number') continue;
      yield { source, leadId: id, version, file };
    }
    if (isFound) return;
  }
}

async function* deliveriesOf(content: Buffer): AsyncIterable<string> {
  const { readParquet } = await import('../../parquet/read-parquet.ts');
  for await (const { _leadsync_delivery_id: delivery } of readParquet(content, ['_leadsync_delivery_id']))
    if (typeof delivery === 'string') yield delivery;
}
