import type { LedgerControl } from './ledger-control.ts';
import type { LedgerDelivering } from './ledger-delivering.ts';
import type { LedgerPersons } from './ledger-persons.ts';
import type { LedgerPolling } from './ledger-polling.ts';
import type { LedgerQueries } from './ledger-queries.ts';
import type { LedgerUpkeep } from './ledger-upkeep.ts';

/**
 * Which leads were seen, what is owed to whom, and what happened. Everything that must agree is written in one
 * transaction, and a promise that resolves means: on disk. Every method may throw `LedgerError`; then nothing of that
 * call is recorded. Asynchronous so that a ledger on another machine fits behind it.
 */
export interface Ledger
  extends LedgerUpkeep,
    LedgerPolling,
    LedgerDelivering,
    LedgerQueries,
    LedgerControl,
    LedgerPersons {
  /** Frees the file; no method may be called after it. */
  close(): Promise<void>;
}
