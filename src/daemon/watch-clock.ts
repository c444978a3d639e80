import type { Ledger } from '../ledger/ledger.ts';
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
  const lastPolledAt = (await ledger.lastPolledAt())?.getTime() ?? 0;
  await pullBack(lastPolledAt - clock.now().getTime(), ledger, emit);
  let ahead = clock.now().getTime() - clock.monotonicMs();
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal);
    const aheadNow = clock.now().getTime() - clock.monotonicMs();
    await pullBack(ahead - aheadNow, ledger, emit);
    ahead = aheadNow;
  }
}

async function pullBack(byMs: number, ledger: Ledger, emit: Emit): Promise<void> {
  if (byMs < STEP_MS) return;
  const moved = await ledger.clockWentBack(byMs);
  emit({ type: 'clock-set-back', byMs: Math.round(byMs), moved });
}
