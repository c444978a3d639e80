import { statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

/** Adds up the changes of the counts of deliveries, so that few of them have to be read. */
export async function addUpCounts(tx: Transaction): Promise<void> {
  await tx.run(ADD_UP);
}

const ADD_UP = statement(
  'add-up-counts',
  `WITH gone AS (DELETE FROM _count_changes RETURNING *)
   INSERT INTO _sink_counts AS c (sink_no, pending, delivered, dead, skipped, delivered_at)
   SELECT sink_no, sum(pending), sum(delivered), sum(dead), sum(skipped), max(delivered_at) FROM gone GROUP BY sink_no
   ON CONFLICT (sink_no) DO UPDATE SET pending = c.pending + excluded.pending, delivered = c.delivered + excluded.delivered,
     dead = c.dead + excluded.dead, skipped = c.skipped + excluded.skipped, delivered_at = greatest(c.delivered_at, excluded.delivered_at)`,
);
