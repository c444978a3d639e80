import type { FormerName, HistoryRow, Overview, RenamedSink } from '../leads/mirrored-history.ts';

/**
 * Copies the history of a ledger to a destination. Independent of deliveries: neither waits for the other. Each method uses only small
 * transactions and may throw SinkUnavailable. `table` is a name in catalog/mirrored-tables.ts, `ledger` the id of a ledger.
 */
export interface Mirror {
  /** Time between two rounds, in ms. */
  readonly everyMs: number;
  /** Returns the checkpoint: the greatest row number that the table has from this ledger, or 0 if there is none. */
  lastNumber(ledger: string, table: string, signal: AbortSignal): Promise<number>;
  /** Whether the stored row with this row's number has the same values in the columns that never change. */
  has(ledger: string, table: string, row: HistoryRow, signal: AbortSignal): Promise<boolean>;
  /**
   * Reassigns the ledger's last rows, at most `count`, to the id of a lost ledger, under which the destination keeps rows that the present ledger
   * no longer contains. Deletes the rows instead if they are derived from other rows.
   */
  markLost(ledger: string, table: string, count: number, signal: AbortSignal): Promise<void>;
  /** Returns the row numbers, in ascending order, of the rows that may have changed since they were written. */
  unsettled(
    table: string,
    part: { ledger: string; after: number; limit: number },
    signal: AbortSignal,
  ): Promise<readonly number[]>;
  /** Returns, in ascending order, the numbers of those of the given versions whose content the destination does not have. */
  missingContents(versions: readonly HistoryRow[], signal: AbortSignal): Promise<readonly number[]>;
  /** Upserts rows by their keys. Returns the number of rows that the destination refused; all other rows were written. */
  write(ledger: string, table: string, rows: readonly HistoryRow[], signal: AbortSignal): Promise<number>;
  /**
   * Returns the former names under which the destination still has these sinks. The caller must then write the deliveries of these sinks
   * again.
   */
  formerNames(
    ledger: string,
    renamed: readonly RenamedSink[],
    signal: AbortSignal,
  ): Promise<readonly FormerName[]>;
  /** Writes the present state of sinks and sources, replaces former names of sinks, and deletes client keys that are no longer valid. */
  writeOverview(
    ledger: string,
    overview: Overview,
    former: readonly FormerName[],
    signal: AbortSignal,
  ): Promise<void>;
  close(): Promise<void>;
}
