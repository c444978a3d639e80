import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { Made, MadeOf, Wanted } from './piece-thread.ts';

/** Each takes some 50 MB with leads of 1 KB, and all of an export some 280; the largest lead takes its size many times over. */
const THREADS = 2;

/**
 * In MB. With V8's own much garbage would lie: 60 MB more in all with a young generation of its size, and as much again with an old
 * one twice as large. It has room for a lead of 128 MB, in text of two bytes a character: when V8
 * finds none for so long a text, the whole process ends.
 */
const HEAP = { maxYoungGenerationSizeMb: 3, maxOldGenerationSizeMb: 1024 };

/** What was made of a part of what was wanted, and how many rows are in it. */
export interface MadePart<W extends Wanted> {
  readonly wanted: W;
  readonly made: MadeOf<W>;
  readonly rows: number;
}

/**
 * Reads rows and makes something of them, in the order in which they are wanted, on threads of its own: whoever waits for them can do
 * other work, and one stretch of a table is read while another is encoded. Each thread holds one part.
 */
export class Pieces {
  readonly #start: () => PieceThread;
  readonly #idle: PieceThread[] = [];
  readonly #all: PieceThread[] = [];

  /** `file` is the ledger's. Once `stop` aborts, no piece is waited for. */
  constructor(file: string, stop: AbortSignal) {
    this.#start = () => new PieceThread(file, stop);
  }

  /** Takes the next of what is wanted when a thread is free for it. @throws LedgerError, Node's error of the disk, the signal's reason */
  async *of<W extends Wanted>(wanted: Iterable<W>): AsyncGenerator<MadePart<W>> {
    const toCome = wanted[Symbol.iterator]();
    const ahead: Reading<W>[] = [];
    for (;;) {
      while (ahead.length < THREADS) {
        const { value, done } = toCome.next();
        if (done) break;
        ahead.push(this.#read(value));
      }
      const reading = ahead.shift();
      if (!reading) return;
      yield* this.#partsOf(reading);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((thread) => thread.close()));
  }

  #read<W extends Wanted>(wanted: W): Reading<W> {
    const thread = this.#idle.pop() ?? this.#start();
    if (!this.#all.includes(thread)) this.#all.push(thread);
    return { wanted, thread, first: thread.ask<W>(wanted) };
  }

  async *#partsOf<W extends Wanted>({ wanted, thread, first }: Reading<W>): AsyncGenerator<MadePart<W>> {
    for (let answer = await first; 'made' in answer; ) {
      const next = thread.ask<W>(undefined);
      yield { wanted, ...answer };
      answer = await next;
    }
    this.#idle.push(thread);
  }
}

/** Something wanted that is being read. */
interface Reading<W extends Wanted> {
  readonly wanted: W;
  readonly thread: PieceThread;
  readonly first: Promise<Answer<W>>;
}

type Answer<W extends Wanted> = Exclude<Made<W>, { failure: unknown }>;

class PieceThread {
  readonly #worker: Worker;
  readonly #stop: AbortSignal;
  #answer: PromiseWithResolvers<Answer<Wanted>> = Promise.withResolvers();

  constructor(file: string, stop: AbortSignal) {
    const program = new URL(`./piece-thread${extname(import.meta.filename)}`, import.meta.url);
    this.#worker = new Worker(program, {
      workerData: { file },
      resourceLimits: HEAP,
    });
    this.#worker.on('message', (made: Made) => this.#take(made));
    this.#worker.on('error', (error) => this.#answer.reject(error));
    this.#stop = stop;
    stop.addEventListener('abort', this.#giveUp, { once: true });
  }

  /** Answers before it is asked again. @throws LedgerError, or what ended the thread */
  ask<W extends Wanted>(wanted: W | undefined): Promise<Answer<W>> {
    this.#answer = Promise.withResolvers();
    // Whoever waits for an earlier piece learns of it when it is its turn.
    this.#answer.promise.catch(() => undefined);
    if (this.#stop.aborted) this.#giveUp();
    else this.#worker.postMessage(wanted);
    return this.#answer.promise as Promise<Answer<W>>;
  }

  async close(): Promise<void> {
    this.#stop.removeEventListener('abort', this.#giveUp);
    await this.#worker.terminate();
  }

  readonly #giveUp = (): void => this.#answer.reject(this.#stop.reason);

  #take(made: Made): void {
    if ('failure' in made) {
      const { code, message, hint } = made.failure;
      this.#answer.reject(new LedgerError(code, message, hint));
    } else this.#answer.resolve(made);
  }
}
