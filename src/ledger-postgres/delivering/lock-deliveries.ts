import { statement } from '../database/statement.ts';
import { LocksChanged, type Transaction } from '../database/transaction.ts';

/** Locks deliveries and the batches that they are in until the end of the transaction: batches first. */
export async function lockDeliveries(tx: Transaction, deliveries: readonly number[]): Promise<void> {
  const locked = await tx.rows(LOCK_BATCHES, [deliveries]);
  await lockNewBatches(tx, locked, await tx.rows(LOCK_DELIVERIES, [deliveries]));
}

/**
 * Locks those batches of locked deliveries that were not locked before: a claim may have put a delivery into a new batch in between. Never waits for
 * them, because they are out of order.
 * @throws LocksChanged if another transaction has locked one of them
 */
export async function lockNewBatches(
  tx: Transaction,
  locked: readonly { readonly batch_no: number }[],
  deliveries: readonly { readonly batch_no: number | null }[],
): Promise<void> {
  const known = new Set(locked.map(({ batch_no }) => batch_no));
  const added = new Set(deliveries.flatMap(({ batch_no }) => batch_no ?? []).filter((no) => !known.has(no)));
  if (added.size === 0) return;
  if ((await tx.rows(LOCK_FREE_BATCHES, [[...added]])).length < added.size)
    throw new LocksChanged('a delivery was put into a batch before it was locked');
}

const LOCK_BATCHES = statement<{ batch_no: number }>(
  'lock-batches-of-deliveries',
  `SELECT b.batch_no FROM _batches b WHERE b.batch_no IN (SELECT d.batch_no FROM _deliveries d WHERE d.delivery_no = ANY ($1::bigint[]))
   ORDER BY b.batch_no FOR UPDATE`,
);
const LOCK_DELIVERIES = statement<{ batch_no: number | null }>(
  'lock-deliveries',
  'SELECT batch_no FROM _deliveries WHERE delivery_no = ANY ($1::bigint[]) ORDER BY delivery_no FOR UPDATE',
);
const LOCK_FREE_BATCHES = statement<{ batch_no: number }>(
  'lock-free-batches',
  'SELECT batch_no FROM _batches WHERE batch_no = ANY ($1::bigint[]) FOR UPDATE SKIP LOCKED',
);
