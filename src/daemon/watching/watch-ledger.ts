import { reclaimLeases } from '../../operations/opening/reclaim-leases.ts';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
import type { Parts } from '../start/parts.ts';

/** Minimum time between two checks for writes by other processes, in ms. */
const MIN_CHECK_INTERVAL_MS = 100;
/** Maximum time between two such checks, in case the system reports no write, in ms. */
const MAX_CHECK_INTERVAL_MS = 2_000;
/** Interval for checking for dead processes, in ms. */
const CHECK_PROCESSES_MS = 2_000;

/** Wakes dispatch when another process has written to the ledger, such as a worker that settled a batch, or a command. */
export async function watchExternalWrites(
  { ledger, clock, wakes }: Parts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // Watch before checking, so that a write during the check is not missed.
    const written = ledger.nextWrite(MAX_CHECK_INTERVAL_MS, signal);
    if (await ledger.changedElsewhere()) wakes.notifyAll();
    await clock.sleep(MIN_CHECK_INTERVAL_MS, signal);
    await written;
  }
}

/** Reclaims the leases of killed processes and finishes the replays that those processes had begun. */
export async function watchProcesses(
  { ledger, processes, clock, wakes }: Parts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await nextBeat(clock, CHECK_PROCESSES_MS, signal);
    const reclaimed = await reclaimLeases(ledger, processes);
    if (reclaimed + (await ledger.finishReplays()) > 0) wakes.notifyAll();
  }
}
