import type { FeedCursor } from '../../ledger/contract/feed-entries.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/**
 * Returns a text that names the ledger and its history. Row numbers and transactions mean the same only within one history: a failover can lose commits,
 * and a restored database counts its transactions from another number.
 */
export async function historyOf(tx: Transaction): Promise<string> {
  return `${(await tx.first(LEDGER))?.ledger}/${tx.history}`;
}

/** Checks that a cursor belongs to the ledger and its present history. @throws LedgerError `replaced` */
export async function requireHistoryOf(tx: Transaction, { ledger, seen }: FeedCursor): Promise<void> {
  const isPresent = ledger === (await historyOf(tx));
  if (isPresent && (seen === undefined || (await tx.first(IS_PAST, [seen]))?.is_past)) return;
  throw new LedgerError(
    'replaced',
    'The change feed cannot continue after this cursor, because the ledger was restored, or another server took it over.',
    'Follow the ledger from its present end. The lists of deliveries and leads show what was recorded in between.',
  );
}

// A schema that was restored in the same database has another table.
const LEDGER = statement<{ ledger: string }>(
  'ledger-and-table',
  "SELECT id || '/' || '_ledger'::regclass::oid AS ledger FROM _ledger",
);
// A disk that was set back shows in nothing but the number of transactions.
const IS_PAST = statement<{ is_past: boolean }>(
  'is-snapshot-past',
  'SELECT pg_snapshot_xmax($1::text::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot()) AS is_past',
);
