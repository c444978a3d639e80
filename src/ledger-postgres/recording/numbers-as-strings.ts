/**
 * Matches a number that PostgreSQL's `numeric` may be unable to hold, inside or outside of a string: it has up to 131,072 digits before the point, and
 * up to 16,383 after it.
 */
const MAYBE_TOO_LARGE = /\d[eE][+-]?\d{4}|\d{10000}/;
/** Matches a string, or a number outside of strings. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.]*(?:[eE][+-]?\d+)?/g;

/**
 * Returns a lead's JSON with a string in place of each number that has an exponent of four digits, or 10,000 digits: `jsonb` refuses
 * such numbers, and a view that reads one could then not read any lead. Returns undefined if there is none.
 */
export function withLargeNumbersAsStrings(raw: string): string | undefined {
  if (!MAYBE_TOO_LARGE.test(raw)) return undefined;
  const safe = raw.replaceAll(STRING_OR_NUMBER, (part) =>
    part.startsWith('"') || !MAYBE_TOO_LARGE.test(part) ? part : `"${part}"`,
  );
  return safe === raw ? undefined : safe;
}
