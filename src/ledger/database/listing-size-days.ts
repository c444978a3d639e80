const DAY_MS = 86_400_000;

/** Number of days to look back for the largest complete listing, with which the last complete listing is compared. */
export const DAYS_COMPARED = 7;

/** Returns the UTC day of a time in ms, as the number of days since 1970-01-01. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}
