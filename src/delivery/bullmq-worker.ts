import { type Job, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { BatchRef } from '../leads/delivery.ts';
import type { Secret } from '../platform/options/secret.ts';
import type { CarriedSink } from './carrier.ts';
import { redisCodeOf } from './redis-failure.ts';
import { COMMAND_MS, retryStrategy } from './redis-link.ts';

/** The data of a job: a batch and its lease, and no personal data. */
export interface JobData {
  readonly batch: string;
  readonly lease: number;
}

/** The queue to work on, under the carrier's `prefix`. A job is done when `start` resolves, whatever the outcome of the attempt. */
export interface BullmqWorkerOptions {
  readonly redisUrl: Secret;
  readonly prefix: string;
  readonly sink: CarriedSink;
  readonly start: (ref: BatchRef) => Promise<void>;
}

/** Minimum time between two reconnects that `reconnectWhenReadOnly` requests, in ms. */
const RECONNECT_AGAIN_MS = 500;

/**
 * Returns a function that decides whether ioredis reconnects after an error: after a fail-over, the host name may point to another server
 * (https://github.com/redis/ioredis#reconnect-on-error). The function requests a reconnect at most every `RECONNECT_AGAIN_MS`: otherwise
 * each reply in the pipeline would request one, and add a listener to the closing socket until Node.js warns of a leak on standard error.
 */
export function reconnectWhenReadOnly(monotonicMs: () => number): (error: Error) => boolean {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (redisCodeOf(error) !== 'READONLY' || monotonicMs() - lastMs < RECONNECT_AGAIN_MS) return false;
    lastMs = monotonicMs();
    return true;
  };
}

/** Takes the jobs of one sink off its queue, over separate connections. */
export class BullmqWorker {
  readonly #connection: Redis;
  readonly #worker: Worker<JobData>;

  constructor({ redisUrl, prefix, sink, start }: BullmqWorkerOptions) {
    this.#connection = new Redis(redisUrl.reveal(), {
      maxRetriesPerRequest: null,
      connectTimeout: COMMAND_MS,
      maxLoadingRetryTime: 1_000,
      retryStrategy,
      reconnectOnError: reconnectWhenReadOnly(() => performance.now()),
    });
    this.#connection.on('error', () => undefined); // the carrier's link, to the same Redis, reports it
    const attempt = (job: Job<JobData>) =>
      start({ sink: sink.name, batch: job.data.batch, lease: job.data.lease });
    this.#worker = new Worker<JobData>(sink.name, attempt, {
      connection: this.#connection,
      prefix,
      concurrency: sink.concurrency,
      skipVersionCheck: true,
      // The ledger counts lost attempts. BullMQ's own limit would drop a batch for good.
      maxStalledCount: 1_000_000,
      // Short, so that a job whose worker was killed runs again within seconds. A slow worker's job may run twice, which does no
      // harm: the ledger begins each lease once.
      lockDuration: 6_000,
      stalledInterval: 3_000,
      runRetryDelay: 1_000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    this.#worker.on('error', () => undefined); // the carrier's link has the same error and reports it
  }

  /** Stops taking jobs. Running attempts continue. */
  pause(): void {
    void this.#worker.pause(true).catch(() => undefined); // nothing depends on it: RunningAttempts starts no more attempts
  }

  /** Closes the worker and its connection. Running attempts continue. May never resolve while Redis is unavailable. */
  async close(): Promise<void> {
    await this.#worker.close(true);
    this.#connection.disconnect();
  }
}
