/** How many leads a source lists and has listed. */
export interface ListingSize {
  /** Leads in the last complete listing. */
  readonly listed: number;
  /** The most leads that a complete listing had in the last week. */
  readonly listedLately: number;
  /** Leads that were ever listed. */
  readonly leads: number;
}

/** Fewer leads than this may vanish from a listing without a word, unless none is left. */
const FEW_LEADS = 20;

/**
 * Returns from how many leads a listing has fallen: to none, or to less than half of what it had in the last week and by at
 * least 20. Undefined when it has not. Services that clear out old leads little by little stay above that.
 */
export function fallenFrom({ listed, listedLately, leads }: ListingSize): number | undefined {
  if (listed === 0) return leads > 0 ? Math.max(leads, listedLately) : undefined;
  const isFall = listedLately - listed >= FEW_LEADS && listed < listedLately / 2;
  return isFall ? listedLately : undefined;
}
