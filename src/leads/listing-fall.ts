/** The numbers of leads that a source lists and has listed. */
export interface ListingSize {
  /** Number of leads in the last complete listing. */
  readonly listed: number;
  /** Maximum number of leads in a complete listing of the last week. */
  readonly listedLately: number;
  /** Number of leads that were ever listed. */
  readonly leads: number;
}

/** Fewer leads than this may vanish from a listing without a problem, unless none is left. */
const FEW_LEADS = 20;

/**
 * Returns the former size of a listing that has fallen to zero, or to less than half of its maximum in the last week and by at least 20
 * leads. Undefined if it has not. Services that remove old leads gradually stay above these limits.
 */
export function sizeBeforeFall({ listed, listedLately, leads }: ListingSize): number | undefined {
  if (listed === 0) return leads > 0 ? Math.max(leads, listedLately) : undefined;
  const isFall = listedLately - listed >= FEW_LEADS && listed < listedLately / 2;
  return isFall ? listedLately : undefined;
}
