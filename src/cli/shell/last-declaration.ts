import type { Config } from '../../config/contract/config.ts';
import type { LastDeclaration } from '../../ledger/contract/declaration.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { type Surroundings, withLedger } from './context.ts';

const NOTHING_YET: LastDeclaration = { sources: [], sinks: [] };

/**
 * Returns the configuration that the ledger last recorded. If there is no ledger yet, returns an empty configuration, so that everything
 * counts as new.
 */
export async function lastDeclaration(config: Config, surroundings: Surroundings): Promise<LastDeclaration> {
  try {
    return await withLedger(config, surroundings, (ledger) => ledger.lastDeclaration());
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'missing') return NOTHING_YET;
    throw error;
  }
}
