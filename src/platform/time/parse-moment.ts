const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
/** Matches an age: `7d`. */
export const AGE = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/i;
const DATE = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i;
const [FIRST_MS, LAST_MS] = [Date.parse('0000-01-01'), Date.parse('9999-12-31T23:59:59.999Z')];

/** The forms that `momentOf` accepts, for help and errors. */
export const MOMENT_FORMS = 'a date or date-time (UTC unless it says otherwise), or how long ago: 2h, 1d';

/**
 * Parses a time such as `2026-11-20`, `2026-11-20T10:30` or `2026-11-20T10:30:00+11:00`, or an age such as `2h`, which counts back from `now`. A time
 * without an offset is in UTC. Returns undefined if the text has none of these forms, or if the year is not between 0 and 9999.
 */
export function momentOf(text: string, now: Date): Date | undefined {
  const ms = msOfAge(text, now) ?? msOfDate(text);
  return ms !== undefined && ms >= FIRST_MS && ms <= LAST_MS ? new Date(ms) : undefined;
}

function msOfAge(text: string, now: Date): number | undefined {
  const [, count, unit = ''] = AGE.exec(text) ?? [];
  return count === undefined ? undefined : now.getTime() - Number(count) * (UNIT_MS[unit.toLowerCase()] ?? 0);
}

/**
 * Parses a time such as `2026-11-20` or `2026-11-20T10:30:00+11:00`. Returns it in ms since 1970, or undefined for any other text. A time without an
 * offset is in UTC.
 */
export function msOfDate(text: string): number | undefined {
  const [, day, time = '00:00', zone = 'Z'] = DATE.exec(text) ?? [];
  // Rejects 30 February, which Date would turn into a day in March.
  if (day === undefined || Number.isNaN(Date.parse(day)) || new Date(day).toISOString().slice(0, 10) !== day)
    return undefined;
  const ms = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : ms;
}
