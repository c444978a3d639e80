const DAY_MS = 86_400_000;

/** So many days before the day of the last complete listing, its size is compared with those of earlier ones. */
export const DAYS_COMPARED = 7;

/** Returns the number of the day in UTC since 1970-01-01 on which a time in ms lies. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}
