import type { SinkChoice } from '../../../src/daemon/joints/deliver.ts';
import type { OpenSink } from '../../../src/operations/opening/open-sinks.ts';

/** Opens sinks and keeps them open until the test ends. */
export function sinkChoice(sinks: ReadonlyMap<string, OpenSink>): SinkChoice {
  return {
    async use(name, attempt) {
      const open = sinks.get(name);
      return open && attempt(open);
    },
  };
}
