import { FORGOTTEN } from '../../ledger/rules/delivering/superseding.ts';
import { findSink } from '../database/sinks.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { someBatches } from '../delivering/lock-batches.ts';
import { END_EMPTY, SKIP } from '../delivering/superseding.ts';

/** Maximum number of deliveries in no batch that one transaction skips, and of those in batches, except that it skips whole batches. */
const FORGET_CHUNK = 500;

/** Counts the pending deliveries that `forgetChunk` would skip. Returns undefined if there is no such sink or it is still declared. */
export async function forgettable(tx: Transaction, name: string): Promise<number | undefined> {
  const sink = await findSink(tx, name);
  if (!sink || sink.active) return undefined;
  return (await tx.first(COUNT_IDLE, [sink.sinkNo, tx.now]))?.deliveries ?? 0;
}

/**
 * Skips one chunk of the pending deliveries of a sink that is no longer declared. Returns the number of deliveries that it skipped. That number can
 * be 0 although others are left, because another transaction may have changed the chosen deliveries first: `forgettable` counts the rest.
 */
export async function forgetChunk(tx: Transaction, name: string): Promise<number> {
  tx.requireOwingLock();
  const sink = await findSink(tx, name);
  if (!sink || sink.active) return 0;
  // A batch is skipped as a whole, because a late outcome must match its batch. Those that are being attempted are left out.
  const batches = (await tx.rows(IDLE_BATCHES, [sink.sinkNo, tx.now, FORGET_CHUNK])).map(
    ({ batch_no }) => batch_no,
  );
  const waiting = await tx.rows(IDLE, [sink.sinkNo, FORGET_CHUNK]);
  const some = [...waiting, ...(await tx.rows(IN_BATCHES, [batches]))];
  if (some.length === 0) return 0;
  await tx.run(SKIP, [FORGOTTEN, tx.now, some.map(({ delivery_no }) => delivery_no)]);
  if (batches.length > 0) await tx.run(END_EMPTY, [batches]);
  tx.count(sink.sinkNo, 'pending', -some.length);
  tx.count(sink.sinkNo, 'skipped', some.length);
  return some.length;
}

const COUNT_IDLE = statement<{ deliveries: number }>(
  'count-idle',
  `SELECT count(*) AS deliveries FROM _deliveries d LEFT JOIN _batches b ON b.batch_no = d.batch_no
   WHERE d.sink_no = $1 AND d.state = 'pending' AND (b.holder IS NULL OR b.leased_until <= $2)`,
);
const IDLE_BATCHES = statement<{ batch_no: number }>(
  'idle-batches',
  someBatches('b.sink_no = $1 AND (b.holder IS NULL OR b.leased_until <= $2)', '$3'),
);
const IDLE = statement<{ delivery_no: number }>(
  'idle-deliveries',
  `SELECT d.delivery_no FROM _deliveries d WHERE d.delivery_no = ANY (ARRAY(SELECT e.delivery_no FROM _deliveries e
     WHERE e.sink_no = $1 AND e.state = 'pending' AND e.batch_no IS NULL ORDER BY e.next_attempt_at, e.delivery_no LIMIT $2))
   AND coalesce(d.state, '') = 'pending' AND d.batch_no IS NULL ORDER BY d.delivery_no FOR UPDATE`,
);
const IN_BATCHES = statement<{ delivery_no: number }>(
  'in-idle-batches',
  'SELECT delivery_no FROM _deliveries WHERE batch_no = ANY ($1::bigint[])',
);
