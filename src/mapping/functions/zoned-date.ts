import { didYouMean } from '../../platform/text/suggest.ts';

/** The parts of a date that a format may name, longest first. */
const TOKEN = /yyyy|MMMM|MMM|EEEE|EEE|MM|dd|HH|mm|ss|M|d|H/g;

/** The format of `date` if none is given. */
const DEFAULT_DATE_FORMAT = 'yyyy-MM-dd';

/** Whether the text names a time zone, such as `Australia/Sydney`. */
export function isTimeZone(text: string): boolean {
  try {
    formatterOf(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns a phrase that says that there is no such time zone, and suggests a similar name if there is one. */
export function noTimeZone(text: string): string {
  const hint = didYouMean(text, Intl.supportedValuesOf('timeZone'));
  return `there is no time zone "${text}"${hint === '' ? '' : `; ${hint}`}`;
}

/** Whether the text is a format that `zonedDate` understands completely. */
export function isDateFormat(text: string): boolean {
  return !/[A-Za-z]/.test(text.replace(TOKEN, ''));
}

/** One formatter for each time zone, because creating one takes longer than using it a hundred times. */
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timeZone);
  if (!formatter) {
    formatter = new Intl.DateTimeFormat('en-GB', {
      timeZone,
      year: 'numeric',
      month: 'long',
      day: '2-digit',
      weekday: 'long',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    });
    formatters.set(timeZone, formatter);
  }
  return formatter;
}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);

/**
 * Formats a time in a time zone. The format consists of `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss`, of `M`, `d` and `H` without a leading zero, of `MMM`,
 * `MMMM`, `EEE` and `EEEE` for English names of months and weekdays, and of characters that are not letters.
 * @throws RangeError if there is no such time zone
 */
export function zonedDate(time: Date, timeZone: string, format: string = DEFAULT_DATE_FORMAT): string {
  const parts = Object.fromEntries(
    formatterOf(timeZone)
      .formatToParts(time)
      .map(({ type, value }) => [type, value]),
  ) as Record<Intl.DateTimeFormatPartTypes, string>;
  const { year, month, day, weekday, hour, minute, second } = parts;
  const number = String(MONTHS.indexOf(month) + 1);
  const values: Readonly<Record<string, string>> = {
    yyyy: year.padStart(4, '0'),
    MMMM: month,
    MMM: month.slice(0, 3),
    MM: number.padStart(2, '0'),
    M: number,
    dd: day,
    d: String(Number(day)),
    EEEE: weekday,
    EEE: weekday.slice(0, 3),
    HH: hour,
    H: String(Number(hour)),
    mm: minute,
    ss: second,
  };
  return format.replace(TOKEN, (token) => values[token] ?? token);
}
