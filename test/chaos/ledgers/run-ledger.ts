import type { LedgerRecord } from './ledger-record.ts';

/** The engines of a ledger. */
export type LedgerName = 'sqlite' | 'postgres';
export const ledgers: readonly LedgerName[] = ['sqlite', 'postgres'];

/** The ledger of a run, as an observer sees it. */
export interface RunLedger {
  /** Whether leadsync has created it. */
  exists(): Promise<boolean>;
  /** Returns what only the ledger records; leadsync has to be stopped. */
  read(): Promise<LedgerRecord>;
  /** Returns the ways in which its tables contradict each other, in words. */
  contradictions(): Promise<string[]>;
  /** Writes a copy into a folder, if the folder of the run contains none. */
  keep(folder: string): Promise<void>;
}
