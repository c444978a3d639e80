import type { Lead } from './lead.ts';

/** What is kept beside a lead's JSON text, so that nobody has to read a million texts to count them. */
export interface ContentFacts {
  /** Null where the text has none. */
  readonly serviceSlug: string | null;
  /** Milliseconds since 1970, UTC; null where it cannot be read. */
  readonly createdAtMs: number | null;
  /**
   * The lead's described fields as JSON in which NUL and halves of surrogate pairs are U+FFFD, as every store shows them:
   * databases hold neither. Null where the text itself will do.
   */
  readonly readable: string | null;
  /** The whole JSON text with the same replacements, for the JSON functions of databases. Null where the text itself will do. */
  readonly safeRaw: string | null;
}

/** Of a lead's JSON text as received; `parsed` is what it parses to, where somebody has done so already. */
export function factsOf(raw: string, parsed: unknown = JSON.parse(raw)): ContentFacts {
  const lead = parsed as Partial<Lead>;
  const { service_slug: slug, created_at: created } = lead;
  return {
    serviceSlug: typeof slug === 'string' ? storable(slug) : null,
    createdAtMs: typeof created === 'string' ? readTime(created) : null,
    readable: mayHoldUnstorable(raw) ? readable(lead) : null,
    safeRaw: safeRaw(raw),
  };
}

/** An escape that may stand for NUL or for a half of a pair. Unescaped they are no valid JSON, or no valid UTF-8. */
const UNSTORABLE = /\\u(0000|d[89a-f])/i;

/** Whether any text of a lead with this JSON may be one that databases cannot hold. */
export function mayHoldUnstorable(raw: string): boolean {
  return UNSTORABLE.test(raw);
}

const [HIGH, LOW] = ['\\\\u[dD][89abAB][\\da-fA-F]{2}', '\\\\u[dD][c-fC-F][\\da-fA-F]{2}'];
/** Escapes that stay, and in `bad` those that stand for NUL or half of a pair. In runs, since a lead may hold millions. */
const ESCAPES = new RegExp(
  `(?:${HIGH}${LOW}|\\\\[^u]){1,1000}|(?<bad>(?:\\\\u0000|${HIGH}(?!${LOW})|${LOW}){1,1000})`,
  'g',
);
const ESCAPE_LENGTH = '\\u0000'.length;

/**
 * Returns a lead's JSON text with U+FFFD for NUL and for halves of surrogate pairs, which PostgreSQL and DuckDB refuse to read out of
 * JSON; all else stays to the last character. Null when nothing has to be replaced.
 */
export function safeRaw(raw: string): string | null {
  if (!mayHoldUnstorable(raw)) return null;
  const safe = raw.replace(ESCAPES, (escapes, bad: string | undefined) =>
    bad === undefined ? escapes : '\\ufffd'.repeat(bad.length / ESCAPE_LENGTH),
  );
  return safe === raw ? null : safe;
}

const DESCRIBED = [
  'service_name',
  'service_slug',
  'client_name',
  'client_email',
  'client_phone_number',
  'client_address',
  'friendly_address',
  'service_question_answers',
  'question',
  'slug',
  'answer',
  'all_details_one_liner',
];

function readable(lead: unknown): string | null {
  let replaced = false;
  const text = JSON.stringify(lead, (key, value: unknown) => {
    if (key !== '' && !/^\d+$/.test(key) && !DESCRIBED.includes(key)) return undefined;
    if (typeof value !== 'string') return value;
    const kept = storable(value);
    replaced ||= kept !== value;
    return kept;
  });
  return replaced ? text : null;
}

/** How much of a text is split at once: ten megabytes of NUL would be an array of ten million strings. */
const SLICE = 64 * 1024;

/** A text as databases and readers of files can hold it: NUL and halves of surrogate pairs become U+FFFD. */
export function storable(text: string): string {
  if (!text.includes('\0')) return text.toWellFormed();
  let kept = '';
  for (let at = 0; at < text.length; at += SLICE)
    kept += text
      .slice(at, at + SLICE)
      .split('\0') // `replaceAll` takes five times as long for millions of them
      .join('\ufffd');
  return kept.toWellFormed();
}

const TIME =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?$/i;

/**
 * Reads an ISO 8601 date-time with any offset, or without one: then it counts as UTC. A 60th second is the minute after.
 * @returns milliseconds since 1970, rounded down; null for what is no such time
 */
export function readTime(text: string): number | null {
  const [, year, month, day, hour, minute, second = '0', fraction = '0', sign, offsetHour, offsetMinute] =
    TIME.exec(text) ?? [];
  if (year === undefined) return null;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  // Rounded to microseconds first, as PostgreSQL keeps them.
  const ms = Math.floor(Math.round(Number(`0.${fraction}`) * 1e6) / 1e3);
  date.setUTCHours(Number(hour), Number(minute), Number(second), ms);
  const offsetMs = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * 60_000;
  return date.getTime() - (sign === '-' ? -offsetMs : offsetMs);
}
