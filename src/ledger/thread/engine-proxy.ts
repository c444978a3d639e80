import type { MessagePort, Worker } from 'node:worker_threads';
import { LedgerError } from '../contract/ledger-error.ts';
import type { LedgerEngine } from '../engine.ts';
import {
  type Call,
  type EngineMethod,
  engineMethods,
  fromErrorParts,
  type Results,
  type ThreadMessage,
  toErrorParts,
} from './messages.ts';

/** The port to the engine's thread. Arguments and results are copied when they pass through it. */
export type Port = Pick<MessagePort | Worker, 'postMessage' | 'on'>;

/** Returns an engine that forwards every call to another thread. Once that engine is closed, calls `ended`. */
export function engineProxy(
  port: Port,
  { id, opening }: Pick<LedgerEngine, 'id' | 'opening'>,
  ended: () => Promise<void>,
): LedgerEngine {
  const connection = new Connection(port);
  const calls = engineMethods.map((method) => [
    method,
    (...args: readonly unknown[]) => connection.call(method, args),
  ]);
  let closed: Promise<void> | undefined;
  const methods = Object.fromEntries(calls) as Pick<LedgerEngine, EngineMethod>;
  return {
    ...methods,
    id,
    opening,
    failing: () => connection.failing,
    reportDamage: (damage) => connection.reportDamage(damage),
    close: () => {
      closed ??= methods.close().finally(() => {
        connection.end();
        return ended();
      });
      return closed;
    },
  };
}

/** Sends calls through a port, and settles the promise of each call with its result. */
class Connection {
  readonly #port: Port;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastNo = 0;
  /** The calls made in this turn of the event loop, which are not sent yet. */
  #unsent: Call[] = [];
  #isOver = false;
  #failing: LedgerError | undefined;
  #damage: LedgerError | undefined;

  constructor(port: Port) {
    this.#port = port;
    port.on('message', (results: Results) => this.#settle(results));
  }

  get failing(): LedgerError | undefined {
    return this.#damage ?? this.#failing;
  }

  reportDamage(damage: LedgerError): void {
    this.#damage ??= damage;
    this.#post({ damage: toErrorParts(damage) });
  }

  call(method: EngineMethod, args: readonly unknown[]): Promise<unknown> {
    if (this.#isOver) return Promise.reject(closedError());
    this.#lastNo += 1;
    const no = this.#lastNo;
    const result = Promise.withResolvers<unknown>();
    this.#waiting.set(no, result);
    if (this.#unsent.push({ no, method, args }) === 1) setImmediate(() => this.#send());
    return result.promise;
  }

  /** Rejects the calls that have no result yet, and all later ones. */
  end(): void {
    this.#isOver = true;
    for (const { reject } of this.#waiting.values()) reject(closedError());
    this.#waiting.clear();
  }

  #send(): void {
    const calls = this.#unsent;
    this.#unsent = [];
    this.#post({ calls });
  }

  #post(message: ThreadMessage): void {
    this.#port.postMessage(message);
  }

  #settle({ results, failing }: Results): void {
    this.#failing = failing && (fromErrorParts(failing) as LedgerError);
    for (const result of results) {
      const waiting = this.#waiting.get(result.no);
      this.#waiting.delete(result.no);
      if ('failure' in result) waiting?.reject(fromErrorParts(result.failure));
      else waiting?.resolve(result.value);
    }
  }
}

function closedError(): LedgerError {
  return new LedgerError('unexpected', 'The ledger is closed.', 'leadsync is stopping.');
}
