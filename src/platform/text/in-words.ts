const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A moment as it is shown: UTC, to the second. */
export function printMoment(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** The same with how long ago it was: `2026-11-20T10:00:00Z (3 min ago)`. */
export function printMomentAndAge(at: Date, now: Date): string {
  return `${printMoment(at)} (${printAge(at, now)})`;
}

/** How far a moment is from now, in its largest unit: `12 s ago`, `in 5 min`. */
export function printAge(at: Date, now: Date): string {
  const ms = now.getTime() - at.getTime();
  const length = printLength(Math.abs(ms));
  return ms >= 0 ? `${length} ago` : `in ${length}`;
}

/** A length of time in its largest unit, rounded down. */
export function printLength(ms: number): string {
  if (ms < 120_000) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return `${Math.floor(ms / DAY_MS)} days`;
}

/** A whole number with its thousands apart: `1,204`. Without `Intl`, whose first use takes longer than a short command does otherwise. */
export function printCount(n: number): string {
  return String(n).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `1 lead`, `1,204 leads`. */
export function countOf(n: number, what: string): string {
  if (n === 1) return `1 ${what}`;
  return `${printCount(n)} ${what.replace(/y$/, 'ie')}s`;
}

/** What somebody typed may end without a full stop, and the next sentence follows. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
