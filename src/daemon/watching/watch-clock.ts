import type { LedgerControl } from '../../ledger/contract/ledger-control.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

/** A wall clock that falls behind by less than this, in ms, is being synchronised, not set back. */
const STEP_MS = 2_000;
const CHECK_INTERVAL_MS = 1_000;
/** Maximum pause after a failure that is not transient, in ms. */
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * Detects that the wall clock was set back, while leadsync runs or since its last run, and tells the ledger, which decides whether its own clock was
 * set and moves due times back. Otherwise, deliveries would wait until the clock reaches those times again. A clock that is set forward only makes
 * deliveries due early; a claim then extends the leases by the same amount, so that the change does not end any of them.
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
    // If the ledger could not record the step, keep it for the next check.
    if (!failure) ahead = aheadNow;
    pauseMs = !failure || failure.isTransient ? CHECK_INTERVAL_MS : Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    await nextBeat(clock, pauseMs, signal);
  }
}

/** Records in the ledger that the clock was set back by `byMs`, unless the step is too small. Returns the failure, if any. */
async function reportSetBack(
  byMs: number,
  ledger: LedgerControl,
  emit: Emit,
): Promise<LedgerError | undefined> {
  if (byMs < STEP_MS) return undefined;
  try {
    const moved = await ledger.clockWentBack(byMs);
    if (moved !== undefined) emit({ type: 'clock-set-back', byMs: Math.round(byMs), moved });
    return undefined;
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const { message: reason, hint } = error;
    emit({ type: 'ledger-failed', operation: 'recording that the clock was set back', reason, hint });
    return error;
  }
}
