import type { Rows } from '../contract/answers.ts';

/** A place in a list that is sorted newest first: when, and the row's number among those of the same time. */
export interface Place {
  readonly at: number;
  readonly no: number;
}

/** So many rows are looked at for one page: one that looks for the rare among the many may come back short, with a `next`. */
const MOST_LOOKED_AT = 50_000;

/** Before every row. */
export const NEWEST: Place = { at: Number.MAX_SAFE_INTEGER, no: Number.MAX_SAFE_INTEGER };

/** Reads the `next` of a page; undefined for a text that is none. */
export function readPlace(text: string | undefined): Place | undefined {
  if (text === undefined) return NEWEST;
  const [, at, no] = /^(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
  return at === undefined ? undefined : { at: Number(at), no: Number(no) };
}

/** Where a list begins that goes on after a place and has what came before a time alone: one bound, since SQLite seeks by one. */
export function beginningAt(after: Place, until: Date | undefined): Place {
  const end = until?.getTime() ?? Number.MAX_SAFE_INTEGER;
  return end <= after.at ? { at: end, no: 0 } : after;
}

/**
 * The first `limit` rows of several lists that are each sorted newest first, as far as `fits` holds. Of each list no more is
 * read than is needed.
 */
export function newestOf<Row extends Place>(
  lists: readonly Iterator<Row>[],
  limit: number,
  fits: (row: Row) => boolean,
): Rows<Row> {
  const heads = lists.map((list) => ({ list, row: take(list) }));
  const rows: Row[] = [];
  try {
    for (let looked = 0; ; looked += 1) {
      const head = heads.reduce((first, one) => (isNewer(one.row, first?.row) ? one : first), heads.at(0));
      if (head?.row === undefined) return { rows, next: null };
      if (rows.length === limit) return { rows, next: placeText(rows.at(-1)) };
      if (looked === MOST_LOOKED_AT)
        return { rows, next: placeText({ at: head.row.at, no: head.row.no + 1 }) };
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

function isNewer(one: Place | undefined, other: Place | undefined): boolean {
  if (one === undefined || other === undefined) return one !== undefined;
  return one.at === other.at ? one.no > other.no : one.at > other.at;
}

function placeText(place: Place | undefined): string | null {
  return place ? `${place.at}.${place.no}` : null;
}
