import { join } from 'node:path';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import {
  deadIn,
  isDead,
  keepShowingLife,
  livingIn,
  removeSign,
  showLife,
} from '../../platform/files/life-sign.ts';

/** Where the processes of a data directory show that they live. */
const folderOf = (dataDir: string) => join(dataDir, 'processes');

/** Shows that this process lives, under the name that its attempts carry in the ledger. */
export function showOwnLife(dataDir: string, holder: string): { release(): void } {
  return showLife(folderOf(dataDir), holder);
}

/** Whether any process of a data directory lives; workers do not hold its lock. */
export function hasLivingProcess(dataDir: string): boolean {
  return livingIn(folderOf(dataDir)).length > 0;
}

/**
 * Frees what processes held that were killed in the middle of an attempt, so that it is attempted again at once and not
 * only when its lease ends. Gives how many batches that were. What this process holds is never freed, nor what a process
 * holds of which nothing is known; this one's own sign is made anew where somebody deleted it.
 */
export async function freeTheDead(ledger: Ledger, dataDir: string): Promise<number> {
  const folder = folderOf(dataDir);
  keepShowingLife(folder);
  let freed = 0;
  for (const holder of await ledger.holders()) {
    if (!isDead(folder, holder)) continue;
    freed += await ledger.endLeasesOf(holder);
    removeSign(folder, holder); // only now: without it nobody would know that the process is dead
  }
  return freed;
}

/** At the start: frees what dead processes held, and removes the signs of those that held nothing, for which nobody else looks. */
export async function startAfterTheDead(ledger: Ledger, dataDir: string, now: Date): Promise<void> {
  await freeTheDead(ledger, dataDir);
  const folder = folderOf(dataDir);
  const dead = deadIn(folder, now);
  // Read afterwards: whoever is dead begins nothing any more, and whoever the ledger names is freed by its sign.
  const holders = new Set(await ledger.holders());
  for (const name of dead) if (!holders.has(name)) removeSign(folder, name);
}
