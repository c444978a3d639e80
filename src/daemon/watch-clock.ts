import type { Ledger } from '../ledger/ledger.ts';
import { LedgerError } from '../ledger/ledger-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Emit } from '../telemetry/events.ts';

/** Less than this is a clock being kept in time, in ms. */
const STEP_MS = 2_000;
const LOOK_MS = 1_000;

/**
 * Notices that the wall clock was set back, while leadsync runs or since it last did, and tells the ledger: what was due
 * at a time that now lies ahead would wait for it. A clock that is set forward makes things due early, which harms nobody.
 */
export async function watchClock(
  ledger: Ledger,
  clock: Clock,
  emit: Emit,
  signal: AbortSignal,
): Promise<void> {
  const clockAt = (await ledger.clockAt()).getTime();
  let ahead = Math.max(clockAt, clock.now().getTime()) - clock.monotonicMs();
  while (!signal.aborted) {
    const aheadNow = clock.now().getTime() - clock.monotonicMs();
    // What the ledger could not be told is told with the next look; it must not be forgotten.
    if (await pullBack(ahead - aheadNow, ledger, emit)) ahead = aheadNow;
    await clock.sleep(LOOK_MS, signal);
  }
}

/** False when the ledger does not know it yet. */
async function pullBack(byMs: number, ledger: Ledger, emit: Emit): Promise<boolean> {
  if (byMs < STEP_MS) return true;
  try {
    const moved = await ledger.clockWentBack(byMs);
    emit({ type: 'clock-set-back', byMs: Math.round(byMs), moved });
    return true;
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const { message: reason, hint } = error;
    emit({ type: 'ledger-failed', operation: 'noting that the clock was set back', reason, hint });
    return false;
  }
}
