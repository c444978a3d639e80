import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../platform/time/clock.ts';
import type { MirroredLedger } from '../contract/mirrored-ledger.ts';
import { ledgerOf } from '../ledger-from-engine.ts';
import { engineProxy } from './engine-proxy.ts';
import { fromErrorParts, type OpenResult, type ThreadMessage } from './messages.ts';

/** A ledger whose engine runs in another thread. Closing the ledger ends that thread. */
export interface ThreadedLedger<Settings> {
  readonly ledger: MirroredLedger;
  /** Sends new settings to the program in the thread. The program receives them before any later call. */
  updateSettings(settings: Settings): void;
}

/**
 * Starts a new thread with a program that calls `serveThread`, and passes `begin` to that program.
 * @throws LedgerError if the ledger cannot be opened
 */
export async function startEngineThread<Begin, Settings>(
  program: URL,
  begin: Begin,
  about: { file: string; clock: Clock },
): Promise<ThreadedLedger<Settings>> {
  const thread = new Worker(program, { workerData: begin });
  const [opening] = (await once(thread, 'message')) as [OpenResult];
  if ('failure' in opening) throw fromErrorParts(opening.failure);
  // An error that ends the thread also ends the process, as an uncaught error in this thread would, because the outcome of the last calls
  // is unknown.
  thread.on('error', (error) => {
    throw error;
  });
  const engine = engineProxy(thread, opening.opened, async () => {
    await thread.terminate();
  });
  return {
    ledger: ledgerOf(engine, about),
    updateSettings: (settings) => thread.postMessage({ settings } satisfies ThreadMessage),
  };
}
