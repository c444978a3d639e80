import { replacedProgram } from '../../platform/process/replaced-program.ts';
import { nextBeat } from '../../platform/time/beat.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

/** How often it is looked whether the program on disk is still the one that runs, in ms. */
const CHECK_INTERVAL_MS = 5_000;

/** Tells once when the program was replaced by another version. The daemon goes on: only somebody outside can restart it. */
export async function watchProgram(clock: Clock, emit: Emit, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await nextBeat(clock, CHECK_INTERVAL_MS, signal);
    if (!signal.aborted && replacedProgram()) return emit({ type: 'program-replaced' });
  }
}
