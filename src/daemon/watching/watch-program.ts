import { replacedProgram } from '../../platform/process/replaced-program.ts';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

/** Interval for checking that the program on disk is still the running version, in ms. */
const CHECK_INTERVAL_MS = 5_000;

/** Reports once if the program on disk was replaced or removed. The daemon continues, because only the operator or a supervisor can restart it. */
export async function watchProgram(clock: Clock, emit: Emit, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await nextBeat(clock, CHECK_INTERVAL_MS, signal);
    if (!signal.aborted && replacedProgram()) return emit({ type: 'program-replaced' });
  }
}
