import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { migrations } from './schema.ts';

/**
 * Requires that this version knows every migration that was applied to a ledger. `shape` is the number of applied migrations. @throws LedgerError if
 * a newer leadsync wrote it
 */
export function requireKnown(where: string, shape: number): void {
  if (shape <= migrations.length) return;
  throw new LedgerError(
    'newer',
    `The ledger in ${where} was written by a newer leadsync (schema ${shape}; this version knows schema ${migrations.length}).`,
    'Install that newer leadsync.',
  );
}
