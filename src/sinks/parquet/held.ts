import type { HeldFormat } from '../held-files.ts';
import type { HeldLead } from '../sink.ts';

const COLUMNS = ['source', 'id', '_leadsync_version'] as const;

/** How the sink's own files are read back. */
export const heldFormat: HeldFormat = { name: 'Parquet', ending: '.parquet', leadsOf };

async function* leadsOf(file: string, content: Buffer): AsyncIterable<HeldLead> {
  const { readParquet } = await import('../../parquet/read-parquet.ts');
  for await (const { source, id, _leadsync_version: version } of readParquet(content, COLUMNS)) {
    if (typeof source !== 'string' || typeof id !== 'bigint' || typeof version !== 'number') continue;
    yield { source, leadId: id, version, file };
  }
}
