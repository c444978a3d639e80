import {
  type AttemptSums,
  KEPT_MS,
  mergeSums,
  noAttempts,
} from '../../ledger/rules/delivering/attempt-sums.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import { statement } from '../database/statement.ts';

/** Combines the rows that batches have added for a sink and a period of ten minutes into one row. Deletes rows older than `KEPT_MS`. */
export async function addUpActivity(access: PostgresAccess): Promise<void> {
  await access.write((tx) => tx.run(REMOVE_OLD, [tx.now - KEPT_MS]));
  for (const { sink_no, from_at } of await access.ask((tx) => tx.rows(SEVERAL)))
    await access.write(async (tx) => {
      const rows = await tx.rows(TAKE, [sink_no, from_at]);
      if (rows.length === 0) return; // another process has added them up
      const total = noAttempts();
      for (const { sums } of rows) mergeSums(total, JSON.parse(sums) as AttemptSums);
      await tx.run(PUT, [sink_no, from_at, JSON.stringify(total)]);
    });
}

const REMOVE_OLD = statement(
  'remove-old-sums',
  'DELETE FROM _sink_activity a USING _sinks s WHERE a.sink_no = s.sink_no AND a.from_at < $1',
);
const SEVERAL = statement<{ sink_no: number; from_at: number }>(
  'several-sums',
  'SELECT sink_no, from_at FROM _sink_activity GROUP BY sink_no, from_at HAVING count(*) > 1',
);
const TAKE = statement<{ sums: string }>(
  'take-sums',
  'DELETE FROM _sink_activity WHERE sink_no = $1 AND from_at = $2 RETURNING sums',
);
const PUT = statement('put-sums', 'INSERT INTO _sink_activity (sink_no, from_at, sums) VALUES ($1, $2, $3)');
