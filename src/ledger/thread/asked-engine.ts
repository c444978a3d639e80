import type { MessagePort, Worker } from 'node:worker_threads';
import { LedgerError } from '../contract/ledger-error.ts';
import type { LedgerEngine } from '../engine.ts';
import {
  type Answers,
  type Asked,
  errorOf,
  type Message,
  partsOf,
  type Question,
  questions,
} from './messages.ts';

/** Where the engine is asked; what a question hands over is copied. */
export type Port = Pick<MessagePort | Worker, 'postMessage' | 'on'>;

/** An engine that works elsewhere, in a thread. `ended` is called once it is closed. */
export function askedEngine(
  port: Port,
  { id, opening }: Pick<LedgerEngine, 'id' | 'opening'>,
  ended: () => Promise<void>,
): LedgerEngine {
  const conversation = new Conversation(port);
  const asks = questions.map((question) => [
    question,
    (...values: readonly unknown[]) => conversation.ask(question, values),
  ]);
  let closed: Promise<void> | undefined;
  const asked = Object.fromEntries(asks) as Pick<LedgerEngine, Question>;
  return {
    ...asked,
    id,
    opening,
    failing: () => conversation.failing,
    reportDamage: (damage) => conversation.reportDamage(damage),
    close: () => {
      closed ??= asked.close().finally(() => {
        conversation.end();
        return ended();
      });
      return closed;
    },
  };
}

/** Asks through a port, and knows who waits for which answer. */
class Conversation {
  readonly #port: Port;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #asked = 0;
  /** What was asked in this turn of the event loop. */
  #unsent: Asked[] = [];
  #isOver = false;
  #failing: LedgerError | undefined;
  #damage: LedgerError | undefined;

  constructor(port: Port) {
    this.#port = port;
    port.on('message', (answers: Answers) => this.#settle(answers));
  }

  get failing(): LedgerError | undefined {
    return this.#damage ?? this.#failing;
  }

  reportDamage(damage: LedgerError): void {
    this.#damage ??= damage;
    this.#post({ damage: partsOf(damage) });
  }

  ask(question: Question, values: readonly unknown[]): Promise<unknown> {
    if (this.#isOver) return Promise.reject(closedAlready());
    this.#asked += 1;
    const no = this.#asked;
    const answered = Promise.withResolvers<unknown>();
    this.#waiting.set(no, answered);
    if (this.#unsent.push({ no, question, values }) === 1) setImmediate(() => this.#send());
    return answered.promise;
  }

  /** Whoever still waits gets no answer any more. */
  end(): void {
    this.#isOver = true;
    for (const { reject } of this.#waiting.values()) reject(closedAlready());
    this.#waiting.clear();
  }

  #send(): void {
    const asked = this.#unsent;
    this.#unsent = [];
    this.#post({ asked });
  }

  #post(message: Message): void {
    this.#port.postMessage(message);
  }

  #settle({ answers, failing }: Answers): void {
    this.#failing = failing && (errorOf(failing) as LedgerError);
    for (const answer of answers) {
      const waiting = this.#waiting.get(answer.no);
      this.#waiting.delete(answer.no);
      if ('failure' in answer) waiting?.reject(errorOf(answer.failure));
      else waiting?.resolve(answer.value);
    }
  }
}

function closedAlready(): LedgerError {
  return new LedgerError('unexpected', 'The ledger is closed.', 'leadsync is stopping.');
}
