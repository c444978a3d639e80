import type { LedgerUpkeep } from '../../ledger/contract/ledger-upkeep.ts';
import type { Memory } from '../../platform/process/memory.ts';
import { nextBeat } from '../../platform/time/beat.ts';
import type { Clock } from '../../platform/time/clock.ts';

const CHECK_INTERVAL_MS = 10_000;
/** A process that has worked for less than this part of the time between two looks is idle. */
const IDLE_LOAD = 0.05;
/** Worth giving back: so much more is held than after the last time, in bytes. */
const MIN_GROWTH_BYTES = 48 * 1024 * 1024;
/** After one time the next comes so much later at the earliest, in ms: what every poll of a long listing takes and frees stays with the process. */
const REST_MS = 600_000;

/**
 * Gives memory back to the machine once a burst of work, such as a first sync, is over: V8 and SQLite keep what it took until they
 * need it again. Only while the process is idle, since it stands still for a moment. Until the signal aborts.
 */
export async function releaseMemory(
  ledger: Pick<LedgerUpkeep, 'releaseMemory'>,
  memory: Memory,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let heldBytes = memory.residentBytes();
  let restsUntilMs = 0;
  memory.load();
  while (!signal.aborted) {
    await nextBeat(clock, CHECK_INTERVAL_MS, signal);
    const isIdle = memory.load() < IDLE_LOAD;
    const isWorth = memory.residentBytes() - heldBytes >= MIN_GROWTH_BYTES;
    if (signal.aborted || !isIdle || !isWorth || clock.monotonicMs() < restsUntilMs) continue;
    await memory.collect();
    await ledger.releaseMemory();
    heldBytes = memory.residentBytes();
    restsUntilMs = clock.monotonicMs() + REST_MS;
  }
}
