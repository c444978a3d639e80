import type { LedgerConfig } from '../../config/contract/config.ts';
import { isDataDirHeld } from '../../operations/opening/open-ledger.ts';
import { askReadiness, type Readiness, staleConfig, whomToAsk } from './ask-daemon.ts';

/** The leadsync that holds a data directory, and how it is. */
export interface Holder extends Readiness {
  readonly running: boolean;
  /** It keeps to an earlier configuration: since when the file is not valid, and each fault. */
  readonly stale: Awaited<ReturnType<typeof staleConfig>>;
}

/** Nobody holds it. */
export const NOBODY: Holder = { running: false, answers: true, unready: [], stale: undefined };

/** Whether a leadsync holds the data directory, and how it is; one that has no address to be asked at counts as well. */
export async function askTheHolder({
  dataDir,
  admin,
  adminToken,
  faults = [],
}: Pick<LedgerConfig, 'dataDir' | 'admin' | 'adminToken' | 'faults'>): Promise<Holder> {
  if (!isDataDirHeld(dataDir)) return NOBODY;
  const asked = whomToAsk({ dataDir, admin });
  if (!asked) return { ...NOBODY, running: true };
  const readiness = await askReadiness(asked, adminToken, faults.length > 0);
  // One that was stopping gives no answer, and is gone by now.
  if (!readiness.answers && !isDataDirHeld(dataDir)) return NOBODY;
  const stale = readiness.answers ? await staleConfig(asked, adminToken) : undefined;
  return { running: true, ...readiness, stale };
}
