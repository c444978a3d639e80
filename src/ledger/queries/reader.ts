import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import { LedgerError } from '../contract/ledger-error.ts';
import type { Questions } from './questions.ts';
import type { Answered, Asked } from './reader-thread.ts';

/** A thread that nobody asks anything ends after this time, in ms: it takes memory. */
const IDLE_MS = 60_000;
/** How long an answer may take, the questions before it included, in ms. */
const ANSWER_MS = 5_000;
/** Questions that may wait. */
const MOST_WAITING = 200;

type Answer<Name extends keyof Questions> = ReturnType<Questions[Name]>;

/** The answer takes too long, or too many questions wait. */
export class LedgerBusy extends Error {
  override readonly name = 'LedgerBusy';
  readonly hint: string;

  constructor(
    message: string,
    hint = 'Ask for less: one sink, one state, a shorter time; or again in a moment.',
  ) {
    super(message);
    this.hint = hint;
  }
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Asks the ledger what pages and API show, on a thread and a connection of its own: however heavy a question is, neither polls nor
 * deliveries wait for it. The thread starts with the first question and ends when none has come for a minute.
 */
export class LedgerReader {
  readonly #file: string;
  readonly #idleMs: number;
  readonly #answerMs: number;
  readonly #onDamage: (damage: LedgerError) => void;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #asked = 0;

  /** `onDamage` is told each time that an answer fails because the file is damaged. */
  constructor(
    file: string,
    {
      idleMs = IDLE_MS,
      answerMs = ANSWER_MS,
      onDamage = () => undefined,
    }: { idleMs?: number; answerMs?: number; onDamage?: (damage: LedgerError) => void } = {},
  ) {
    this.#file = file;
    this.#onDamage = onDamage;
    this.#idleMs = idleMs;
    this.#answerMs = answerMs;
  }

  /** Whether there is a thread at present. */
  get awake(): boolean {
    return this.#thread !== undefined;
  }

  /** Asks one of the `Questions`. @throws LedgerError, LedgerBusy */
  ask<Name extends keyof Questions>(name: Name, ...args: Parameters<Questions[Name]>): Promise<Answer<Name>> {
    if (this.#waiting.size >= MOST_WAITING)
      return Promise.reject(new LedgerBusy('Too many questions wait for an answer from the ledger.'));
    const replaced = this.#thread ? undefined : replacedProgram();
    if (replaced) return Promise.reject(new LedgerBusy(replaced.message, replaced.hint));
    const thread = this.#wake();
    this.#asked += 1;
    const asked: Asked = { id: this.#asked, name, args };
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => this.#giveUp(), this.#answerMs);
    this.#waiting.set(asked.id, { resolve, reject, timer });
    thread.postMessage(asked);
    return promise as Promise<Answer<Name>>;
  }

  /** Ends the thread; what waits for an answer is refused. */
  async close(): Promise<void> {
    await this.#end(new LedgerBusy('leadsync is stopping.'));
  }

  #wake(): Worker {
    clearTimeout(this.#idle);
    if (this.#thread) return this.#thread;
    const program = new URL(`./reader-thread${extname(import.meta.filename)}`, import.meta.url);
    const thread = new Worker(program, {
      workerData: { file: this.#file },
      resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 },
    });
    thread.unref();
    thread.on('message', (answered: Answered) => this.#settle(answered));
    thread.on('error', () => {
      if (this.#thread === thread) void this.#end(new LedgerBusy('The ledger could not be asked.'));
    });
    this.#thread = thread;
    return thread;
  }

  #settle(answered: Answered): void {
    const waiting = this.#waiting.get(answered.id);
    if (!waiting) return;
    this.#waiting.delete(answered.id);
    clearTimeout(waiting.timer);
    if ('failure' in answered) {
      const { code, message, hint } = answered.failure;
      const failure = new LedgerError(code, message, hint);
      if (code === 'damaged') this.#onDamage(failure);
      waiting.reject(failure);
    } else waiting.resolve(answered.value);
    if (this.#waiting.size > 0) return;
    this.#idle = setTimeout(() => void this.#end(new LedgerBusy('')), this.#idleMs).unref();
  }

  /** Whoever asked later waits behind the same question, and has no better answer to hope for. */
  #giveUp(): void {
    void this.#end(new LedgerBusy('The ledger did not answer in time.'));
  }

  async #end(error: LedgerBusy): Promise<void> {
    clearTimeout(this.#idle);
    const thread = this.#thread;
    this.#thread = undefined;
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#waiting.clear();
    await thread?.terminate();
  }
}
