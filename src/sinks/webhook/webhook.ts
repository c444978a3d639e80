import type { KeyObject } from 'node:crypto';
import type { Pool } from 'undici';
import type { z } from 'zod';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import { type Delivered, type Outcome, type Refused, storedAnswer } from '../../leads/outcome.ts';
import { post, READ_MS } from '../../platform/http/post.ts';
import { readRetryAfter } from '../../platform/http/retry-after.ts';
import { tryConnection } from '../../platform/http/try-connection.ts';
import { LazyResource } from '../../platform/process/lazy-resource.ts';
import { attemptParts } from '../attempt-parts.ts';
import { reachServer } from '../http/reach-server.ts';
import { type AttemptUnderWay, type Preview, type Sink, type TestResult, WITHOUT_LEASE } from '../sink.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { judgeAnswer } from './judge-answer.ts';
import { type Message, messageOf, testMessage } from './message.ts';
import type { webhookOptions } from './options.ts';
import { readSigningKey, sign } from './signature.ts';

/** Posts each batch as one request, signed if there is a secret. A request may take the whole `timeout` until the headers of its answer arrive. */
export class WebhookSink implements Sink {
  readonly #parts: SinkParts;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  /** Names of headers with secret values. */
  readonly #secretHeaders: ReadonlySet<string>;
  readonly #keys: readonly KeyObject[];
  /** Whether the answers of delivered leads are stored too. */
  readonly #storesAll: boolean;
  readonly #pool: LazyResource<Pool>;

  constructor(options: z.output<ReturnType<typeof webhookOptions>>, parts: SinkParts) {
    this.#parts = parts;
    this.#url = new URL(options.url.reveal());
    this.#secretHeaders = new Set(Object.keys(options.headers).map((name) => name.toLowerCase()));
    this.#headers = {
      'user-agent': parts.userAgent,
      ...Object.fromEntries(
        Object.entries(options.headers).map(([name, value]) => [name.toLowerCase(), value.reveal()]),
      ),
      'content-type': 'application/json',
    };
    this.#keys = [options.secret, options.previous_secret].flatMap(
      (secret) => readSigningKey(secret?.reveal() ?? '') ?? [],
    );
    this.#storesAll = options.store_answers === 'all';
    this.#pool = new LazyResource(async () => {
      const { Pool } = await import('undici');
      return new Pool(this.#url.origin, {
        connections: parts.concurrency,
        allowH2: false,
        connect: { timeout: parts.timeoutMs },
        headersTimeout: 0, // `post` has the deadline
      });
    });
  }

  /** Connects, with TLS for `https:`, and disconnects. Sends no request: a receiver should only ever get leads. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#reach(signal, () => tryConnection(this.#url, this.#parts.timeoutMs, signal));
  }

  async deliver(
    batch: Batch,
    signal: AbortSignal,
    under: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<readonly Outcome[]> {
    const post = (part: readonly Delivery[]) => this.#post(this.#messageOf(batch, part), signal, under);
    return attemptParts(this.#partsOf(batch), post, { under, partMs: this.#parts.timeoutMs + READ_MS });
  }

  async test({ deliveries: [delivery] }: Batch, signal: AbortSignal): Promise<TestResult> {
    if (!delivery) throw new Error('a batch is never empty');
    const message = testMessage(delivery);
    const { kind, httpStatus } = await this.#post(message, signal, WITHOUT_LEASE);
    const answer = `(HTTP ${httpStatus})`;
    if (kind === 'delivered')
      return { arrived: true, what: `${this.#url.origin} accepted it as ${message.id} ${answer}.` };
    const what = `${this.#url.origin} answered and refused it ${answer}. It may still accept leads, and refuse only events of type lead.test.`;
    return { arrived: false, what };
  }

  preview(batch: Batch): readonly Preview[] {
    return this.#partsOf(batch).map((part) => {
      const message = this.#messageOf(batch, part);
      const { method, path, headers } = this.#requestOf(message);
      const fields = Object.entries(headers).map(([name, value]) => [
        name,
        this.#secretHeaders.has(name) ? '[secret]' : value,
      ]);
      const address = this.#url.origin + (path === '/' ? path : '/[secret]');
      return { target: `${method} ${address}`, fields: Object.fromEntries(fields), content: message.body };
    });
  }

  async close(): Promise<void> {
    // `close()` would wait for answers. The caller has already ended the attempts.
    await this.#pool.close(async (pool) => {
      if (!pool.destroyed) await pool.destroy();
    });
  }

  /** Returns the deliveries, grouped by request. */
  #partsOf({ deliveries }: Batch): readonly (readonly Delivery[])[] {
    // A stored batch may hold more leads than the configuration now allows.
    return this.#batched ? [deliveries] : deliveries.map((delivery) => [delivery]);
  }

  #messageOf(batch: Batch, part: readonly Delivery[]): Message {
    return messageOf(batch, part, this.#batched);
  }

  get #batched(): boolean {
    return this.#parts.batchMax > 1;
  }

  async #post(
    message: Message,
    stop: AbortSignal,
    { traceparent, confirmLease }: AttemptUnderWay,
  ): Promise<Delivered | Refused> {
    let isUnsent = true;
    const { timeoutMs, clock } = this.#parts;
    const pool = await this.#pool.get();
    const beforeSending = () => {
      confirmLease();
      isUnsent = false;
    };
    const send = () => post(pool, this.#requestOf(message, traceparent), { timeoutMs, stop, beforeSending });
    const { statusCode, headers, text } = await this.#reach(stop, send, () => isUnsent);
    const [retryAfter, date] = [headers['retry-after'], headers['date']].map((lines) => [lines].flat()[0]);
    const answer = storedAnswer(text);
    const judged = judgeAnswer(this.#url.origin, {
      httpStatus: statusCode,
      text: answer,
      retryAfterMs: readRetryAfter({ retryAfter, date }, clock.now()),
    });
    if (judged instanceof SinkUnavailable) throw judged;
    return judged.kind === 'delivered' && this.#storesAll ? { ...judged, answer } : judged;
  }

  #requestOf({ id, body: text }: Message, traceparent?: string) {
    const body = Buffer.from(text); // encoded once, for the signature and the request
    const trace = traceparent === undefined ? undefined : { traceparent };
    return {
      method: 'POST',
      path: this.#url.pathname + this.#url.search,
      headers: { ...this.#headers, ...trace, ...this.#headersOf(id, body) },
      body,
    } as const;
  }

  #headersOf(id: string, body: Buffer): Record<string, string> {
    const seconds = Math.floor(this.#parts.clock.now().getTime() / 1000);
    const signature = sign(this.#keys, id, seconds, body);
    return {
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      ...(signature === '' ? {} : { 'webhook-signature': signature }),
    };
  }

  #reach<T>(stop: AbortSignal, work: () => Promise<T>, isUnsent?: () => boolean): Promise<T> {
    const server = { origin: this.#url.origin, timeoutMs: this.#parts.timeoutMs };
    return reachServer(server, stop, work, isUnsent);
  }
}
