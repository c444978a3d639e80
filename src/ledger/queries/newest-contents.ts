import type Database from 'better-sqlite3';
import type { Delivery } from '../../leads/delivery.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';
import { type ContentRow, MAX_BYTES, toContent } from '../rules/queries/newest-contents.ts';

/** Returns the newest current versions of leads, as `LedgerQueries.newestContents` describes. */
export function newestContents(db: Database.Database, limit: number): Delivery[] {
  const rows = db
    .prepare<[number], ContentRow>(
      `SELECT v.source, CAST(v.id AS TEXT) AS id, v.version, v.first_seen_at, v.valid_from, v.poll_id, v.hash, v.raw
       FROM _versions v CROSS JOIN _leads l ON l.source = v.source AND l.id = v.id AND l.version_no = v.version_no
       WHERE l.erased_no IS NULL AND octet_length(v.raw) <= ${MAX_BYTES} AND ${HAS_CONTENT} ORDER BY v.version_no DESC LIMIT +?`,
    )
    .all(limit);
  return rows.map(toContent);
}
