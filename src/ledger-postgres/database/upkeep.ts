import { statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

/** Merges the recorded changes of delivery counts into the counts of their sinks, so that queries read only a few changes. */
export async function addUpCounts(tx: Transaction): Promise<void> {
  // One process at a time, and none while times are moved.
  await tx.rows(LOCK_LEDGER);
  await tx.run(ADD_UP);
}

const DAY_MS = 86_400_000;

/** Removes the rows of connections that have ended (see commits.ts). A connection that is open takes a new row within minutes. */
export async function removeOldCommits(tx: Transaction): Promise<void> {
  await tx.run(REMOVE_COMMITS, [tx.now - DAY_MS]);
}

const LOCK_LEDGER = statement('lock-ledger', 'SELECT 1 FROM _ledger FOR UPDATE');
const ADD_UP = statement(
  'add-up-counts',
  `WITH gone AS (DELETE FROM _count_changes RETURNING *)
   INSERT INTO _sink_counts AS c (sink_no, pending, delivered, dead, skipped, delivered_at)
   SELECT sink_no, sum(pending), sum(delivered), sum(dead), sum(skipped), max(delivered_at) FROM gone GROUP BY sink_no
   ON CONFLICT (sink_no) DO UPDATE SET pending = c.pending + excluded.pending, delivered = c.delivered + excluded.delivered,
     dead = c.dead + excluded.dead, skipped = c.skipped + excluded.skipped, delivered_at = greatest(c.delivered_at, excluded.delivered_at)`,
);
const REMOVE_COMMITS = statement(
  'remove-old-commits',
  'DELETE FROM _commits WHERE commit_no IN (SELECT commit_no FROM _commits WHERE at < $1 FOR UPDATE SKIP LOCKED)',
);
