import { type Job, Worker } from 'bullmq';
import type { BatchRef } from '../leads/delivery.ts';
import type { CarriedSink } from './carrier.ts';
import { openRedis, type RedisClient } from './open-redis.ts';
import type { RedisPlace } from './options.ts';

/** The data of a job: a batch and its lease, and no personal data. */
export interface JobData {
  readonly batch: string;
  readonly lease: number;
}

/** The queue to work on, under the carrier's `prefix`. A job is done when `start` resolves, whatever the outcome of the attempt. */
export interface BullmqWorkerOptions {
  readonly redis: RedisPlace;
  readonly prefix: string;
  readonly sink: CarriedSink;
  readonly start: (ref: BatchRef) => Promise<void>;
}

/** Takes the jobs of one sink off its queue, over separate connections. */
export class BullmqWorker {
  readonly #connection: RedisClient;
  readonly #worker: Worker<JobData>;

  constructor({ redis, prefix, sink, start }: BullmqWorkerOptions) {
    this.#connection = openRedis(redis, 'worker');
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
