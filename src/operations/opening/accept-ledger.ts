import { existsSync, renameSync } from 'node:fs';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { printStamp } from '../../platform/text/format.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { lacksLedger } from './new-ledger.ts';
import { holdDataDir, ledgerFile, openConfiguredLedger } from './open-ledger.ts';

/**
 * Makes a new, empty ledger where there is none, so that leadsync starts with it unasked. What is left of an old one is set aside.
 * @throws DataDirInUse, DataDirUnusable, LedgerError
 */
export function acceptNewLedger(
  config: LedgerConfig,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): { readonly made: boolean; readonly aside: readonly string[] } {
  const held = holdDataDir(config.dataDir);
  try {
    if (!lacksLedger(config.dataDir)) return { made: false, aside: [] };
    const aside = setAside(ledgerFile(config.dataDir), clock.now());
    void openConfiguredLedger(config, { clock, random, create: true }).close();
    return { made: true, aside };
  } finally {
    held.release();
  }
}

/** SQLite would remove a log that has no file. */
function setAside(file: string, now: Date): string[] {
  return ['-wal', '-shm']
    .filter((end) => existsSync(`${file}${end}`))
    .map((end) => {
      const aside = `${file}.left-${printStamp(now)}${end}`;
      renameSync(`${file}${end}`, aside);
      return aside;
    });
}
