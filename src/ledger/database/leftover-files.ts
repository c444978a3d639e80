import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../../platform/failures/error-code.ts';
import { TEMPORARY } from '../../platform/files/file-system.ts';

/** Returns the temporary path at which `leadsync recover` builds the new ledger before it replaces the damaged one. */
export function recoveredFile(ledger: string): string {
  return `${ledger}.recovered`;
}

/** Returns the temporary path at which `leadsync restore` prepares a ledger before it replaces the current one. */
export function restoringFile(ledger: string): string {
  return `${ledger}.restoring`;
}

/** Removes a ledger's file and the files that SQLite created beside it. */
export function removeLedger(file: string): void {
  for (const end of ['', '-journal', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
}

/**
 * Removes files that killed processes left beside a ledger: an unfinished recovered or restored ledger, which contains personal data, and temporary
 * files of the high-water mark. Call it only in the process that holds the data directory, because no other process can be writing these files
 * then. Ignores errors of the file system.
 */
export function removeLeftovers(ledger: string): void {
  try {
    removeLedger(recoveredFile(ledger));
    removeLedger(restoringFile(ledger));
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
