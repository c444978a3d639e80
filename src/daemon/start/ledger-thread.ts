import { judgeBy } from '../../delivery/judge.ts';
import type { RetryPolicy } from '../../delivery/retry-policy.ts';
import { openEngine } from '../../ledger/sqlite-ledger.ts';
import { serveThread } from '../../ledger/thread/serve-engine.ts';
import type { RetryPolicies } from '../../operations/opening/open-ledger.ts';
import { armFailpoints, parkWhenAsked } from '../../platform/process/failpoint.ts';
import { systemClock } from '../../platform/time/clock.ts';

/** The thread of a daemon's ledger (threaded-ledger.ts). */

/** What it begins with; it is told the retry policies again when they have changed. */
export interface ThreadStart {
  readonly file: string;
  readonly create: boolean;
  readonly holder: string;
  readonly policies: RetryPolicies;
  /** The policy of a sink that has none of its own. Handed over, so that the thread need not load the schemas of the configuration. */
  readonly defaultPolicy: RetryPolicy;
  readonly failpoints: string | undefined;
  /** Where it is asked to park before the process freezes; only with failpoints. */
  readonly parking: Int32Array | undefined;
}

serveThread<ThreadStart, RetryPolicies>(
  ({ policies, defaultPolicy, failpoints, parking, ...options }, latest) => {
    armFailpoints(failpoints);
    if (parking) void parkWhenAsked(parking);
    const policyOf = (sink: string) => (latest() ?? policies).get(sink) ?? defaultPolicy;
    const judge = judgeBy(policyOf, Math.random);
    return openEngine({ ...options, clock: systemClock, random: Math.random, judge });
  },
);
