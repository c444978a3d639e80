import type { Config } from '../../config/contract/config.ts';
import type { LastDeclared } from '../../ledger/contract/declared.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { type Surroundings, withLedger } from './context.ts';

const NOTHING_YET: LastDeclared = { sources: [], sinks: [] };

/** Returns what the ledger was last told of the configuration. Before the first run there is no ledger, and everything is new. */
export async function lastDeclared(config: Config, surroundings: Surroundings): Promise<LastDeclared> {
  try {
    return await withLedger(config, surroundings, (ledger) => ledger.lastDeclared());
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'missing') return NOTHING_YET;
    throw error;
  }
}
