import { statement } from '../database/statement.ts';
import { LocksChanged, type Transaction } from '../database/transaction.ts';

/** Locks deliveries and the batches that they are in until the end of the transaction: batches first. */
export async function lockDeliveries(tx: Transaction, deliveries: readonly number[]): Promise<void> {
  const locked = await tx.rows(LOCK_BATCHES, [deliveries]);
  requireLocked(locked, await tx.rows(LOCK_DELIVERIES, [deliveries]));
}

/**
 * Requires that the batches of locked deliveries were locked before. A claim may have put a delivery into a new batch in between.
 * @throws LocksChanged
 */
export function requireLocked(
  batches: readonly { readonly batch_no: number }[],
  deliveries: readonly { readonly batch_no: number | null }[],
): void {
  const locked = new Set(batches.map(({ batch_no }) => batch_no));
  if (deliveries.some(({ batch_no }) => batch_no !== null && !locked.has(batch_no)))
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
