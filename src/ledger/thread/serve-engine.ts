import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { LedgerError } from '../contract/ledger-error.ts';
import type { LedgerEngine } from '../engine.ts';
import {
  type Call,
  fromErrorParts,
  type OpenResult,
  type Result,
  type Results,
  type ThreadMessage,
  toErrorParts,
} from './messages.ts';

/**
 * Opens an engine in a thread that `startEngineThread` started, and serves the calls to that engine.
 * @param open opens the engine; receives, as its second argument, a function that returns the last settings that the thread received, if
 * any
 */
export function serveThread<Begin, Settings>(
  open: (begin: Begin, settings: () => Settings | undefined) => LedgerEngine,
): void {
  const port = parentPort;
  if (!port) throw new Error('This program must be started as a thread.');
  let settings: Settings | undefined;
  port.on('message', (message: ThreadMessage) => {
    if ('settings' in message) settings = message.settings as Settings;
  });
  try {
    const engine = open(workerData as Begin, () => settings);
    serveCalls(engine, port);
    const { id, opening } = engine;
    port.postMessage({ opened: { id, opening } } satisfies OpenResult);
  } catch (error) {
    port.postMessage({ failure: toErrorParts(error) } satisfies OpenResult);
    port.close();
  }
}

/**
 * Serves the calls that arrive through a port. Calls that arrive during a commit wait until it finishes and then share the next commit.
 * Results that are ready together share one message.
 */
export function serveCalls(engine: LedgerEngine, port: MessagePort): void {
  let ready: Result[] = [];

  const send = () => {
    const failing = engine.failing();
    const results: Results = { results: ready, failing: failing && toErrorParts(failing) };
    ready = [];
    port.postMessage(results);
  };

  const serve = async ({ no, method, args }: Call): Promise<void> => {
    const call = engine[method] as (...args: readonly unknown[]) => Promise<unknown>;
    const result = await call(...args).then(
      (value): Result => ({ no, value }),
      (error: unknown): Result => ({ no, failure: toErrorParts(error) }),
    );
    // Sends after the last result of the same commit is ready, and before the next commit begins.
    if (ready.push(result) === 1) process.nextTick(send);
  };

  port.on('message', (message: ThreadMessage) => {
    if ('calls' in message) for (const call of message.calls) void serve(call);
    else if ('damage' in message) reportDamage(engine, fromErrorParts(message.damage));
  });
}

function reportDamage(engine: LedgerEngine, damage: unknown): void {
  if (damage instanceof LedgerError) engine.reportDamage(damage);
}
