import type { LedgerUpkeep } from '../../ledger/contract/ledger-upkeep.ts';
import type { Memory } from '../../platform/process/memory.ts';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
import type { Clock } from '../../platform/time/clock.ts';

const CHECK_INTERVAL_MS = 10_000;
/** A process is idle if it was busy for less than this share of the time since the last check. */
const IDLE_LOAD = 0.05;
/** Minimum growth since the last release, in bytes. */
const MIN_GROWTH_BYTES = 48 * 1024 * 1024;
/** Minimum time between two releases, in ms, so that the process keeps the memory that every poll of a long listing needs again. */
const REST_MS = 600_000;

/**
 * Returns memory to the operating system after a burst of work, such as a first sync; V8 and SQLite would otherwise keep it for later use.
 * Does so only while the process is idle, because a release blocks the process for a moment. Runs until the signal aborts.
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
    const hasGrown = memory.residentBytes() - heldBytes >= MIN_GROWTH_BYTES;
    if (signal.aborted || !isIdle || !hasGrown || clock.monotonicMs() < restsUntilMs) continue;
    await memory.collect();
    await ledger.releaseMemory();
    heldBytes = memory.residentBytes();
    restsUntilMs = clock.monotonicMs() + REST_MS;
  }
}
