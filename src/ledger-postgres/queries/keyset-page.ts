import type { Rows } from '../../ledger/contract/page-rows.ts';
import { type Cursor, cursorText, MAX_ROWS_READ } from '../../ledger/rules/queries/keyset-page.ts';

/** Maximum number of rows that one statement reads, after the first one of a page, which reads only the rows of a page. */
const PART = 1_000;

/** What a page of a list contains. */
interface PageOf<Row> {
  readonly limit: number;
  /** The position after which the page begins. */
  readonly after: Cursor;
  /** Whether a row matches the filter. */
  readonly fits: (row: Row) => boolean;
  /** Maximum number of rows that are read. */
  readonly most?: number;
}

/**
 * Returns the first `limit` rows of a list for which `fits` returns true. `read` returns up to a number of rows after a position, in the order
 * of the list. If the list goes on after the maximum number of rows, the page is short but has a `next`.
 */
export async function readPage<Row extends Cursor>(
  read: (after: Cursor, rows: number) => Promise<readonly Row[]>,
  { limit, after, fits, most = MAX_ROWS_READ }: PageOf<Row>,
): Promise<Rows<Row>> {
  const rows: Row[] = [];
  let [from, left, size] = [after, most, limit + 1];
  while (left > 0) {
    const asked = Math.min(size, left);
    const part = await read(from, asked);
    for (const row of part) {
      if (rows.length === limit) return { rows, next: cursorText(rows.at(-1)) };
      if (fits(row)) rows.push(row);
    }
    if (part.length < asked) return { rows, next: null };
    from = part.at(-1) ?? from;
    left -= part.length;
    size = PART;
  }
  return { rows, next: cursorText(from) };
}
