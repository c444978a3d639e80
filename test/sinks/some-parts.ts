import { systemClock } from '../../src/platform/time/clock.ts';
import type { SinkParts } from '../../src/sinks/sink-type.ts';

/** What leadsync hands to a sink, with what the test says otherwise. */
export function someParts(parts: Partial<SinkParts> = {}): SinkParts {
  return {
    name: 'sink',
    clock: systemClock,
    concurrency: 2,
    batchMax: 1,
    timeoutMs: 600_000,
    userAgent: 'leadsync/test',
    leadUrl: () => undefined,
    ...parts,
  };
}
