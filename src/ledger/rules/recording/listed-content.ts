import type { ContentFacts } from '../../../leads/content-facts.ts';

/** The reason recorded for a content that a listing contains beside another content with the same id. */
export const REPEATED =
  'This id occurs more than once in the listing, with different content; leadsync recorded only one version.';

/** Maximum time by which the service's clock may be behind leadsync's clock without new leads counting as old, in ms. */
const MAX_CLOCK_SKEW_MS = 3_600_000;

/** When the listings of a source were recorded, in ms since 1970; null if they were not. */
interface SourceListings {
  readonly complete_at: number | null;
  readonly first_listed_at: number | null;
}

/**
 * Returns the creation time before which a new lead counts as old, in ms since 1970. All leads of a source's first poll are old. If that
 * poll fails partway, the following polls add to the same first listing, and only leads that were created more than `MAX_CLOCK_SKEW_MS`
 * before leadsync first recorded leads of the source are old. After a complete listing, no new lead is old.
 */
export function oldBefore(row: SourceListings | undefined): number {
  if (row?.complete_at != null) return Number.NEGATIVE_INFINITY;
  return row?.first_listed_at == null ? Number.POSITIVE_INFINITY : row.first_listed_at - MAX_CLOCK_SKEW_MS;
}

/** Whether a new lead with this content counts as listed before the sinks were configured. See `OpenPoll.oldBefore`. */
export function isOld({ createdAtMs }: ContentFacts, before: number): boolean {
  if (!Number.isFinite(before)) return before > 0;
  return createdAtMs !== null && createdAtMs < before;
}
