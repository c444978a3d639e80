import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { relations } from '../../catalog/catalog.ts';
import { UnreadableFile } from '../../platform/files/read-regular-file.ts';
import { exportedRows } from './read-export.ts';

/** What to search for: leads by source and id, and rejected leads by source and hash. */
export interface SearchedLeads {
  readonly leads: readonly { readonly source: string; readonly leadId: bigint }[];
  readonly rejected: readonly { readonly source: string; readonly hash: string }[];
}

/** Columns with personal data. */
const PERSONAL: ReadonlySet<string> = new Set(
  relations.flatMap(({ columns }) =>
    columns.filter((column) => column.personal === true).map(({ name }) => name),
  ),
);
/** Columns that identify the lead of a row, and the column `raw`, which an erasure empties. */
const OF_WHOM = ['source', 'id', 'lead_id', 'hash', 'raw'];

/** Whether an exported file or folder contains personal data of any of these leads. Throws if one of the files cannot be read. */
export async function fileContainsAny(searched: SearchedLeads, path: string): Promise<boolean> {
  if ((await lstat(path)).isDirectory()) {
    for (const name of await readdir(path))
      if (await fileContainsAny(searched, join(path, name))) return true;
    return false;
  }
  // Opening a named pipe would block until another process writes to it.
  if (!(await stat(path)).isFile()) throw new UnreadableFile(path, 'kind');
  const leads = new Set(searched.leads.map(({ source, leadId }) => `${source} ${leadId}`));
  const rejected = new Set(searched.rejected.map(({ source, hash }) => `${source} ${hash}`));
  for await (const row of exportedRows(path, whose)) {
    const lead = String(row['lead_id'] ?? row['id'] ?? '');
    const isTheirs = leads.has(`${row['source']} ${lead}`) || rejected.has(`${row['source']} ${row['hash']}`);
    if (isTheirs && !isErased(row['raw'], lead)) return true;
  }
  return false;
}

function whose(columns: readonly string[]): readonly string[] {
  return columns.some((name) => PERSONAL.has(name)) ? columns.filter((name) => OF_WHOM.includes(name)) : [];
}

/** Whether the content is what an erasure leaves behind. A table without lead content has no rows for an erased lead. */
function isErased(raw: unknown, lead: string): boolean {
  return raw === '' || raw === `{"id":${lead}}`;
}
