import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { LedgerError } from '../contract/ledger-error.ts';
import type { LedgerEngine } from '../engine.ts';
import {
  type Answer,
  type Answers,
  type Asked,
  errorOf,
  type Message,
  type Opening,
  partsOf,
} from './messages.ts';

/**
 * The whole of a thread that `openInThread` starts: opens an engine by what the thread begins with, and answers what is asked of it.
 * @param open gets `told`, which gives what the thread was told last
 */
export function serveThread<Begin, Told>(
  open: (begin: Begin, told: () => Told | undefined) => LedgerEngine,
): void {
  const port = parentPort;
  if (!port) throw new Error('This program is to be started as a thread.');
  let told: Told | undefined;
  port.on('message', (message: Message) => {
    if ('told' in message) told = message.told as Told;
  });
  try {
    const engine = open(workerData as Begin, () => told);
    answerQuestions(engine, port);
    const { id, opening } = engine;
    port.postMessage({ opened: { id, opening } } satisfies Opening);
  } catch (error) {
    port.postMessage({ failure: partsOf(error) } satisfies Opening);
    port.close();
  }
}

/**
 * Answers what is asked of an engine through a port. What is asked while a commit is on its way to the disk waits together, and so
 * shares the next one. Answers that are ready at once travel in one message.
 */
export function answerQuestions(engine: LedgerEngine, port: MessagePort): void {
  let ready: Answer[] = [];

  const send = () => {
    const failing = engine.failing();
    const answers: Answers = { answers: ready, failing: failing && partsOf(failing) };
    ready = [];
    port.postMessage(answers);
  };

  const answer = async ({ no, question, values }: Asked): Promise<void> => {
    const ask = engine[question] as (...values: readonly unknown[]) => Promise<unknown>;
    const answered = await ask(...values).then(
      (value): Answer => ({ no, value }),
      (error: unknown): Answer => ({ no, failure: partsOf(error) }),
    );
    // Behind all that the same commit answers, and before the next commit begins.
    if (ready.push(answered) === 1) process.nextTick(send);
  };

  port.on('message', (message: Message) => {
    if ('asked' in message) for (const asked of message.asked) void answer(asked);
    else if ('damage' in message) reportDamage(engine, errorOf(message.damage));
  });
}

function reportDamage(engine: LedgerEngine, damage: unknown): void {
  if (damage instanceof LedgerError) engine.reportDamage(damage);
}
