import type { Delivery } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import type { RecentAttempt } from '../../ledger/contract/feed-entries.ts';
import { type ContentRow, MAX_BYTES, toContent } from '../../ledger/rules/queries/newest-contents.ts';
import { HAS_CONTENT, IS_NEW_LEAD } from '../database/delivery-sql.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Returns the last attempts, newest first. */
export async function recentAttempts(tx: Transaction, limit: number): Promise<RecentAttempt[]> {
  return (await tx.rows(ATTEMPTS, [limit])).map(({ sink, at, outcome, speed_ms }) => ({
    sink,
    at: new Date(at),
    outcome,
    speedMs: speed_ms ?? undefined,
  }));
}

/** Returns the current versions that were recorded last, newest first, as `LedgerQueries.newestContents` describes. */
export async function newestContents(tx: Transaction, limit: number): Promise<Delivery[]> {
  return (await tx.rows(CONTENTS, [limit])).map(toContent);
}

const ATTEMPTS = statement<{
  sink: string;
  at: number;
  outcome: Outcome['kind'];
  speed_ms: number | null;
}>(
  'recent-attempts',
  `SELECT s.sink, coalesce(a.last_at, a.started_at) + a.duration_ms AS at, a.outcome,
   CASE WHEN a.outcome = 'delivered' AND ${IS_NEW_LEAD} THEN d.settled_at - v.first_seen_at END AS speed_ms
   FROM (SELECT * FROM _attempts ORDER BY attempt_no DESC LIMIT $1) a JOIN _deliveries d ON d.delivery_no = a.delivery_no
   JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no LEFT JOIN _sources o ON o.source = v.source
   ORDER BY a.attempt_no DESC`,
);

const CONTENTS = statement<ContentRow>(
  'newest-contents',
  `SELECT v.source, v.id::text AS id, v.version, v.first_seen_at, v.valid_from, v.poll_id, v.hash, v.raw
   FROM _versions v JOIN _leads l ON l.source = v.source AND l.id = v.id AND l.version_no = v.version_no
   WHERE l.erased_no IS NULL AND octet_length(v.raw) <= ${MAX_BYTES} AND ${HAS_CONTENT} ORDER BY v.version_no DESC LIMIT $1`,
);
