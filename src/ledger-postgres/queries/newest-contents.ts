import type { Delivery } from '../../leads/delivery.ts';
import { type ContentRow, MAX_BYTES, toContent } from '../../ledger/rules/queries/newest-contents.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { HAS_CONTENT } from '../schema/delivery-sql.ts';

/** Returns the current versions that were recorded last, newest first, as `LedgerQueries.newestContents` describes. */
export async function newestContents(tx: Transaction, limit: number): Promise<Delivery[]> {
  return (await tx.rows(CONTENTS, [limit])).map(toContent);
}

const CONTENTS = statement<ContentRow>(
  'newest-contents',
  `SELECT v.source, v.id::text AS id, v.version, v.first_seen_at, v.valid_from, v.poll_id, v.hash, v.raw
   FROM _versions v JOIN _leads l ON l.source = v.source AND l.id = v.id AND l.version_no = v.version_no
   WHERE l.erased_no IS NULL AND octet_length(v.raw) <= ${MAX_BYTES} AND ${HAS_CONTENT} ORDER BY v.version_no DESC LIMIT $1`,
);
