import type { SinkChoice } from '../../../src/daemon/joints/deliver.ts';
import type { OpenSink } from '../../../src/operations/opening/open-sinks.ts';

/** Sinks that stay open for as long as the test takes. */
export function sinkChoice(sinks: ReadonlyMap<string, OpenSink>): SinkChoice {
  return {
    async use(name, attempt) {
      const open = sinks.get(name);
      return open && attempt(open);
    },
  };
}
