import type { HistoryText, Overview } from '../../leads/mirrored-history.ts';
import type { Ledger } from './ledger.ts';

/** What a mirror copies from a ledger. */
export interface LedgerHistory {
  /**
   * Returns up to `limit` rows of a mirrored table (catalog/mirrored-tables.ts) with numbers above `no`, in order. Returns fewer rows if they are
   * large. An empty result means that the table has no more rows.
   */
  historyAfter(table: string, no: number, limit: number): Promise<HistoryText>;
  /**
   * Returns the present rows of a mirrored table with the given numbers, in order. If the rows are large, returns fewer of them, beginning
   * with the first.
   */
  historyNow(table: string, numbers: readonly number[]): Promise<HistoryText>;
  /**
   * Returns the numbers above `after`, in order, of up to `limit` deliveries that an operator retried after they had been discarded, and that
   * are not settled or were settled at or after `since`. A mirror has copied these deliveries as settled.
   */
  broughtBack(after: number, since: Date, limit: number): Promise<readonly number[]>;
  /** Returns the present state of sinks and sources. */
  overview(): Promise<Overview>;
}

/** A ledger that a sink can copy to another database (*mirror*). A ledger in PostgreSQL is not one: it is itself a database for analysts. */
export interface MirroredLedger extends Ledger, LedgerHistory {}

/** Whether a sink can copy this ledger. */
export function isMirrored(ledger: Ledger): ledger is MirroredLedger {
  return 'historyAfter' in ledger;
}
