import { readPollError } from './poll-error.ts';

/** Returns the error text of a failed poll, without its code; null if there is none. */
export function reasonOf(error: string | null | undefined): string | null {
  return typeof error === 'string' ? readPollError(error).reason : null;
}

/** Returns a time as ISO 8601 text, or null if there is none. */
export function iso(at: Date | number | null | undefined): string | null {
  return at === null || at === undefined ? null : new Date(at).toISOString();
}

/** Returns a time in ms since 1970 as ISO 8601 text. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Converts milliseconds to seconds. Returns null if `ms` is undefined. */
export function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1000;
}
