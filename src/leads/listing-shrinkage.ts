/** How many leads a source lists now and has listed before. */
export interface ListingSize {
  /** Time of the last complete listing. Undefined if no listing has ever been complete, for example during the first poll. */
  readonly lastSuccessAt: Date | undefined;
  /** Number of leads in the last complete listing. */
  readonly listed: number;
  /** Maximum number of leads in a complete listing of the last week. */
  readonly listedLately: number;
  /** Number of leads that the source has ever listed. */
  readonly leads: number;
}

/** Minimum number of leads that must vanish from a listing for this to be a problem, unless the listing is empty. */
const FEW_LEADS = 20;

/**
 * Returns the former size of a listing that is now empty, or that has lost at least 20 leads and more than half of them: its maximum size in the
 * last week. If it has been empty for a week, returns the number of leads ever listed. Undefined otherwise. A service that removes old leads
 * gradually stays within these limits.
 */
export function sizeBeforeShrinking({
  lastSuccessAt,
  listed,
  listedLately,
  leads,
}: ListingSize): number | undefined {
  if (lastSuccessAt === undefined) return undefined;
  if (listed === 0) return listedLately || leads || undefined;
  const isFall = listedLately - listed >= FEW_LEADS && listed < listedLately / 2;
  return isFall ? listedLately : undefined;
}
