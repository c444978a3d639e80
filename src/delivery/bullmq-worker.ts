import { type Job, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { BatchRef } from '../leads/delivery.ts';
import type { Secret } from '../platform/options/secret.ts';
import type { CarriedSink } from './carrier.ts';
import { redisCodeOf } from './redis-failure.ts';
import { COMMAND_MS, retryStrategy } from './redis-link.ts';

/** What a job holds: nobody's data, only which batch and under which lease. */
export interface JobData {
  readonly batch: string;
  readonly lease: number;
}

/**
 * Whose queue is worked on, under the carrier's `prefix`. A job is done when `start` resolves, whatever became of the
 * attempt.
 */
export interface BullmqWorkerOptions {
  readonly redisUrl: Secret;
  readonly prefix: string;
  readonly sink: CarriedSink;
  readonly start: (ref: BatchRef) => Promise<void>;
}

/** One connection is given up no more often than this, in ms. */
const GIVE_UP_AGAIN_MS = 500;

/**
 * After a fail-over the name may mean another server: https://github.com/redis/ioredis#reconnect-on-error. Once in a while:
 * each reply in the pipe would ask for it anew, and put a listener more on a socket that is being closed, until Node.js warns
 * of a leak on standard error.
 */
export function whenReadOnly(monotonicMs: () => number): (error: Error) => boolean {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (redisCodeOf(error) !== 'READONLY' || monotonicMs() - lastMs < GIVE_UP_AGAIN_MS) return false;
    lastMs = monotonicMs();
    return true;
  };
}

/** Takes the jobs of one sink off its queue, over connections of its own. */
export class BullmqWorker {
  readonly #connection: Redis;
  readonly #worker: Worker<JobData>;

  constructor({ redisUrl, prefix, sink, start }: BullmqWorkerOptions) {
    this.#connection = new Redis(redisUrl.reveal(), {
      maxRetriesPerRequest: null,
      connectTimeout: COMMAND_MS,
      maxLoadingRetryTime: 1_000,
      retryStrategy,
      reconnectOnError: whenReadOnly(() => performance.now()),
    });
    this.#connection.on('error', () => undefined); // the producer's connection, to the same Redis, reports it
    const attempt = (job: Job<JobData>) =>
      start({ sink: sink.name, batch: job.data.batch, lease: job.data.lease });
    this.#worker = new Worker<JobData>(sink.name, attempt, {
      connection: this.#connection,
      prefix,
      concurrency: sink.concurrency,
      skipVersionCheck: true,
      // The ledger counts what is lost; the queue's own limit would drop a batch for good.
      maxStalledCount: 1_000_000,
      // Soon, so that a job whose worker was killed before it began is run again within seconds. One that is run twice
      // because its worker was only slow does no harm: the ledger begins it once.
      lockDuration: 6_000,
      stalledInterval: 3_000,
      runRetryDelay: 1_000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    this.#worker.on('error', () => undefined); // the producer's connection finds it out as well, and reports it
  }

  /** Takes no more jobs. What is under way is not touched. */
  pause(): void {
    void this.#worker.pause(true).catch(() => undefined); // nothing depends on it: new attempts are refused elsewhere
  }

  /** Lets go of everything. What is under way in this process goes on; with Redis away it may never resolve. */
  async close(): Promise<void> {
    await this.#worker.close(true);
    this.#connection.disconnect();
  }
}
