import { parseDateTime } from '../../../leads/parse-date-time.ts';

const PARTS = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?/i;
const MICROS_PER_SECOND = 1_000_000;

/**
 * Returns an ISO 8601 date-time as a `DATETIME(6)` in UTC, such as `2026-11-20 09:59:30.123456`, rounded to microseconds. A time without an
 * offset is in UTC. Returns null for anything else, for a day that does not exist, and for a year outside 0000 to 9999.
 */
export function dateTimeOf(text: string): string | null {
  const [, year, month, day, hour, minute, second = '00', fraction = '0'] = PARTS.exec(text) ?? [];
  if (year === undefined || !isDay(Number(year), Number(month), Number(day))) return null;
  if (Number(hour) > 24 || Number(minute) > 59 || Number(second) > 60) return null;
  const startOfSecond = parseDateTime(text.replace(/[.,]\d+/, ''));
  if (startOfSecond === null) return null;
  const micros = Math.round(Number(`0.${fraction}`) * MICROS_PER_SECOND);
  const ms = startOfSecond + (micros === MICROS_PER_SECOND ? 1_000 : 0);
  const [written = ''] = new Date(ms).toISOString().split('.');
  if (written.length !== 'YYYY-MM-DDTHH:MM:SS'.length) return null;
  return `${written.replace('T', ' ')}.${String(micros % MICROS_PER_SECOND).padStart(6, '0')}`;
}

function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
