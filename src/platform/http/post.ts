import type { Dispatcher } from 'undici';
import { afterReading, DeadlinePassed, type Timer } from '../time/deadline.ts';

/** Default maximum number of bytes of a body to read. */
const LIMIT_BYTES = 1024;
/** Maximum time to read a body that the caller does not need, after the status has arrived, in ms. */
export const READ_MS = 1000;

type Headers = Dispatcher.ResponseData['headers'];

/** A receiver's response. */
export interface Response {
  readonly statusCode: number;
  readonly headers: Headers;
  /** The beginning of the body; undefined if it is empty. */
  readonly text: string | undefined;
  /** Whether the body arrived completely. */
  readonly isWhole: boolean;
  /** Whether the rest of the body was not read because it is longer than `maxBytes`. */
  readonly isTooLong: boolean;
}

interface PostLimits {
  /**
   * Maximum time until the headers of the response have arrived, in ms, or the whole response if `needsBody`. Includes the time that the request
   * waits for its connection.
   */
  readonly timeoutMs: number;
  /** Whether the caller needs the body and not only the status. The body then has until `timeoutMs` to arrive. Default: no. */
  readonly needsBody?: boolean;
  /** Aborts a request that has no response yet, and ends the reading of a body. */
  readonly stop: AbortSignal;
  /** Called when the request has its connection, immediately before its first byte is written. If it throws, nothing is sent. */
  readonly beforeSending: () => void;
  /** Maximum number of bytes of the body to read. Default: 1 KiB, for a body that is only shown to people. */
  readonly maxBytes?: number;
}

/**
 * Sends a request. Closes the connection if the body is longer than `maxBytes` or takes longer than `READ_MS` (or `timeoutMs`, if `needsBody`); the
 * response then contains the part that arrived.
 * @throws DeadlinePassed, the reason of `stop`, the error from `beforeSending`, or an error from undici
 */
export function post(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  limits: PostLimits,
): Promise<Response> {
  if (limits.stop.aborted) return Promise.reject(limits.stop.reason);
  const exchange = new Exchange(limits);
  dispatcher.dispatch(request, exchange);
  return exchange.response;
}

/**
 * One request and its response. Uses a handler instead of undici's `request`: the stream and signal of `request` take more time than the rest of a
 * delivery, and `request` cannot end a request that waits for its connection.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #limits: PostLimits;
  readonly #result = Promise.withResolvers<Response>();
  /** Ends the wait for the response. */
  #timer: Timer;
  #controller: Dispatcher.DispatchController | undefined;
  #head: Omit<Response, 'text' | 'isWhole' | 'isTooLong'> | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Why the request ended without a response. */
  #failure: { readonly error: unknown } | undefined;

  constructor(limits: PostLimits) {
    this.#limits = limits;
    this.#timer = afterReading(limits.timeoutMs, () => this.#end(new DeadlinePassed()));
    limits.stop.addEventListener('abort', this.#onStop);
  }

  get #maxBytes(): number {
    return this.#limits.maxBytes ?? LIMIT_BYTES;
  }

  get response(): Promise<Response> {
    return this.#result.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure) throw this.#failure.error; // undici cannot cancel a request that waits for its connection
    this.#limits.beforeSending();
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: Headers): void {
    if (statusCode < 200) return;
    this.#head = { statusCode, headers };
    if (this.#limits.needsBody) return;
    this.#timer.cancel();
    this.#timer = afterReading(READ_MS, () => this.#leaveBody());
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) this.#leaveBody();
  }

  onResponseEnd(): void {
    this.#respond(true);
  }

  /** A body that breaks off is not an error, because the status has arrived. */
  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#head) this.#respond(false);
    else this.#fail(error);
  }

  readonly #onStop = () => this.#end(this.#limits.stop.reason);

  #end(reason: Error): void {
    if (this.#head) this.#leaveBody();
    else {
      this.#fail(reason);
      this.#controller?.abort(reason);
    }
  }

  #fail(error: unknown): void {
    this.#endWait();
    this.#failure ??= { error };
    this.#result.reject(error);
  }

  #leaveBody(): void {
    this.#respond(false);
    // Not immediately: if the rest of the body is in the same chunk, the response then ends and the connection is kept.
    setImmediate(() => this.#controller?.abort(new Error('The rest of the body is not read.')));
  }

  #respond(isWhole: boolean): void {
    if (!this.#head) return;
    this.#endWait();
    const text = Buffer.concat(this.#chunks).subarray(0, this.#maxBytes).toString('utf8');
    const isTooLong = this.#bytes > this.#maxBytes;
    this.#result.resolve({ ...this.#head, text: text === '' ? undefined : text, isWhole, isTooLong });
  }

  #endWait(): void {
    this.#timer.cancel();
    this.#limits.stop.removeEventListener('abort', this.#onStop);
  }
}
