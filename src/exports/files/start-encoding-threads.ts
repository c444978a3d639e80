import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { TablesPlace } from '../../ledger/contract/ledger-tables.ts';
import type { PieceRequest, PieceResponse, PieceResult } from './encoding-thread.ts';

/**
 * Number of worker threads. With leads of 1 KB, each thread uses about 50 MB, and the whole export about 280 MB. For the largest lead, a
 * thread needs many times the size of the lead.
 */
const THREADS = 2;

/**
 * Heap limits in MB. V8's defaults keep much garbage: the default young generation costs 60 MB more in all, and an old generation twice as
 * large costs as much again. The old generation must hold a lead of 128 MB at two bytes per character: V8 ends the whole process if it
 * cannot allocate a string.
 */
const HEAP = { maxYoungGenerationSizeMb: 3, maxOldGenerationSizeMb: 1024 };

/** The result for one part of a request, with its number of rows. */
export interface PieceOfRequest<W extends PieceRequest> {
  readonly request: W;
  readonly result: PieceResult<W>;
  readonly rows: number;
}

/**
 * Reads rows and encodes or sorts them on worker threads, in the order of the requests. The caller's thread stays free, and one stretch
 * of a table is read while another is encoded. Each thread holds one part in memory.
 */
export class EncodingThreads {
  readonly #start: () => PieceThread;
  readonly #idle: PieceThread[] = [];
  readonly #all: PieceThread[] = [];

  /** @param ledger where to read the tables @param stop aborts all waiting */
  constructor(ledger: TablesPlace, stop: AbortSignal) {
    this.#start = () => new PieceThread(ledger, stop);
  }

  /**
   * Yields the results; takes each request when a thread is free. @throws LedgerError, the error from Node if the disk fails, the signal's
   * reason
   */
  async *of<W extends PieceRequest>(
    requests: Iterable<W> | AsyncIterable<W>,
  ): AsyncGenerator<PieceOfRequest<W>> {
    const toCome = (async function* () {
      yield* requests;
    })();
    const ahead: Reading<W>[] = [];
    for (;;) {
      while (ahead.length < THREADS) {
        const { value, done } = await toCome.next();
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

  #read<W extends PieceRequest>(request: W): Reading<W> {
    const thread = this.#idle.pop() ?? this.#start();
    if (!this.#all.includes(thread)) this.#all.push(thread);
    return { request, thread, first: thread.ask<W>(request) };
  }

  async *#partsOf<W extends PieceRequest>({
    request,
    thread,
    first,
  }: Reading<W>): AsyncGenerator<PieceOfRequest<W>> {
    for (let answer = await first; 'result' in answer; ) {
      const next = thread.ask<W>(undefined);
      yield { request, ...answer };
      answer = await next;
    }
    this.#idle.push(thread);
  }
}

/** A request in progress. */
interface Reading<W extends PieceRequest> {
  readonly request: W;
  readonly thread: PieceThread;
  readonly first: Promise<Answer<W>>;
}

type Answer<W extends PieceRequest> = Exclude<PieceResponse<W>, { failure: unknown }>;

class PieceThread {
  readonly #worker: Worker;
  readonly #stop: AbortSignal;
  #answer: PromiseWithResolvers<Answer<PieceRequest>> = Promise.withResolvers();

  constructor(ledger: TablesPlace, stop: AbortSignal) {
    const program = new URL(`./encoding-thread${extname(import.meta.filename)}`, import.meta.url);
    this.#worker = new Worker(program, {
      workerData: { ledger },
      resourceLimits: HEAP,
    });
    this.#worker.on('message', (response: PieceResponse) => this.#take(response));
    this.#worker.on('error', (error) => this.#answer.reject(error));
    this.#stop = stop;
    stop.addEventListener('abort', this.#giveUp, { once: true });
  }

  /**
   * Sends a request. The caller must wait for the answer before it sends the next request. @throws LedgerError, or the error that ended the
   * thread
   */
  ask<W extends PieceRequest>(request: W | undefined): Promise<Answer<W>> {
    this.#answer = Promise.withResolvers();
    // The caller may still wait for an earlier piece; it gets the error when it awaits this answer.
    this.#answer.promise.catch(() => undefined);
    if (this.#stop.aborted) this.#giveUp();
    else this.#worker.postMessage(request);
    return this.#answer.promise as Promise<Answer<W>>;
  }

  async close(): Promise<void> {
    this.#stop.removeEventListener('abort', this.#giveUp);
    await this.#worker.terminate();
  }

  readonly #giveUp = (): void => this.#answer.reject(this.#stop.reason);

  #take(response: PieceResponse): void {
    if ('failure' in response) {
      const { code, message, hint } = response.failure;
      this.#answer.reject(new LedgerError(code, message, hint));
    } else this.#answer.resolve(response);
  }
}
