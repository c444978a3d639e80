import type { Delivery } from '../../../leads/delivery.ts';

/** Maximum size of a version, in bytes. Larger versions are left out, because all versions in the result are in memory at the same time. */
export const MAX_BYTES = 1_048_576;

/** A current version of a lead. Times are in ms since 1970. */
export interface ContentRow {
  source: string;
  id: string;
  version: number;
  first_seen_at: number;
  valid_from: number;
  poll_id: number;
  hash: string;
  raw: string;
}

/** Returns a version in the form of a delivery that the ledger does not contain. */
export function toContent(row: ContentRow): Delivery {
  const { source, id, version, first_seen_at, valid_from, poll_id: poll, hash, raw } = row;
  return {
    id: `none:${source}:${id}:${version}`,
    source,
    leadId: BigInt(id),
    version,
    event: 'created',
    replay: false,
    firstSeenAt: new Date(first_seen_at),
    changedAt: new Date(valid_from),
    poll,
    hash,
    raw,
  };
}
