import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import { LedgerError } from '../contract/ledger-error.ts';
import { LedgerBusy, type LedgerPages, type PageReader } from '../contract/ledger-pages.ts';
import type { QueryRequest, QueryResponse } from './query-thread.ts';

/** Idle time after which the thread ends, to free its memory, in ms. */
const IDLE_MS = 60_000;
/** Maximum time for a query, including its wait for earlier queries, in ms. */
const TIMEOUT_MS = 5_000;
/** Maximum number of waiting queries. */
const MAX_WAITING = 200;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Runs the queries of the pages and the API in a thread with its own connection. The thread starts with the first query and ends after a
 * minute without queries.
 */
export class QueryThread implements PageReader {
  readonly #file: string;
  readonly #idleMs: number;
  readonly #timeoutMs: number;
  readonly #onDamage: (damage: LedgerError) => void;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;

  /** @param onDamage called each time a query fails because the file is damaged */
  constructor(
    file: string,
    {
      idleMs = IDLE_MS,
      timeoutMs = TIMEOUT_MS,
      onDamage = () => undefined,
    }: { idleMs?: number; timeoutMs?: number; onDamage?: (damage: LedgerError) => void } = {},
  ) {
    this.#file = file;
    this.#onDamage = onDamage;
    this.#idleMs = idleMs;
    this.#timeoutMs = timeoutMs;
  }

  /** Whether the thread is running. */
  get awake(): boolean {
    return this.#thread !== undefined;
  }

  ask<Name extends keyof LedgerPages>(
    name: Name,
    ...args: Parameters<LedgerPages[Name]>
  ): Promise<ReturnType<LedgerPages[Name]>> {
    if (this.#waiting.size >= MAX_WAITING)
      return Promise.reject(new LedgerBusy('Too many queries are waiting for the ledger.'));
    const replaced = this.#thread ? undefined : replacedProgram();
    if (replaced) return Promise.reject(new LedgerBusy(replaced.message, replaced.hint));
    const thread = this.#wake();
    this.#lastId += 1;
    const request: QueryRequest = { id: this.#lastId, name, args };
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => this.#giveUp(), this.#timeoutMs);
    this.#waiting.set(request.id, { resolve, reject, timer });
    thread.postMessage(request);
    return promise as Promise<ReturnType<LedgerPages[Name]>>;
  }

  /** Ends the thread and rejects the waiting queries. */
  async close(): Promise<void> {
    await this.#end(new LedgerBusy('leadsync is stopping.'));
  }

  #wake(): Worker {
    clearTimeout(this.#idle);
    if (this.#thread) return this.#thread;
    const program = new URL(`./query-thread${extname(import.meta.filename)}`, import.meta.url);
    const thread = new Worker(program, {
      workerData: { file: this.#file },
      resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 },
    });
    thread.unref();
    thread.on('message', (response: QueryResponse) => this.#settle(response));
    thread.on('error', () => {
      if (this.#thread === thread) void this.#end(new LedgerBusy('The ledger could not be queried.'));
    });
    this.#thread = thread;
    return thread;
  }

  #settle(response: QueryResponse): void {
    const waiting = this.#waiting.get(response.id);
    if (!waiting) return;
    this.#waiting.delete(response.id);
    clearTimeout(waiting.timer);
    if ('failure' in response) {
      const { code, message, hint } = response.failure;
      const failure = new LedgerError(code, message, hint);
      if (code === 'damaged') this.#onDamage(failure);
      waiting.reject(failure);
    } else waiting.resolve(response.value);
    if (this.#waiting.size > 0) return;
    this.#idle = setTimeout(() => void this.#end(new LedgerBusy('')), this.#idleMs).unref();
  }

  /** Ends the thread and rejects every query: the one that takes too long, and the later ones, which wait for it. */
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
