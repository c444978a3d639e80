import { ledgerFile } from '../../operations/opening/open-ledger.ts';
import { reclaimLeases } from '../../operations/opening/reclaim-leases.ts';
import { nextWrite } from '../../platform/files/next-write.ts';
import { nextBeat } from '../../platform/time/beat.ts';
import type { Parts } from '../start/compose.ts';

/** After a look at what another process wrote to the ledger, the next one comes so much later at the earliest, in ms. */
const MIN_CHECK_INTERVAL_MS = 100;
/** And so much later at the latest, should the system not tell of a write, in ms. */
const MAX_CHECK_INTERVAL_MS = 2_000;
/** How often it is looked whether the ledger's files are still those that were opened, in ms. */
const CHECK_FILES_MS = 1_000;
/** How often it is looked whether a process died in the middle of something, in ms. */
const CHECK_PROCESSES_MS = 2_000;

/** Wakes dispatch when a worker has settled something or a command has changed something. */
export async function watchExternalWrites(
  { ledger, clock, wakes, current }: Parts,
  signal: AbortSignal,
): Promise<void> {
  const log = `${ledgerFile(current.config.dataDir)}-wal`; // every commit is written there
  while (!signal.aborted) {
    // Begun before the look: what is written during it is looked at as well.
    const written = nextWrite(log, clock, MAX_CHECK_INTERVAL_MS, signal);
    if (await ledger.changedElsewhere()) wakes.notifyAll();
    await clock.sleep(MIN_CHECK_INTERVAL_MS, signal);
    await written;
  }
}

/** Goes on with what processes held or had begun that were killed. */
export async function watchProcesses(
  { ledger, clock, wakes, current }: Parts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await nextBeat(clock, CHECK_PROCESSES_MS, signal);
    const freed = await reclaimLeases(ledger, current.config.dataDir);
    if (freed + (await ledger.finishReplays()) > 0) wakes.notifyAll();
  }
}

/** Resolves to true when the ledger's files were removed or replaced; to false when the signal aborts before that. */
export async function ledgerReplaced({ ledger, clock }: Parts, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    await nextBeat(clock, CHECK_FILES_MS, signal);
    if (!signal.aborted && (await ledger.isReplaced())) return true;
  }
  return false;
}
