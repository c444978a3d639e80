import { type Job, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { BatchRef } from '../leads/delivery.ts';
import type { Clock } from '../platform/clock.ts';
import type { Secret } from '../platform/secret.ts';
import { type AttemptBatch, type Carrier, CarrierUnavailable } from './carrier.ts';
import { RunningAttempts } from './running-attempts.ts';

export interface BullmqOptions {
  readonly redisUrl: Secret;
  /** Goes before every key; differs between ledgers, so that two installations can share a Redis. */
  readonly prefix: string;
  /** One queue each. */
  readonly sinks: readonly { readonly name: string; readonly concurrency: number }[];
  /** Makes an attempt; undefined where other processes make them (`run --no-deliver`). */
  readonly attempt: AttemptBatch | undefined;
  readonly clock: Clock;
  readonly onState: (state: CarrierState) => void;
}

/** What the carrier reports of Redis, whenever it changes. */
export type CarrierState =
  | { readonly kind: 'connected' }
  | { readonly kind: 'disconnected'; readonly reason: string }
  | { readonly kind: 'warning'; readonly reason: string; readonly hint: string };

/** What a job holds: nobody's data, only which batch and under which lease. */
interface JobData {
  readonly batch: string;
  readonly lease: number;
}

/** A command that Redis does not answer within this time has failed, in ms. */
const COMMAND_MS = 5_000;
const CLOSE_MS = 1_000;
const HINT =
  'Check queue.redis_url and that Redis runs. Polls go on; leads wait in the ledger and lose nothing.';

/**
 * Carries batches through BullMQ: one queue per sink, so that each has its own pace. The ledger owns retry, pause and
 * dead letters; a job is one attempt and is forgotten when it ends, so Redis may be flushed at any time.
 */
export class BullmqCarrier implements Carrier {
  readonly kind = 'bullmq';
  readonly #options: BullmqOptions;
  readonly #redis: Redis;
  readonly #queues = new Map<string, Queue<JobData>>();
  readonly #workers: Worker<JobData>[] = [];
  readonly #consumer: Redis | undefined;
  readonly #running: RunningAttempts | undefined;
  readonly #clock: Clock;
  readonly #onState: (state: CarrierState) => void;
  #connected = false;
  #failure = 'Redis is not connected yet';

  constructor(options: BullmqOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#onState = options.onState;
    this.#redis = this.#connect(options.redisUrl);
    if (!options.attempt) return;
    this.#running = new RunningAttempts(options.attempt, options.clock);
    this.#consumer = new Redis(options.redisUrl.reveal(), { maxRetriesPerRequest: null, retryStrategy });
    this.#consumer.on('error', () => undefined); // the producer's connection, to the same Redis, reports it
    for (const sink of options.sinks)
      this.#workers.push(this.#openWorker(sink, options.prefix, this.#running));
  }

  async offer(refs: readonly BatchRef[]): Promise<void> {
    const unready = this.unready();
    if (unready) throw new CarrierUnavailable(unready, HINT);
    try {
      await this.#withDeadline(this.#add(refs));
    } catch (error) {
      throw new CarrierUnavailable(`Redis did not take the jobs (${reasonOf(error)}).`, HINT, error);
    }
  }

  async #add(refs: readonly BatchRef[]): Promise<void> {
    for (const [sink, queue] of this.#queues) {
      const mine = refs.filter((ref) => ref.sink === sink);
      for (const ref of mine) if (ref.replaces) await queue.remove(jobId(ref.batch, ref.replaces));
      // A job with this id that is there already stays the only one.
      const jobs = mine.map(({ batch, lease }) => ({
        name: 'attempt',
        data: { batch, lease },
        opts: { jobId: jobId(batch, lease) },
      }));
      if (jobs.length > 0) await queue.addBulk(jobs);
    }
  }

  unready(): string | undefined {
    return this.#connected ? undefined : this.#failure;
  }

  async close(graceMs: number): Promise<void> {
    for (const worker of this.#workers) void worker.pause(true).catch(() => undefined); // what matters is that no new attempt starts, below
    await this.#running?.stop(graceMs);
    // With Redis down these never return, so they are not waited for long.
    const closing = [
      ...this.#workers.map((worker) => worker.close(true)),
      ...[...this.#queues.values()].map((queue) => queue.close()),
    ];
    const enough = new AbortController();
    await Promise.race([Promise.allSettled(closing), this.#clock.sleep(CLOSE_MS, enough.signal)]);
    enough.abort();
    this.#consumer?.disconnect();
    this.#redis.disconnect();
  }

  #connect(url: Secret): Redis {
    const redis = new Redis(url.reveal(), {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      commandTimeout: COMMAND_MS,
      connectTimeout: COMMAND_MS,
      retryStrategy,
    });
    redis.on('error', (error) => this.#disconnected(reasonOf(error)));
    // Every attempt to connect that fails ends in a close as well, and has been reported as what it was.
    redis.on('close', () => this.#connected && this.#disconnected('the connection was closed'));
    redis.on('ready', () => void this.#ready());
    return redis;
  }

  async #ready(): Promise<void> {
    try {
      await this.#openQueues();
    } catch (error) {
      // The connection went away in between; when it is back, this is tried again.
      return this.#disconnected(reasonOf(error));
    }
    this.#connected = true;
    this.#onState({ kind: 'connected' });
    await this.#warnOfEviction();
  }

  /** Only now: a queue that is made before its connection is ready fails, and stays so. */
  async #openQueues(): Promise<void> {
    for (const { name } of this.#options.sinks) {
      if (this.#queues.has(name)) continue;
      const queue = this.#openQueue(name, this.#options.prefix);
      await queue.waitUntilReady();
      this.#queues.set(name, queue);
    }
  }

  async #warnOfEviction(): Promise<void> {
    try {
      const [, policy] = (await this.#redis.config('GET', 'maxmemory-policy')) as string[];
      if (policy && policy !== 'noeviction') this.#onState(evictionWarning(policy));
    } catch {
      // A Redis that does not let its configuration be read is used all the same.
    }
  }

  #disconnected(reason: string): void {
    if (this.#running?.stopping) return;
    const news = this.#connected || !this.#failure.includes(reason);
    this.#connected = false;
    this.#failure = `Redis cannot be reached (${reason}).`;
    if (news) this.#onState({ kind: 'disconnected', reason: this.#failure });
  }

  #openQueue(name: string, prefix: string): Queue<JobData> {
    const queue = new Queue<JobData>(name, {
      connection: this.#redis,
      prefix,
      skipVersionCheck: true, // what it finds it writes to the console; the eviction policy is reported above
      streams: { events: { maxLen: 100 } }, // nobody reads them
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    });
    queue.on('error', () => undefined); // reported by the connection itself
    return queue;
  }

  #openWorker(
    sink: { name: string; concurrency: number },
    prefix: string,
    running: RunningAttempts,
  ): Worker<JobData> {
    const attempt = (job: Job<JobData>) =>
      running.start({ sink: sink.name, batch: job.data.batch, lease: job.data.lease });
    const worker = new Worker<JobData>(sink.name, attempt, {
      connection: this.#consumer as Redis,
      prefix,
      concurrency: sink.concurrency,
      skipVersionCheck: true,
      // The ledger counts what is lost; the queue's own limit would drop a batch for good.
      maxStalledCount: 1_000_000,
      // Soon, so that a job whose worker was killed before it began is run again within seconds. One that is run twice
      // because its worker was only slow does no harm: the ledger begins it once.
      lockDuration: 6_000,
      stalledInterval: 3_000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    worker.on('error', () => undefined); // reported by the connection itself
    return worker;
  }

  async #withDeadline(work: Promise<void>): Promise<void> {
    const enough = new AbortController();
    const late = this.#clock.sleep(COMMAND_MS, enough.signal).then(() => {
      if (!enough.signal.aborted) throw new Error(`no answer within ${COMMAND_MS / 1000} s`);
    });
    try {
      await Promise.race([work, late]);
    } finally {
      enough.abort();
      work.catch(() => undefined); // a late failure was reported as the deadline's
    }
  }
}

/** Never made of a lead's id, which could be one of the queue's own names. */
function jobId(batch: string, lease: number): string {
  return `${batch}-${lease}`;
}

function retryStrategy(times: number): number {
  return Math.min(100 * 2 ** Math.min(times, 10), 2_000);
}

function evictionWarning(policy: string): CarrierState {
  return {
    kind: 'warning',
    reason: `Redis may throw jobs away: its maxmemory-policy is ${policy}.`,
    hint: 'Set it to noeviction. The ledger would offer lost jobs again, but late.',
  };
}

/** A reason without the address, which may hold a password. */
export function reasonOf(error: unknown): string {
  const { code, name, message } = error as { code?: string; name?: string; message?: string };
  if (code) return code;
  const known = /^(READONLY|OOM|NOAUTH|WRONGPASS|NOPERM|LOADING|MOVED|CLUSTERDOWN)\b/.exec(message ?? '');
  return known?.[1] ?? (message === 'Command timed out' ? 'it does not answer' : (name ?? 'unknown error'));
}
