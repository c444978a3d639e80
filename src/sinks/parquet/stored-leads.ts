import type { StoredLead } from '../sink.ts';
import type { StoredFormat } from '../stored-files.ts';

const COLUMNS = ['source', 'id', '_leadsync_version'] as const;

/** The format of this sink's files, with its reader. */
export const storedFormat: StoredFormat = { name: 'Parquet', ending: '.parquet', leadsOf };

async function* leadsOf(file: string, content: Buffer): AsyncIterable<StoredLead> {
  const { readParquet } = await import('../../parquet/read-parquet.ts');
  for await (const { source, id, _leadsync_version: version } of readParquet(content, COLUMNS)) {
    if (typeof source !== 'string' || typeof id !== 'bigint' || typeof version !== 'number') continue;
    yield { source, leadId: id, version, file };
  }
}
