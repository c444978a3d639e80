import { extname } from 'node:path';
import { DEFAULT_RETRY } from '../../config/options/sink-options.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { startEngineThread } from '../../ledger/thread/start-engine-thread.ts';
import {
  type JudgedSink,
  type SinkPolicies,
  sinkPolicies,
} from '../../operations/opening/configured-ledger.ts';
import { failpointsAskedFor, threadToPark } from '../../platform/process/failpoint.ts';
import { systemClock } from '../../platform/time/clock.ts';
import type { ThreadStart } from './ledger-thread.ts';

/** Options for opening a daemon's ledger in a thread. */
export interface ThreadedLedgerParts {
  /** Whether to create a missing ledger; otherwise a missing ledger is an error. */
  readonly create: boolean;
  /** Name under which the ledger records the leases of this process. */
  readonly holder: string;
  /** Returns the current sinks with their policies. After each change, the returned array is a different object. */
  readonly sinks: () => readonly JudgedSink[];
}

/**
 * Opens a ledger's file in its own thread, so that slow commits and queries do not block network I/O in the caller's thread.
 * @throws LedgerError
 */
export async function openThreadedLedger(
  file: string,
  { create, holder, sinks }: ThreadedLedgerParts,
): Promise<Ledger> {
  let policiesOf = sinks();
  const failpoints = failpointsAskedFor();
  const begin: ThreadStart = {
    file,
    create,
    holder,
    policies: sinkPolicies(policiesOf),
    defaultPolicy: DEFAULT_RETRY,
    failpoints,
    parking: failpoints ? threadToPark() : undefined,
  };
  const program = new URL(`./ledger-thread${extname(import.meta.filename)}`, import.meta.url);
  const about = { file, clock: systemClock };
  const { ledger, updateSettings } = await startEngineThread<ThreadStart, SinkPolicies>(
    program,
    begin,
    about,
  );

  const sendPolicies = () => {
    if (sinks() === policiesOf) return;
    policiesOf = sinks();
    updateSettings(sinkPolicies(policiesOf));
  };
  return {
    ...ledger,
    settle: (ref, attempt) => {
      sendPolicies();
      return ledger.settle(ref, attempt);
    },
  };
}
