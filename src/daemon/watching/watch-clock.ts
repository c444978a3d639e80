import type { LedgerControl } from '../../ledger/contract/ledger-control.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { nextBeat } from '../../platform/time/beat.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

/** Less than this is a clock being kept in time, in ms. */
const STEP_MS = 2_000;
const CHECK_INTERVAL_MS = 1_000;
/** The longest pause after a failure that trying again at once would only repeat, in ms. */
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * Notices that the wall clock was set back, while leadsync runs or since it last did, and tells the ledger: what was due
 * at a time that now lies ahead would wait for it. A clock that is set ahead makes leads due early, which harms nobody; claiming sees to the leases then.
 */
export async function watchClock(
  ledger: LedgerControl,
  clock: Clock,
  emit: Emit,
  signal: AbortSignal,
): Promise<void> {
  const clockAt = (await ledger.clockAt()).getTime();
  let ahead = Math.max(clockAt, clock.now().getTime()) - clock.monotonicMs();
  let pauseMs = CHECK_INTERVAL_MS;
  while (!signal.aborted) {
    const aheadNow = clock.now().getTime() - clock.monotonicMs();
    const failure = await reportSetBack(ahead - aheadNow, ledger, emit);
    // What the ledger could not be told is told with a later look; it must not be forgotten.
    if (!failure) ahead = aheadNow;
    pauseMs = !failure || failure.isTransient ? CHECK_INTERVAL_MS : Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    await nextBeat(clock, pauseMs, signal);
  }
}

/** Gives why the ledger does not know it yet; undefined when it does, or when there is nothing to tell. */
async function reportSetBack(
  byMs: number,
  ledger: LedgerControl,
  emit: Emit,
): Promise<LedgerError | undefined> {
  if (byMs < STEP_MS) return undefined;
  try {
    const moved = await ledger.clockWentBack(byMs);
    emit({ type: 'clock-set-back', byMs: Math.round(byMs), moved });
    return undefined;
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const { message: reason, hint } = error;
    emit({ type: 'ledger-failed', operation: 'noting that the clock was set back', reason, hint });
    return error;
  }
}
