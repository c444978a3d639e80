import type { Rows } from '../contract/page-rows.ts';

/** A position in a list that is sorted newest first: a time in ms since 1970, and a row number, which orders the rows of the same time. */
export interface Cursor {
  readonly at: number;
  readonly no: number;
}

/** Maximum rows that are read for one page of a list that a person sees. */
const MAX_ROWS_READ = 50_000;

/** The cursor of the first page. */
export const FROM_NEWEST: Cursor = { at: Number.MAX_SAFE_INTEGER, no: Number.MAX_SAFE_INTEGER };

/** Parses the `next` of a page. Returns `FROM_NEWEST` if there is no text, and undefined if the text is not a cursor. */
export function parseCursor(text: string | undefined): Cursor | undefined {
  if (text === undefined) return FROM_NEWEST;
  const [, at, no] = /^(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
  return at === undefined ? undefined : { at: Number(at), no: Number(no) };
}

/** Combines the bounds "after this cursor" and "before this time" into one, because SQLite uses only one bound to seek in an index. */
export function startingAt(after: Cursor, until: Date | undefined): Cursor {
  const end = until?.getTime() ?? Number.MAX_SAFE_INTEGER;
  return end <= after.at ? { at: end, no: 0 } : after;
}

/**
 * Merges lists that are sorted newest first, and returns the first `limit` rows for which `fits` returns true. Reads no more rows than
 * necessary, and at most `most`. If few of these match, the page is short but has a `next`.
 */
export function newestRows<Row extends Cursor>(
  lists: readonly Iterator<Row>[],
  limit: number,
  fits: (row: Row) => boolean,
  most = MAX_ROWS_READ,
): Rows<Row> {
  const heads = lists.map((list) => ({ list, row: take(list) }));
  const rows: Row[] = [];
  try {
    for (let read = 0; ; read += 1) {
      const head = heads.reduce((first, one) => (isNewer(one.row, first?.row) ? one : first), heads.at(0));
      if (head?.row === undefined) return { rows, next: null };
      if (rows.length === limit) return { rows, next: cursorText(rows.at(-1)) };
      if (read === most) return { rows, next: cursorText({ at: head.row.at, no: head.row.no + 1 }) };
      if (fits(head.row)) rows.push(head.row);
      head.row = take(head.list);
    }
  } finally {
    for (const { list } of heads) list.return?.();
  }
}

function take<Row>(list: Iterator<Row>): Row | undefined {
  const { done, value } = list.next();
  return done ? undefined : value;
}

function isNewer(one: Cursor | undefined, other: Cursor | undefined): boolean {
  if (one === undefined || other === undefined) return one !== undefined;
  return one.at === other.at ? one.no > other.no : one.at > other.at;
}

function cursorText(cursor: Cursor | undefined): string | null {
  return cursor ? `${cursor.at}.${cursor.no}` : null;
}
