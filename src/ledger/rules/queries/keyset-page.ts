import { LedgerError } from '../../contract/ledger-error.ts';
import type { Count, Order, Page, Rows } from '../../contract/page-rows.ts';
import { type Period, periodOf } from './period.ts';

/** A position in a list that is sorted by time: a time in ms since 1970, and a row number, which orders rows that have the same time. */
export interface Cursor {
  readonly at: number;
  readonly no: number;
}

/** Maximum number of rows that are read for one page of a list, unless the caller sets another limit. */
export const MAX_ROWS_READ = 50_000;

/** The cursor of the first page of a list that is sorted newest first. */
export const FROM_NEWEST: Cursor = { at: Number.MAX_SAFE_INTEGER, no: Number.MAX_SAFE_INTEGER };
/** Rows are numbered from 1. */
const FROM_OLDEST: Cursor = { at: 0, no: 0 };

/** Parses the `next` of a page. Returns the cursor of the first page if `text` is undefined, and undefined if `text` is not a cursor. */
export function parseCursor(text: string | undefined, order: Order = 'newest'): Cursor | undefined {
  if (text === undefined) return order === 'newest' ? FROM_NEWEST : FROM_OLDEST;
  const [, at, no] = /^(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
  return at === undefined ? undefined : { at: Number(at), no: Number(no) };
}

/** Returns the order of the requested page. */
export function orderOf({ order = 'newest' }: Page): Order {
  return order;
}

/** Returns the cursor of the requested page. @throws LedgerError if `after` is not the `next` of a page */
export function cursorOf(page: Page): Cursor {
  const cursor = parseCursor(page.after, orderOf(page));
  if (cursor) return cursor;
  throw new LedgerError(
    'unexpected',
    '`after` is not a cursor of this list.',
    'Omit `after` to start with the first page.',
  );
}

/** The SQL terms for each order: the operator that selects the rows after a cursor, and the sort direction. */
const WORDS = {
  newest: { follows: '<', sorted: 'DESC' },
  oldest: { follows: '>', sorted: 'ASC' },
} as const;

/** Returns the SQL statement of a list for each order. */
export function inEachOrder(sql: (words: (typeof WORDS)[Order]) => string): Readonly<Record<Order, string>> {
  return { newest: sql(WORDS.newest), oldest: sql(WORDS.oldest) };
}

/**
 * Combines the bounds "after this cursor" and "within this period" into one, because SQLite uses only one bound to seek in an index.
 */
export function startingAt(
  after: Cursor,
  period: { readonly since?: Date | undefined; readonly until?: Date | undefined },
  order: Order,
): Cursor & Period {
  const { since, until } = periodOf(period);
  const begin = order === 'newest' ? until : since;
  const isLater = order === 'newest' ? begin <= after.at : begin > after.at;
  return { ...(isLater ? { at: begin, no: 0 } : after), since, until };
}

/** Returns a number of rows, at most `most`. `hasMore`: there may be rows that were not counted. */
export function countOf(counted: number, most: number, hasMore = false): Count {
  return { count: Math.min(counted, most), isAtLeast: hasMore || counted >= most };
}

/** How `mergedRows` reads its lists. */
export interface Merging {
  readonly limit: number;
  /** The order of every list. */
  readonly order: Order;
  /** Maximum number of rows that are read. */
  readonly most?: number;
}

/**
 * Merges lists that are sorted by time, and returns the first `limit` rows for which `fits` returns true. Reads no more rows than necessary.
 * If it reaches the limit `most` first, the page is short but has a `next`.
 */
export function mergedRows<Row extends Cursor>(
  lists: readonly Iterator<Row>[],
  fits: (row: Row) => boolean,
  { limit, order, most = MAX_ROWS_READ }: Merging,
): Rows<Row> {
  const heads = lists.map((list) => ({ list, row: take(list) }));
  const rows: Row[] = [];
  const before = order === 'newest' ? 1 : -1;
  try {
    for (let read = 0; ; read += 1) {
      const head = heads.reduce(
        (first, one) => (isFirst(one.row, first?.row, order) ? one : first),
        heads.at(0),
      );
      if (head?.row === undefined) return { rows, next: null };
      if (rows.length === limit) return { rows, next: cursorText(rows.at(-1)) };
      if (read === most) return { rows, next: cursorText({ at: head.row.at, no: head.row.no + before }) };
      if (fits(head.row)) rows.push(head.row);
      head.row = take(head.list);
    }
  } finally {
    for (const { list } of heads) list.return?.();
  }
}

/** Returns the rows that follow a cursor, in order. */
export function rowsAfter<Row extends Cursor>(rows: readonly Row[], after: Cursor, order: Order): Row[] {
  return rows
    .filter((row) => isFirst(after, row, order))
    .sort((one, other) => (isFirst(one, other, order) ? -1 : 1));
}

function take<Row>(list: Iterator<Row>): Row | undefined {
  const { done, value } = list.next();
  return done ? undefined : value;
}

/** Whether a row comes before another. A missing row comes last. */
function isFirst(one: Cursor | undefined, other: Cursor | undefined, order: Order): boolean {
  if (one === undefined || other === undefined) return one !== undefined && other === undefined;
  const [first, second] = order === 'newest' ? [other, one] : [one, other];
  return first.at === second.at ? first.no < second.no : first.at < second.at;
}

/** Returns a cursor as the `next` of a page; null if there is none. */
export function cursorText(cursor: Cursor | undefined): string | null {
  return cursor ? `${cursor.at}.${cursor.no}` : null;
}
