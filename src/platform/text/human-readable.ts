const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Returns a time for people: UTC, to the second, `2026-11-20T10:00:05Z`. */
export function printMoment(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Returns a time to the minute, for notices: `2026-11-20 10:00 UTC`. */
export function printMinute(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Returns a time for pages: `20 Nov 2026, 10:00:05 UTC`. */
export function printDate(at: Date): string {
  const [year, month, day, time] = at.toISOString().split(/[-T.]/);
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}, ${time} UTC`;
}

/** Returns a time for file names, to the ms: `20261120T100000.000Z`. Sorts by time, and is valid on every file system. */
export function printStamp(at: Date): string {
  return at.toISOString().replaceAll(/[-:]/g, '');
}

/** Returns a time with its age: `2026-11-20T10:00:00Z (3 min ago)`. */
export function printMomentAndAge(at: Date, now: Date): string {
  return `${printMoment(at)} (${printAge(at, now)})`;
}

/** Whether a time has come or is less than a second away. `printAge` would show the latter as `in 0 s`. */
export function isDueNow(at: Date, now: Date): boolean {
  return at.getTime() - now.getTime() < 1000;
}

/** Returns the distance of a time from now, in one unit as in `printLength`: `12 s ago`, `in 5 min`. */
export function printAge(at: Date, now: Date): string {
  const ms = now.getTime() - at.getTime();
  const length = printLength(Math.abs(ms));
  return ms >= 0 ? `${length} ago` : `in ${length}`;
}

/**
 * Returns the age of a time in up to two units. `just now` if the time is less than a second ago, or in the future, which is possible if two
 * clocks differ.
 */
export function printAgo(at: Date, now: Date): string {
  const ms = now.getTime() - at.getTime();
  return ms < 1000 ? 'just now' : `${printSpan(ms < MINUTE_MS ? Math.floor(ms / 1000) * 1000 : ms)} ago`;
}

/** Returns a length of time in the largest unit of which it has at least two, rounded down: `90 s`, `5 min`. */
export function printLength(ms: number): string {
  if (ms < 120_000) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return `${Math.floor(ms / DAY_MS)} days`;
}

/** Returns a length of time in seconds: `1.3 s`, or `12 s` from ten seconds on. */
export function printSeconds(ms: number): string {
  return ms < 9_950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

/** Returns a length of time in up to two units: `182 ms`, `1.4 s`, `2 min 5 s`, `3 h 10 min`, `2 d 4 h`. */
export function printSpan(ms: number): string {
  if (ms < 999.5) return `${Math.round(Math.max(0, ms))} ms`;
  if (ms < 59_950) return `${Number((ms / 1000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return twoUnits(seconds, 60, 'min', 's');
  if (seconds < 86_370) return twoUnits(Math.round(seconds / 60), 60, 'h', 'min');
  return twoUnits(Math.round(seconds / 3600), 24, 'd', 'h');
}

function twoUnits(total: number, per: number, large: string, small: string): string {
  const rest = total % per;
  return `${Math.floor(total / per)} ${large}${rest > 0 ? ` ${rest} ${small}` : ''}`;
}

/** Returns a range of lengths of time, which may have no upper end: `under 1 min`, `1 min to 10 min`, `1 d and more`. */
export function printSpanRange(fromMs: number, toMs: number | undefined): string {
  if (toMs === undefined) return `${printSpan(fromMs)} and more`;
  return fromMs === 0 ? `under ${printSpan(toMs)}` : `${printSpan(fromMs)} to ${printSpan(toMs)}`;
}

/** Returns a share of a whole in percent, rounded towards the middle, so that 100% and 0% are exact: `99.9%`. */
export function printShare(share: number): string {
  const percent = share > 0.5 ? Math.floor(share * 1000) / 10 : Math.ceil(share * 1000) / 10;
  return `${percent}%`;
}

const NOTATION = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['m', MINUTE_MS],
  ['s', 1_000],
] as const;

/** Returns a length of time in the notation of the configuration: `90s` for 90000. */
export function printDuration(ms: number): string {
  if (ms === 0) return '0s';
  const [unit, size] = NOTATION.find(([, size]) => ms % size === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}

/** Returns a size: `812 B`, `64 kB`, `1.2 MB`, `3 GB`. */
export function printBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} kB`;
  return bytes < 999_950_000
    ? `${Number((bytes / 1e6).toFixed(1))} MB`
    : `${Number((bytes / 1e9).toFixed(1))} GB`;
}

/** Returns an integer with thousands separators: `1,204`. Without `Intl`, whose first use costs time and 10 MB of memory. */
export function printCount(n: number): string {
  return String(n).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** Returns a number with its noun: `1 lead`, `1,204 leads`. */
export function countOf(n: number, one: string, many = `${one.replace(/y$/, 'ie')}s`): string {
  return `${printCount(n)} ${n === 1 ? one : many}`;
}

/** Returns the text with a full stop, unless it ends a sentence already, so that another sentence can follow. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
