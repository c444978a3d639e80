import type { CopiedRow, CopiedTable, TableProgress } from '../../contract/ledger-copy.ts';

/** Returns the progress after these rows, of which there is at least one. */
export function progressAfter(
  table: CopiedTable,
  before: TableProgress,
  rows: readonly CopiedRow[],
): TableProgress {
  const last = rows.at(-1) ?? [];
  const place = (name: string) => table.columns.findIndex(([column]) => column === name);
  return { after: table.key.map((name) => String(last[place(name)])), rows: before.rows + rows.length };
}

/** Returns the text that a ledger stores of a progress. */
export function printProgress({ after, rows }: TableProgress): string {
  return JSON.stringify({ after: after ?? null, rows });
}

/** Reads what `printProgress` has written; undefined stands for a table of which nothing is copied. */
export function readProgress(text: string | undefined): TableProgress {
  if (text === undefined) return { after: undefined, rows: 0 };
  const { after, rows } = JSON.parse(text) as { after: string[] | null; rows: number };
  return { after: after ?? undefined, rows };
}
