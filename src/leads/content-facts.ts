import type { Lead } from './lead.ts';

/** Facts about the content of a lead, stored beside its JSON text so that queries need not parse the text. */
export interface ContentFacts {
  /** Null if the lead has no `service_slug`. */
  readonly serviceSlug: string | null;
  /** When the lead was created, in ms since 1970; null if `created_at` is unreadable. */
  readonly createdAtMs: number | null;
  /**
   * The described fields of the lead as JSON, with U+FFFD in place of NUL and lone surrogates, which databases cannot store. Null if
   * nothing had to be replaced.
   */
  readonly readable: string | null;
  /** The whole JSON text with the same replacements, for the JSON functions of databases. Null if nothing had to be replaced. */
  readonly safeRaw: string | null;
}

/** Returns the facts about a lead's JSON text, as received. A caller that has already parsed the text passes `parsed`. */
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

/** An escape that may stand for NUL or a lone surrogate. Without an escape, neither is possible in JSON in UTF-8. */
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
 * Returns a lead's JSON text with U+FFFD in place of NUL and lone surrogates, which PostgreSQL and DuckDB refuse to extract from JSON.
 * Keeps every other character. Returns null if nothing has to be replaced.
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

/** Maximum characters to split at a time. Without this limit, ten megabytes of NUL would become an array of ten million strings. */
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

const TIME =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?$/i;

/**
 * Converts an ISO 8601 date-time to milliseconds since 1970, rounded down. Returns null if the text is not a date-time. A time without an
 * offset is UTC. A second of 60 counts as the start of the next minute.
 */
export function readTime(text: string): number | null {
  const [, year, month, day, hour, minute, second = '0', fraction = '0', sign, offsetHour, offsetMinute] =
    TIME.exec(text) ?? [];
  if (year === undefined) return null;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  // Rounds to microseconds first, as PostgreSQL does.
  const ms = Math.floor(Math.round(Number(`0.${fraction}`) * 1e6) / 1e3);
  date.setUTCHours(Number(hour), Number(minute), Number(second), ms);
  const offsetMs = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * 60_000;
  return date.getTime() - (sign === '-' ? -offsetMs : offsetMs);
}
