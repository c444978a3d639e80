import { join } from 'node:path';
import type { LedgerDelivering } from '../../ledger/contract/ledger-delivering.ts';
import {
  deadProcesses,
  holdProcessLock,
  isProcessDead,
  liveProcesses,
  removeProcessLock,
  restoreProcessLocks,
} from '../../platform/files/process-lock.ts';

/** Folder of the process locks of a data directory. */
const folderOf = (dataDir: string) => join(dataDir, 'processes');

/** Holds the lock file of this process. `holder` is the name under which the ledger records the leases of this process. */
export function holdOwnProcessLock(dataDir: string, holder: string): { release(): void } {
  return holdProcessLock(folderOf(dataDir), holder);
}

/** Whether any process that uses a data directory may be alive, including workers, which do not lock the directory itself. */
export function hasLiveProcess(dataDir: string): boolean {
  return liveProcesses(folderOf(dataDir)).length > 0;
}

/**
 * Reclaims the leases of dead processes, so that their batches are attempted again immediately instead of when the leases expire. Keeps the
 * leases of this process and of processes that may be alive. Restores the lock file of this process if it was deleted. Returns the number
 * of reclaimed batches.
 */
export async function reclaimLeases(ledger: LedgerDelivering, dataDir: string): Promise<number> {
  const folder = folderOf(dataDir);
  restoreProcessLocks(folder);
  let reclaimed = 0;
  for (const holder of await ledger.holders()) {
    if (!isProcessDead(folder, holder)) continue;
    reclaimed += await ledger.reclaimLeases(holder);
    removeProcessLock(folder, holder); // only now, because the lock file shows that the process is dead
  }
  return reclaimed;
}

/** At the start, reclaims the leases of dead processes, and removes the lock files of dead processes that hold no lease. */
export async function reclaimAtStart(ledger: LedgerDelivering, dataDir: string, now: Date): Promise<void> {
  await reclaimLeases(ledger, dataDir);
  const folder = folderOf(dataDir);
  const dead = deadProcesses(folder, now);
  // Read only now, because a dead process takes no new lease, and its leases can be reclaimed only while its lock file exists.
  const holders = new Set(await ledger.holders());
  for (const name of dead) if (!holders.has(name)) removeProcessLock(folder, name);
}
