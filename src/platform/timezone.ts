/** Whether a name is that of a time zone, such as Europe/Berlin. */
export function isTimezone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false; // a RangeError is how Intl says no
  }
}
