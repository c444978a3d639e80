import type Database from 'better-sqlite3';
import type { Delivery } from '../../leads/delivery.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';

/** Maximum size of a version, in bytes. Larger versions are left out, because all versions in the result are in memory at the same time. */
const MAX_BYTES = 1_048_576;

interface ContentRow {
  source: string;
  id: string;
  version: number;
  first_seen_at: number;
  valid_from: number;
  poll_id: number;
  hash: string;
  raw: string;
}

/** Returns the newest current versions of leads, as `LedgerQueries.newestContents` describes. */
export function newestContents(db: Database.Database, limit: number): Delivery[] {
  const rows = db
    .prepare<[number], ContentRow>(
      `SELECT v.source, CAST(v.id AS TEXT) AS id, v.version, v.first_seen_at, v.valid_from, v.poll_id, v.hash, v.raw
       FROM _versions v CROSS JOIN _leads l ON l.source = v.source AND l.id = v.id AND l.version_no = v.version_no
       WHERE l.erased_no IS NULL AND octet_length(v.raw) <= ${MAX_BYTES} AND ${HAS_CONTENT} ORDER BY v.version_no DESC LIMIT +?`,
    )
    .all(limit);
  return rows.map(({ source, id, version, first_seen_at, valid_from, poll_id: poll, hash, raw }) => ({
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
  }));
}
