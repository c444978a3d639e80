const TIME =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?$/i;

/**
 * Converts an ISO 8601 date-time to milliseconds since 1970, rounded down. Returns null if the text is not a date-time. A time without an
 * offset is UTC. A second of 60 counts as the start of the next minute.
 */
export function parseDateTime(text: string): number | null {
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
