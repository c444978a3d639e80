import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { relations } from '../../catalog/documented.ts';
import { UnreadableFile } from '../../platform/files/regular-file.ts';
import { exportedRows } from './exported-rows.ts';

/** Who is looked for: leads by source and id, and elements of listings that were set aside, by source and hash. */
export interface Sought {
  readonly leads: readonly { readonly source: string; readonly leadId: bigint }[];
  readonly rejected: readonly { readonly source: string; readonly hash: string }[];
}

/** Columns with something of a person. */
const PERSONAL: ReadonlySet<string> = new Set(
  relations.flatMap(({ columns }) =>
    columns.filter((column) => column.personal === true).map(({ name }) => name),
  ),
);
/** Columns that say whose a row is, and what an erasure has emptied of it. */
const OF_WHOM = ['source', 'id', 'lead_id', 'hash', 'raw'];

/** Whether what an export has made, a file or a folder of files, holds anything of these. Throws when it cannot be read. */
export async function holdsAnyOf(sought: Sought, path: string): Promise<boolean> {
  if ((await lstat(path)).isDirectory()) {
    for (const name of await readdir(path)) if (await holdsAnyOf(sought, join(path, name))) return true;
    return false;
  }
  // Opening a named pipe waits until somebody writes to it.
  if (!(await stat(path)).isFile()) throw new UnreadableFile(path, 'kind');
  const leads = new Set(sought.leads.map(({ source, leadId }) => `${source} ${leadId}`));
  const rejected = new Set(sought.rejected.map(({ source, hash }) => `${source} ${hash}`));
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

/** What an erasure leaves of a content. A table without contents has no rows of who was erased. */
function isErased(raw: unknown, lead: string): boolean {
  return raw === '' || raw === `{"id":${lead}}`;
}
