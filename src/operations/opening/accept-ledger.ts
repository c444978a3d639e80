import type { LedgerConfig } from '../../config/contract/config.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { ledgerPlaceOf, openConfiguredLedger } from './configured-ledger.ts';
import { holdDataDir } from './open-ledger.ts';

/**
 * Creates a new, empty ledger if there is none, so that the next start uses it and does not search for an earlier ledger. Renames the files
 * that an old ledger left behind. If there is a ledger that was moved to another place, takes that mark away: it is used again.
 * @throws DataDirInUse, DataDirUnusable, LedgerError
 */
export async function acceptNewLedger(
  config: LedgerConfig,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<{ readonly made: boolean; readonly lifted: boolean; readonly aside: readonly string[] }> {
  const held = holdDataDir(config.dataDir);
  try {
    const place = ledgerPlaceOf(config);
    if (!(await place.isMissing())) return { made: false, lifted: await place.liftMove(), aside: [] };
    const aside = place.setAside(clock.now());
    const ledger = await openConfiguredLedger(config, { clock, random, create: true });
    await ledger.close();
    return { made: true, lifted: false, aside };
  } finally {
    held.release();
  }
}
