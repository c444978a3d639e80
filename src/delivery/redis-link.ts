import type { Clock } from '../platform/time/clock.ts';
import { COMMAND_MS, openRedis, type RedisClient } from './open-redis.ts';
import type { RedisPlace } from './options.ts';
import { NoAnswer, type RedisFailure, reconnectMayHelp, redisFailure } from './redis-failure.ts';

/** Time between health checks, in ms. They are necessary because neither a fail-over nor full memory closes the connection. */
const CHECK_MS = 5_000;
/** Time between health checks while Redis is unusable, in ms. */
const RECHECK_MS = 1_000;
const NOT_YET = 'Redis is not connected yet';

/** The Redis to watch, and the callbacks. A link starts as unusable without calling `onUnusable`. */
export interface LinkOptions {
  readonly redis: RedisPlace;
  /** A key of leadsync's own, which the health check writes. */
  readonly key: string;
  readonly clock: Clock;
  /** Runs before Redis counts as usable. If it rejects, Redis stays unusable. */
  readonly prepare: () => Promise<void>;
  readonly onUsable: () => void;
  /** Called when Redis becomes unusable, and when the reason changes. */
  readonly onUnusable: (failure: RedisFailure) => void;
}

/** A connection that determines whether Redis is usable: connected, answering, and accepting writes. Reconnects until it is closed. */
export class RedisLink {
  readonly client: RedisClient;
  readonly #options: LinkOptions;
  readonly #closed = new AbortController();
  /** Ends the sleep before the next health check. */
  #sleep = new AbortController();
  #usable = false;
  #failure: RedisFailure | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.client = openRedis(options.redis, 'link');
    this.client.on('error', (error) => this.failed(error));
    // A failed connection attempt also emits `close`, after an `error` with the real cause.
    this.client.on('close', () => this.#usable && this.failed({ code: 'the connection was closed' }));
    this.client.on('ready', () => this.#failure?.refused || this.#sleep.abort());
    void this.#keepChecking();
  }

  /** Returns the reason why Redis is unusable, or undefined if it is usable. */
  unusable(): string | undefined {
    return this.#usable ? undefined : (this.#failure?.reason ?? NOT_YET);
  }

  /** Records a failed command. Redis counts as unusable until a health check succeeds. */
  failed(error: unknown): void {
    if (this.#closed.signal.aborted) return;
    const failure = redisFailure(error);
    const news = this.#usable || failure.code !== this.#failure?.code;
    this.#failure = failure;
    if (this.#usable) this.#sleep.abort();
    this.#usable = false;
    if (news) this.#options.onUnusable(failure);
  }

  close(): void {
    this.#closed.abort();
    this.client.disconnect();
  }

  async #keepChecking(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      if (this.client.status === 'ready') await this.#check();
      this.#sleep = new AbortController();
      const waitMs = this.#usable ? CHECK_MS : RECHECK_MS;
      await this.#options.clock.sleep(waitMs, AbortSignal.any([signal, this.#sleep.signal]));
    }
  }

  async #check(): Promise<void> {
    try {
      await this.answered(this.client.set(this.#options.key, '1', 'PX', 60_000));
      if (this.#usable) return;
      await this.answered(this.#options.prepare());
      if (this.#closed.signal.aborted || this.client.status !== 'ready') return;
      this.#usable = true;
      this.#failure = undefined;
      this.#options.onUsable();
    } catch (error) {
      this.failed(error);
      if (reconnectMayHelp(redisFailure(error)) && this.client.status === 'ready')
        this.client.disconnect(true);
    }
  }

  /** Returns the result of `work`. @throws NoAnswer if it takes longer than `COMMAND_MS` */
  async answered<T>(work: Promise<T>): Promise<T> {
    const enough = new AbortController();
    const late = this.#options.clock.sleep(COMMAND_MS, enough.signal).then((): T => {
      if (!enough.signal.aborted) throw new NoAnswer(`no answer within ${COMMAND_MS / 1000} s`);
      return undefined as never; // `work` has won the race
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      enough.abort();
      work.catch(() => undefined); // a late failure: NoAnswer was thrown already
    }
  }
}
