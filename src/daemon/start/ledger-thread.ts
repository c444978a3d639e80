import { judgeBy } from '../../delivery/judge.ts';
import type { SinkPolicy } from '../../delivery/retry-policy.ts';
import { openEngine } from '../../ledger/sqlite-ledger.ts';
import { serveThread } from '../../ledger/thread/serve-engine.ts';
import type { SinkPolicies } from '../../operations/opening/configured-ledger.ts';
import { armFailpoints, parkWhenAsked } from '../../platform/process/failpoint.ts';
import { systemClock } from '../../platform/time/clock.ts';

/** The program of the ledger thread; start-ledger-thread.ts starts it. */

/** Options for the ledger thread. The daemon sends the policies again when they change. */
export interface ThreadStart {
  readonly file: string;
  readonly create: boolean;
  readonly holder: string;
  readonly policies: SinkPolicies;
  /** Policy of a sink that is not in `policies`. Passed as a value so that the thread does not load the configuration schemas. */
  readonly defaultPolicy: SinkPolicy;
  readonly failpoints: string | undefined;
  /** Shared flag that asks the thread to park before the process freezes. Undefined without failpoints. */
  readonly parking: Int32Array | undefined;
}

serveThread<ThreadStart, SinkPolicies>(
  ({ policies, defaultPolicy, failpoints, parking, ...options }, latest) => {
    armFailpoints(failpoints);
    if (parking) void parkWhenAsked(parking);
    const policyOf = (sink: string) => (latest() ?? policies).get(sink) ?? defaultPolicy;
    const judge = judgeBy(policyOf, Math.random);
    return openEngine({ ...options, clock: systemClock, random: Math.random, judge });
  },
);
