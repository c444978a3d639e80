import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../../platform/failures/error-code.ts';
import { TEMPORARY } from '../../platform/files/files.ts';

/** What `leadsync recover` calls the ledger that it makes, until it takes the place of the damaged one. */
export function recoveredFile(ledger: string): string {
  return `${ledger}.recovered`;
}

/** Removes a ledger's file and what SQLite put beside it. */
export function removeLedger(file: string): void {
  for (const end of ['', '-journal', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
}

/**
 * Removes what killed processes left beside a ledger: a recovered ledger that was not finished, which holds personal data, and temporary
 * files of the mark. Only for the process that holds the data directory, since nobody else writes them then. What cannot be removed
 * stays, and is no error.
 */
export function removeLeftovers(ledger: string): void {
  try {
    removeLedger(recoveredFile(ledger));
    const folder = dirname(ledger);
    for (const name of readdirSync(folder))
      if (isOfMark(name, ledger)) rmSync(join(folder, name), { force: true });
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
}

function isOfMark(name: string, ledger: string): boolean {
  return name.startsWith(`.${basename(ledger)}.mark.`) && TEMPORARY.test(name);
}
