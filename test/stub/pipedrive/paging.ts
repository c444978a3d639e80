import { anIntegerText, type Parameters } from './parameters.ts';
import { invalidV2, Refusal, type VendorAnswer } from './vendor-answer.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;

/** The parameters of every list of v2. */
export const pageParameters: Parameters = {
  limit: (value) =>
    anIntegerText(value) ?? (inLimit(Number(value)) ? undefined : `must be 1 to ${MAX_LIMIT}`),
  cursor: () => undefined,
};

/**
 * Returns a page of a list of v2. The cursor names the last record that was shown, so records that are added or deleted meanwhile move
 * no other. @param items in their order, each with a unique key
 * @throws Refusal 400 for a cursor that this stub did not issue
 */
export function cursorPage<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => number | string,
  query: URLSearchParams,
  show: (item: Item) => unknown = (item) => item,
): VendorAnswer {
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const cursor = query.get('cursor');
  const start = cursor === null ? 0 : placeAfter(items, keyOf, cursor);
  const shown = items.slice(start, start + limit);
  const last = shown.at(-1);
  const isMore = start + limit < items.length && last !== undefined;
  return {
    status: 200,
    body: {
      success: true,
      data: shown.map(show),
      additional_data: { next_cursor: isMore ? encode(start + limit, keyOf(last)) : null },
    },
  };
}

/** Returns a page of a list of v1, which counts by position. */
export function offsetPage(items: readonly unknown[], query: URLSearchParams): VendorAnswer {
  const start = Math.max(0, Math.floor(Number(query.get('start') ?? 0)) || 0);
  const asked = Math.floor(Number(query.get('limit') ?? DEFAULT_LIMIT));
  const limit = inLimit(asked) ? asked : DEFAULT_LIMIT;
  const isMore = start + limit < items.length;
  return {
    status: 200,
    body: {
      success: true,
      data: items.slice(start, start + limit),
      additional_data: {
        pagination: {
          start,
          limit,
          more_items_in_collection: isMore,
          ...(isMore ? { next_start: start + limit } : {}),
        },
      },
    },
  };
}

function inLimit(limit: number): boolean {
  return limit >= 1 && limit <= MAX_LIMIT;
}

interface Cursor {
  readonly at: number;
  readonly after: number | string;
}

function encode(at: number, after: number | string): string {
  return Buffer.from(JSON.stringify({ at, after } satisfies Cursor)).toString('base64url');
}

/** Returns the position after the cursor's record; its old position if the record is gone. */
function placeAfter<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => number | string,
  cursor: string,
): number {
  const { at, after } = decode(cursor);
  const before = items[at - 1];
  if (before !== undefined && keyOf(before) === after) return at;
  const found = items.findIndex((item) => keyOf(item) === after);
  return found < 0 ? at : found + 1;
}

function decode(cursor: string): Cursor {
  try {
    const { at, after } = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Cursor;
    if (Number.isSafeInteger(at)) return { at, after };
  } catch {
    // What is no JSON was not issued here either.
  }
  throw new Refusal(invalidV2(['cursor: is not valid']));
}
