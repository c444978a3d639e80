import type { Config } from '../../config/contract/config.ts';
import type { LastDeclaration } from '../../ledger/contract/declaration.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { type Surroundings, withLedger } from './context.ts';

/** Returns the configuration that the ledger last recorded; undefined if there is no ledger yet. @throws LedgerError if it cannot be read */
export async function lastDeclaration(
  config: Config,
  surroundings: Surroundings,
): Promise<LastDeclaration | undefined> {
  try {
    return await withLedger(config, surroundings, (ledger) => ledger.lastDeclaration());
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'missing') return undefined;
    throw error;
  }
}
