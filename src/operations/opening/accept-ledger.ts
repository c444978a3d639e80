import { existsSync, renameSync } from 'node:fs';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { printStamp } from '../../platform/text/human-readable.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { isLedgerMissing } from './new-ledger.ts';
import { holdDataDir, ledgerFile, openConfiguredLedger } from './open-ledger.ts';

/**
 * Creates a new, empty ledger if there is none, so that the next start uses it and does not search for an earlier ledger. Renames the files
 * that an old ledger left behind.
 * @throws DataDirInUse, DataDirUnusable, LedgerError
 */
export async function acceptNewLedger(
  config: LedgerConfig,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<{ readonly made: boolean; readonly aside: readonly string[] }> {
  const held = holdDataDir(config.dataDir);
  try {
    if (!isLedgerMissing(config.dataDir)) return { made: false, aside: [] };
    const aside = setAside(ledgerFile(config.dataDir), clock.now());
    const ledger = await openConfiguredLedger(config, { clock, random, create: true });
    await ledger.close();
    return { made: true, aside };
  } finally {
    held.release();
  }
}

/** Renames the write-ahead log of a missing ledger, because SQLite would delete it. Returns the new names. */
export function setAside(file: string, now: Date): string[] {
  return ['-wal', '-shm']
    .filter((end) => existsSync(`${file}${end}`))
    .map((end) => {
      const aside = `${file}.left-${printStamp(now)}${end}`;
      renameSync(`${file}${end}`, aside);
      return aside;
    });
}
