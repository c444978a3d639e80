import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../platform/time/clock.ts';
import type { Ledger } from '../contract/ledger.ts';
import { ledgerOf } from '../ledger-of.ts';
import { askedEngine } from './asked-engine.ts';
import { errorOf, type Message, type Opening } from './messages.ts';

/** A ledger whose engine works in a thread. Closing it ends the thread. */
export interface ThreadedLedger<Told> {
  readonly ledger: Ledger;
  /** Tells the thread's program something; it arrives before whatever is asked later. */
  tell(told: Told): void;
}

/**
 * Starts a program that calls `serveThread`, in a thread of its own, and hands `begin` to it.
 * @throws LedgerError when the ledger cannot be opened
 */
export async function openInThread<Begin, Told>(
  program: URL,
  begin: Begin,
  about: { file: string; clock: Clock },
): Promise<ThreadedLedger<Told>> {
  const thread = new Worker(program, { workerData: begin });
  const [opening] = (await once(thread, 'message')) as [Opening];
  if ('failure' in opening) throw errorOf(opening.failure);
  // Whatever ends the thread ends the process, as it would if it had happened here: nothing is known of what was asked last.
  thread.on('error', (error) => {
    throw error;
  });
  const engine = askedEngine(thread, opening.opened, async () => {
    await thread.terminate();
  });
  return {
    ledger: ledgerOf(engine, about),
    tell: (told) => thread.postMessage({ told } satisfies Message),
  };
}
