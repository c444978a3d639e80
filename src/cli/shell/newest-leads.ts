import type { LedgerConfig } from '../../config/contract/config.ts';
import type { Delivery } from '../../leads/delivery.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { type Surroundings, withLedger } from './context.ts';

/** Returns the contents that the ledger recorded last, newest first; an empty array if there is no ledger yet. */
export async function newestLeads(
  config: LedgerConfig,
  surroundings: Surroundings,
  limit: number,
): Promise<readonly Delivery[]> {
  try {
    return await withLedger(config, surroundings, (ledger) => ledger.newestContents(limit));
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'missing') return [];
    throw error;
  }
}
