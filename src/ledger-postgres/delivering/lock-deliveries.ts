import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Locks deliveries and the batches that they are in until the end of the transaction: batches first, as everywhere. */
export async function lockDeliveries(tx: Transaction, deliveries: readonly number[]): Promise<void> {
  await tx.rows(LOCK_BATCHES, [deliveries]);
  await tx.rows(LOCK_DELIVERIES, [deliveries]);
  // A claim may have put a delivery into a batch before the delivery was locked.
  await tx.rows(LOCK_BATCHES, [deliveries]);
}

const LOCK_BATCHES = statement(
  'lock-batches-of-deliveries',
  `SELECT 1 FROM _batches b WHERE b.batch_no IN (SELECT d.batch_no FROM _deliveries d WHERE d.delivery_no = ANY ($1::bigint[]))
   ORDER BY b.batch_no FOR UPDATE`,
);
const LOCK_DELIVERIES = statement(
  'lock-deliveries',
  'SELECT 1 FROM _deliveries WHERE delivery_no = ANY ($1::bigint[]) ORDER BY delivery_no FOR UPDATE',
);
