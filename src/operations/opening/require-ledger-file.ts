import type { LedgerConfig } from '../../config/contract/config.ts';
import { ledgerPlaceOf } from './configured-ledger.ts';

/** A command needs the file of the ledger, and the ledger is on a server. */
export class NoLedgerFile extends Error {
  override readonly name = 'NoLedgerFile';
  /** What to use in place of the command. */
  readonly hint: string;

  constructor(where: string, hint: string) {
    super(`The ledger is in ${where}, and this command works only on a ledger in a file.`);
    this.hint = hint;
  }
}

/**
 * Returns the path of a configuration's ledger, for a command that works on the file itself. `instead` says what to do with a ledger on a server.
 * @throws NoLedgerFile
 */
export function requireLedgerFile(
  config: Pick<LedgerConfig, 'dataDir' | 'ledgerServer'>,
  instead: string,
): string {
  const { file, where } = ledgerPlaceOf(config);
  if (file === undefined) throw new NoLedgerFile(where, instead);
  return file;
}
