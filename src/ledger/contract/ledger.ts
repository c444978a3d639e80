import type { LedgerControl } from './ledger-control.ts';
import type { LedgerDelivering } from './ledger-delivering.ts';
import type { LedgerPersons } from './ledger-persons.ts';
import type { LedgerPolling } from './ledger-polling.ts';
import type { LedgerQueries } from './ledger-queries.ts';
import type { LedgerUpkeep } from './ledger-upkeep.ts';

/**
 * The record of leads, of deliveries and of attempts. Writes whatever must agree in one transaction. When a method's promise
 * resolves, the change is on disk. Every method may throw `LedgerError`; then it has recorded nothing. All methods are asynchronous,
 * so that the ledger can work in another thread.
 */
export interface Ledger
  extends LedgerUpkeep,
    LedgerPolling,
    LedgerDelivering,
    LedgerQueries,
    LedgerControl,
    LedgerPersons {
  /** Closes the file. The caller may call no other method afterwards. */
  close(): Promise<void>;
}
