import type { Pool } from 'undici';
import { post, type Response } from '../../platform/http/post.ts';
import { readRetryAfter } from '../../platform/http/retry-after.ts';
import { LazyResource } from '../../platform/process/lazy-resource.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { reachServer } from './reach-server.ts';

/** Maximum number of bytes of an answer that leadsync reads. */
const MAX_BYTES = 8 * 1024 * 1024;

/** A request to an API. */
export interface ApiRequest {
  /** Default: POST. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Where a request went, for messages. */
export interface Addressee {
  /** The name of the sink. */
  readonly sink: string;
  /** Scheme, host and port. */
  readonly origin: string;
}

/** An answer from an API. */
export interface Answer {
  readonly httpStatus: number;
  /** The whole body; undefined if it is empty. */
  readonly text: string | undefined;
  /** Retry-After in ms from now; undefined if it is absent or unreadable. */
  readonly retryAfterMs: number | undefined;
  /** Returns the value of a header by its lower-case name, if present; the first value if the header occurs several times. */
  header(name: string): string | undefined;
}

/**
 * Limits of one request, and what the caller must learn about it: when to stop, which lease to confirm, and whether the server may have stored data.
 */
export interface CallLimits {
  readonly stop: AbortSignal;
  /** Called immediately before the request is sent. If it throws, nothing is sent. */
  readonly confirmLease: () => void;
  /** Whether the request delivers leads, so that a missing answer leaves open whether they arrived. Default: no. */
  readonly sendsLeads?: boolean;
  /** Called after an answer if the server may have stored data from the leads. */
  readonly onStored?: (() => void) | undefined;
}

/** Returns the limits of a request without a lease. */
export function withoutLease(stop: AbortSignal): CallLimits {
  return { stop, confirmLease: () => undefined };
}

/**
 * The answer is longer than leadsync reads. The server may have carried out the request. A request for fewer records gets a shorter answer, so the
 * caller splits and repeats the request.
 */
export class AnswerTooLong extends SinkUnavailable {}

/** A sink's connections to an API server. */
export class ApiServer {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly #parts: SinkParts;
  readonly #pool: LazyResource<Pool>;

  constructor(origin: string, parts: SinkParts) {
    this.origin = origin;
    this.#parts = parts;
    this.#pool = new LazyResource(async () => {
      const { Pool } = await import('undici');
      return new Pool(origin, {
        connections: parts.concurrency,
        allowH2: false,
        connect: { timeout: parts.timeoutMs },
        headersTimeout: 0, // `post` has the deadline
      });
    });
  }

  /**
   * Makes a request and returns the answer, whatever its status. @throws AnswerTooLong if the answer is longer than 8 MiB, SinkUnavailable if no
   * answer arrives, or only a part of one
   */
  async call(
    { method = 'POST', path, headers, body }: ApiRequest,
    { stop, confirmLease, sendsLeads = false, onStored }: CallLimits,
  ): Promise<Answer> {
    const { timeoutMs, userAgent, clock } = this.#parts;
    let isUnsent = true;
    const beforeSending = () => {
      confirmLease();
      isUnsent = !sendsLeads;
    };
    const pool = await this.#pool.get();
    const request = {
      method,
      path,
      headers: { 'user-agent': userAgent, ...headers },
      ...(body === undefined ? {} : { body: Buffer.from(body) }),
    } as const;
    const limits = { timeoutMs, needsBody: true, stop, beforeSending, maxBytes: MAX_BYTES };
    const send = () => post(pool, request, limits);
    const response = await reachServer({ origin: this.origin, timeoutMs }, stop, send, () => isUnsent);
    if (sendsLeads && !refuses(response.statusCode)) onStored?.();
    if (!response.isWhole) throw this.#incomplete(response, { stop, sendsLeads });
    const header = (name: string) => [response.headers[name]].flat()[0];
    const [retryAfter, date] = [header('retry-after'), header('date')];
    return {
      httpStatus: response.statusCode,
      text: response.text,
      retryAfterMs: readRetryAfter({ retryAfter, date }, clock.now()),
      header,
    };
  }

  /**
   * Returns the failure of a request whose answer is incomplete. Such an answer proves nothing, because the missing part may name records that
   * the server has accepted.
   */
  #incomplete(
    { statusCode, isTooLong }: Response,
    { stop, sendsLeads }: { readonly stop: AbortSignal; readonly sendsLeads: boolean },
  ): SinkUnavailable {
    const status = { httpStatus: statusCode, unsent: !sendsLeads, mayHaveArrived: !refuses(statusCode) };
    const answered = `${this.origin} answered with status ${statusCode}, but the answer`;
    if (isTooLong)
      return new AnswerTooLong(`${answered} is longer than 8 MiB.`, {
        hint: "Lower the sink's `batch.max`, so that each request covers fewer leads.",
        ...status,
      });
    const seconds = this.#parts.timeoutMs / 1000;
    const hint = stop.aborted
      ? ''
      : `The connection broke off, or was too slow (\`timeout\` is ${seconds} s).`;
    return new SinkUnavailable(`${answered} did not arrive completely.`, { hint, ...status });
  }

  /** Closes the connections without waiting for answers: the caller has already ended the attempts. */
  async close(): Promise<void> {
    await this.#pool.close(async (pool) => {
      if (!pool.destroyed) await pool.destroy();
    });
  }
}

/** Whether a status says that the server accepted nothing from the request. */
function refuses(httpStatus: number): boolean {
  return httpStatus >= 400 && httpStatus < 500;
}
