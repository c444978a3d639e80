import { join } from 'node:path';
import { readParquet } from '../../parquet/read-parquet.ts';
import { codeOf } from '../../platform/error-code.ts';
import type { Files } from '../../platform/files.ts';
import { type HeldLead, SinkUnavailable } from '../sink.ts';

const DAY_FOLDER = /^day=/;
const LEADS_FILE = /^leads-.*\.parquet$/;
const COLUMNS = ['source', 'id', '_leadsync_version'] as const;

/**
 * The leads in the files of a folder and of its days, one file in memory at a time. A file that another hand wrote, with other
 * columns, holds none. @throws SinkUnavailable for one that cannot be read, Node's error where the disk fails
 */
export async function* heldIn(files: Files, directory: string): AsyncIterable<HeldLead> {
  const names = [...(await files.list(directory))].sort();
  const days = names.filter((name) => DAY_FOLDER.test(name)).map((name) => join(directory, name));
  for (const folder of [directory, ...days])
    for (const name of (await listed(files, folder)).filter((one) => LEADS_FILE.test(one)).sort()) {
      const file = join(folder, name);
      const content = await files.read(file);
      // Taken away since it was listed: whoever reads the files may remove them.
      if (content) yield* leadsOf(file, content);
    }
}

/** Nothing where the folder of a day was taken away meanwhile. */
async function listed(files: Files, folder: string): Promise<readonly string[]> {
  try {
    return await files.list(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

async function* leadsOf(file: string, content: Buffer): AsyncIterable<HeldLead> {
  try {
    for await (const { source, id, _leadsync_version: version } of readParquet(content, COLUMNS)) {
      if (typeof source !== 'string' || typeof id !== 'bigint' || typeof version !== 'number') continue;
      yield { source, leadId: id, version, file };
    }
  } catch (cause) {
    const hint = 'It was cut off or changed by another hand: move it away, or restore it, and ask again.';
    throw new SinkUnavailable(`${file} cannot be read as Parquet.`, { hint, cause });
  }
}
