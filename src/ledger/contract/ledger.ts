import type { LedgerControl } from './ledger-control.ts';
import type { LedgerDelivering } from './ledger-delivering.ts';
import type { LedgerPersons } from './ledger-persons.ts';
import type { LedgerPolling } from './ledger-polling.ts';
import type { LedgerQueries } from './ledger-queries.ts';
import type { LedgerUpkeep } from './ledger-upkeep.ts';

/**
 * The record of leads, deliveries and attempts. The ledger writes changes that depend on each other in one transaction. When a method's
 * promise resolves, the method's changes are on disk. Every method may fail with a `LedgerError`. It has then recorded nothing or, if it
 * works in chunks, only the chunks before the failure. Methods that use the database are asynchronous, so that the ledger can run in
 * another thread.
 */
export interface Ledger
  extends LedgerUpkeep,
    LedgerPolling,
    LedgerDelivering,
    LedgerQueries,
    LedgerControl,
    LedgerPersons {
  /** Closes the ledger. No other method may be called afterwards. */
  close(): Promise<void>;
}
