import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { LedgerExtract } from '../ledger/extracting.ts';
import { LedgerError } from '../ledger/ledger-error.ts';
import type { Relation } from '../store/relation.ts';
import type { FileFormatName, Piece } from './encoder.ts';
import type { Made, Wanted } from './piece-thread.ts';

/** Each takes some 50 MB with leads of 1 KB, and all of an export some 280; the largest lead takes its size many times over. */
const THREADS = 2;

/**
 * In MB. With V8's own much garbage would lie: 60 MB more in all. The old generation has room for a lead of twice what
 * `max_lead_size` is by itself, without which the process would end and not the thread alone.
 */
const HEAP = { maxYoungGenerationSizeMb: 3, maxOldGenerationSizeMb: 1024 };

/** A piece of a file, and how many rows are in it. */
export type Counted = Extract<Made, { piece: Piece }>;

/**
 * Makes tables into pieces of files, in the order of their rows, on threads of its own: whoever waits for them can do other work, and
 * one stretch of a table is read while another is encoded. Each thread holds one part.
 */
export class Pieces {
  readonly #start: () => PieceThread;
  readonly #idle: PieceThread[] = [];
  readonly #all: PieceThread[] = [];

  constructor(file: string, format: FileFormatName) {
    this.#start = () => new PieceThread(file, format);
  }

  /** @throws LedgerError */
  async *of(relation: Relation, since: Date | undefined, extract: LedgerExtract): AsyncGenerator<Counted> {
    const stretches = extract.stretches(relation, since);
    const ahead: Reading[] = [];
    for (;;) {
      while (ahead.length < THREADS) {
        const { value: stretch, done } = stretches.next();
        if (done) break;
        ahead.push(this.#read({ relation: relation.name, since, stretch }));
      }
      const reading = ahead.shift();
      if (!reading) return;
      yield* this.#piecesOf(reading);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((thread) => thread.close()));
  }

  #read(wanted: Wanted): Reading {
    const thread = this.#idle.pop() ?? this.#start();
    if (!this.#all.includes(thread)) this.#all.push(thread);
    return { thread, first: thread.ask(wanted) };
  }

  async *#piecesOf({ thread, first }: Reading): AsyncGenerator<Counted> {
    for (let made = await first; 'piece' in made; ) {
      const next = thread.ask(undefined);
      yield made;
      made = await next;
    }
    this.#idle.push(thread);
  }
}

/** A stretch that is being read. */
interface Reading {
  readonly thread: PieceThread;
  readonly first: Promise<Answer>;
}

type Answer = Exclude<Made, { failure: unknown }>;

class PieceThread {
  readonly #worker: Worker;
  #answer: PromiseWithResolvers<Answer> = Promise.withResolvers();

  constructor(file: string, format: FileFormatName) {
    const program = new URL(`./piece-thread${extname(import.meta.filename)}`, import.meta.url);
    this.#worker = new Worker(program, {
      workerData: { file, format },
      resourceLimits: HEAP,
    });
    this.#worker.on('message', (made: Made) => this.#take(made));
    this.#worker.on('error', (error) => this.#answer.reject(error));
  }

  /** Answers before it is asked again. @throws LedgerError, or what ended the thread */
  ask(wanted: Wanted | undefined): Promise<Answer> {
    this.#answer = Promise.withResolvers();
    // Whoever waits for an earlier piece learns of it when it is its turn.
    this.#answer.promise.catch(() => undefined);
    this.#worker.postMessage(wanted);
    return this.#answer.promise;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #take(made: Made): void {
    if ('failure' in made) {
      const { code, message, hint } = made.failure;
      this.#answer.reject(new LedgerError(code, message, hint));
    } else this.#answer.resolve(made);
  }
}
