/** Whether the text is the name of a time zone, such as Europe/Berlin. */
export function isTimezone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false; // Intl throws a RangeError for an unknown zone
  }
}

const formats = new Map<string | undefined, Intl.DateTimeFormat>();

/**
 * Returns the local time in a time zone at the time `ms`, written as if it were UTC; both are in ms since 1970. If `timezone` is undefined,
 * uses this machine's time zone.
 */
export function wallTime(ms: number, timezone: string | undefined): number {
  const parts = Object.fromEntries(
    formatOf(timezone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function formatOf(timezone: string | undefined): Intl.DateTimeFormat {
  const known = formats.get(timezone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-u-ca-gregory-nu-latn', {
    ...(timezone === undefined ? {} : { timeZone: timezone }),
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(timezone, made);
  return made;
}
