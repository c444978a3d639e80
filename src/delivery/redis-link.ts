import { Redis } from 'ioredis';
import type { Secret } from '../platform/options/secret.ts';
import type { Clock } from '../platform/time/clock.ts';
import { NoAnswer, type RedisFailure, reconnectMayHelp, redisFailure } from './redis-failure.ts';

/** A command that Redis does not answer within this time has failed, in ms. */
export const COMMAND_MS = 5_000;
/** How often it is looked whether Redis still takes writes, in ms: a fail-over or a full memory closes no connection. */
const LOOK_MS = 5_000;
/** And how often while it does not, in ms. */
const LOOK_AGAIN_MS = 1_000;
const NOT_YET = 'Redis is not connected yet';

/** Which Redis is watched, and who is told. A link begins as not usable, and says nothing of that. */
export interface LinkOptions {
  readonly url: Secret;
  /** A key of our own, which is written to find out whether Redis takes writes. */
  readonly key: string;
  readonly clock: Clock;
  /** Run before Redis counts as usable; when it rejects, it does not. */
  readonly prepare: () => Promise<void>;
  readonly onUsable: () => void;
  /** Called when Redis becomes unusable, and when it is for another reason than before. */
  readonly onUnusable: (failure: RedisFailure) => void;
}

/**
 * The connection that says whether Redis can be used: it is connected, answers, and takes writes. It connects again as
 * often as it takes.
 */
export class RedisLink {
  readonly client: Redis;
  readonly #options: LinkOptions;
  readonly #closed = new AbortController();
  /** Wakes the look that sleeps. */
  #sleep = new AbortController();
  #usable = false;
  #failure: RedisFailure | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.client = new Redis(options.url.reveal(), {
      enableOfflineQueue: false,
      enableReadyCheck: false, // it would wait for a Redis that is loading without a word
      maxRetriesPerRequest: 1,
      commandTimeout: COMMAND_MS,
      connectTimeout: COMMAND_MS,
      retryStrategy,
    });
    this.client.on('error', (error) => this.failed(error));
    // Every attempt to connect that fails ends in a close as well, and has been reported as what it was.
    this.client.on('close', () => this.#usable && this.failed({ code: 'the connection was closed' }));
    this.client.on('ready', () => this.#failure?.refused || this.#sleep.abort());
    void this.#keepLooking();
  }

  /** Undefined when Redis can be used, else why not. */
  unusable(): string | undefined {
    return this.#usable ? undefined : (this.#failure?.reason ?? NOT_YET);
  }

  /** Takes note that something asked of Redis failed. It counts as unusable until the next look finds otherwise. */
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

  async #keepLooking(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      if (this.client.status === 'ready') await this.#look();
      this.#sleep = new AbortController();
      const waitMs = this.#usable ? LOOK_MS : LOOK_AGAIN_MS;
      await this.#options.clock.sleep(waitMs, AbortSignal.any([signal, this.#sleep.signal]));
    }
  }

  async #look(): Promise<void> {
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

  /** @throws NoAnswer when the work takes longer than a command may */
  async answered<T>(work: Promise<T>): Promise<T> {
    const enough = new AbortController();
    const late = this.#options.clock.sleep(COMMAND_MS, enough.signal).then((): T => {
      if (!enough.signal.aborted) throw new NoAnswer(`no answer within ${COMMAND_MS / 1000} s`);
      return undefined as never; // the work was first, and nobody waits for this
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      enough.abort();
      work.catch(() => undefined); // a late failure was reported as the deadline's
    }
  }
}

/** How long to wait before the next attempt to connect, in ms. */
export function retryStrategy(times: number): number {
  return Math.min(100 * 2 ** Math.min(times, 10), 2_000);
}
