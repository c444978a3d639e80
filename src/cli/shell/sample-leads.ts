import type { LedgerConfig } from '../../config/contract/config.ts';
import type { Delivery } from '../../leads/delivery.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { type Surroundings, withLedger } from './context.ts';

/** Returns the lead versions that the ledger recorded last, newest first; an empty array if there is no ledger yet. */
export function newestLeads(
  config: LedgerConfig,
  surroundings: Surroundings,
  limit: number,
): Promise<readonly Delivery[]> {
  return readIfAny(config, surroundings, [], (ledger) => ledger.newestContents(limit));
}

/** Returns the number of a sink's pending deliveries that keep the mapping of an earlier attempt; 0 if there is no ledger yet. */
export function sentPending(config: LedgerConfig, surroundings: Surroundings, sink: string): Promise<number> {
  return readIfAny(config, surroundings, 0, (ledger) => ledger.sentPending(sink));
}

async function readIfAny<Result>(
  config: LedgerConfig,
  surroundings: Surroundings,
  none: Result,
  read: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  try {
    return await withLedger(config, surroundings, read);
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'missing') return none;
    throw error;
  }
}
