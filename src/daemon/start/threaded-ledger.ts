import { extname } from 'node:path';
import { DEFAULT_RETRY } from '../../config/options/sink-options.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { openInThread } from '../../ledger/thread/open-in-thread.ts';
import {
  ledgerFile,
  type RetriedSink,
  type RetryPolicies,
  retryPolicies,
} from '../../operations/opening/open-ledger.ts';
import { failpointsAskedFor, threadToPark } from '../../platform/process/failpoint.ts';
import { systemClock } from '../../platform/time/clock.ts';
import type { ThreadStart } from './ledger-thread.ts';

/** What a daemon opens its ledger with, beside where it is. */
export interface ThreadedLedgerParts {
  /** Whether a missing ledger is made, or an error. */
  readonly create: boolean;
  /** Names this process among those that attempt. */
  readonly holder: string;
  /** The sinks at this moment, whose retry policies count. Another array once they have changed. */
  readonly sinks: () => readonly RetriedSink[];
}

/**
 * Opens the ledger of a data directory in a thread of its own: while a commit is on its way to the disk, or a question takes long, this
 * thread sends and reads on. @throws LedgerError
 */
export async function openThreadedLedger(
  dataDir: string,
  { create, holder, sinks }: ThreadedLedgerParts,
): Promise<Ledger> {
  const file = ledgerFile(dataDir);
  let policiesOf = sinks();
  const failpoints = failpointsAskedFor();
  const begin: ThreadStart = {
    file,
    create,
    holder,
    policies: retryPolicies(policiesOf),
    defaultPolicy: DEFAULT_RETRY,
    failpoints,
    parking: failpoints ? threadToPark() : undefined,
  };
  const program = new URL(`./ledger-thread${extname(import.meta.filename)}`, import.meta.url);
  const about = { file, clock: systemClock };
  const { ledger, updateSettings } = await openInThread<ThreadStart, RetryPolicies>(program, begin, about);

  const sendPolicies = () => {
    if (sinks() === policiesOf) return;
    policiesOf = sinks();
    updateSettings(retryPolicies(policiesOf));
  };
  return {
    ...ledger,
    settle: (ref, attempt) => {
      sendPolicies();
      return ledger.settle(ref, attempt);
    },
  };
}
