/** An escape that may stand for NUL or a lone surrogate. Without an escape, valid JSON in UTF-8 can contain neither. */
const UNSTORABLE = /\\u(0000|d[89a-f])/i;

/** Whether a lead with this JSON may contain text that databases cannot store. */
export function mayHoldUnstorable(raw: string): boolean {
  return UNSTORABLE.test(raw);
}

const [HIGH, LOW] = ['\\\\u[dD][89abAB][\\da-fA-F]{2}', '\\\\u[dD][c-fC-F][\\da-fA-F]{2}'];
/**
 * Matches a run of escapes to keep or, as the group `bad`, a run of escapes for NUL and lone surrogates. Matches runs because a lead may
 * contain millions of escapes.
 */
const ESCAPES = new RegExp(
  `(?:${HIGH}${LOW}|\\\\[^u]){1,1000}|(?<bad>(?:\\\\u0000|${HIGH}(?!${LOW})|${LOW}){1,1000})`,
  'g',
);
const ESCAPE_LENGTH = '\\u0000'.length;

/**
 * Returns a lead's JSON text with U+FFFD in place of NUL and lone surrogates, which PostgreSQL and DuckDB refuse to extract from JSON. Keeps every
 * other character. Returns null if nothing needs replacing.
 */
export function safeRaw(raw: string): string | null {
  if (!mayHoldUnstorable(raw)) return null;
  const safe = raw.replace(ESCAPES, (escapes, bad: string | undefined) =>
    bad === undefined ? escapes : '\\ufffd'.repeat(bad.length / ESCAPE_LENGTH),
  );
  return safe === raw ? null : safe;
}

/** Maximum number of characters to split at a time. Without this limit, ten megabytes of NUL would become an array of ten million strings. */
const SLICE = 64 * 1024;

/** Replaces NUL and lone surrogates with U+FFFD, so that databases and files in UTF-8 can store the text. */
export function storable(text: string): string {
  if (!text.includes('\0')) return text.toWellFormed();
  let kept = '';
  for (let at = 0; at < text.length; at += SLICE)
    kept += text
      .slice(at, at + SLICE)
      .split('\0') // `replaceAll` takes five times as long for millions of NULs
      .join('\ufffd');
  return kept.toWellFormed();
}
