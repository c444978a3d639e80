import type { LedgerConfig } from '../../config/contract/config.ts';
import { isDataDirInUse } from '../../operations/opening/open-ledger.ts';
import { askReadiness, daemonTarget, type Readiness, staleConfig } from './ask-daemon.ts';

/** Whether a leadsync uses a data directory, and the state of that leadsync. */
export interface RunningDaemon extends Readiness {
  readonly running: boolean;
  /** Since when the configuration file has been invalid, and its faults. Undefined unless leadsync runs with an earlier configuration. */
  readonly stale: Awaited<ReturnType<typeof staleConfig>>;
}

/** The value if no leadsync uses the data directory. */
export const NOT_RUNNING: RunningDaemon = { running: false, answers: true, unready: [], stale: undefined };

/** Returns whether a leadsync uses the data directory, and its state. A leadsync without an admin address counts as ready. */
export async function askRunningDaemon({
  dataDir,
  admin,
  adminToken,
  faults = [],
}: Pick<LedgerConfig, 'dataDir' | 'admin' | 'adminToken' | 'faults'>): Promise<RunningDaemon> {
  if (!isDataDirInUse(dataDir)) return NOT_RUNNING;
  const address = daemonTarget({ dataDir, admin });
  if (!address) return { ...NOT_RUNNING, running: true };
  const readiness = await askReadiness(address, adminToken, faults.length > 0);
  // leadsync was stopping, and has ended by now.
  if (!readiness.answers && !isDataDirInUse(dataDir)) return NOT_RUNNING;
  const stale = readiness.answers ? await staleConfig(address, adminToken) : undefined;
  return { running: true, ...readiness, stale };
}
