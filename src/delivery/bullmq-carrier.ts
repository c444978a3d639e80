import { Queue } from 'bullmq';
import type { BatchRef } from '../leads/delivery.ts';
import type { Secret } from '../platform/options/secret.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { JobData } from './bullmq-worker.ts';
import { BullmqWorkers } from './bullmq-workers.ts';
import { type AttemptBatch, type CarriedSink, type Carrier, CarrierUnavailable } from './carrier.ts';
import type { QueueAdapters } from './queue-adapters.ts';
import { writeMarker } from './queue-marker.ts';
import { LEADS_WAIT, type RedisFailure, redisFailure } from './redis-failure.ts';
import { RedisLink } from './redis-link.ts';
import { RunningAttempts } from './running-attempts.ts';

/** How this process takes part in the queues of a ledger: all that share `redisUrl` and `prefix` have the same ones. */
export interface BullmqOptions {
  readonly redisUrl: Secret;
  /** Goes before every key; differs between ledgers, so that two installations can share a Redis. */
  readonly prefix: string;
  /** Which ledger this installation has, to be marked in Redis under the prefix of the installation. */
  readonly marker?: { readonly prefix: string; readonly ledger: string };
  /** Makes an attempt; undefined where other processes make them (`run --no-deliver`). */
  readonly attempt: AttemptBatch | undefined;
  readonly clock: Clock;
  readonly onState: (state: CarrierState) => void;
}

/** What the carrier reports of Redis, whenever it changes. */
export type CarrierState =
  | { readonly kind: 'connected' }
  | { readonly kind: 'disconnected'; readonly reason: string; readonly hint: string }
  | { readonly kind: 'warning'; readonly reason: string; readonly hint: string };

const CLOSE_MS = 1_000;

/**
 * Carries batches through BullMQ: one queue per sink, so that each has its own pace. The ledger owns retry, pause and
 * dead letters; a job is one attempt and is forgotten when it ends, so Redis may be flushed at any time.
 */
export class BullmqCarrier implements Carrier {
  readonly kind = 'bullmq';
  readonly workers: BullmqWorkers | undefined;
  readonly #options: BullmqOptions;
  readonly #link: RedisLink;
  readonly #queues = new Map<string, Queue<JobData>>();
  /** One queue each. */
  #sinks: readonly CarriedSink[] = [];
  readonly #clock: Clock;
  #adapters: Promise<QueueAdapters> | undefined;

  constructor(options: BullmqOptions) {
    const { redisUrl, prefix, clock, attempt } = options;
    this.#options = options;
    this.#clock = clock;
    this.#link = new RedisLink({
      url: redisUrl,
      key: `${prefix}:takes-writes`,
      clock,
      prepare: () => this.#openQueues(),
      onUsable: () => this.#usable(),
      onUnusable: (failure) => this.#unusable(failure),
    });
    if (!attempt) return;
    this.workers = new BullmqWorkers(new RunningAttempts(attempt, clock), { redisUrl, prefix });
  }

  async serve(sinks: readonly CarriedSink[], anew: readonly string[] = []): Promise<void> {
    this.#sinks = sinks;
    this.workers?.serve(sinks, anew);
    const names = new Set(sinks.map(({ name }) => name));
    for (const [name, queue] of [...this.#queues]) {
      if (names.has(name)) continue;
      this.#queues.delete(name);
      void retire(queue).catch(() => undefined); // with Redis away it may never end, and nothing depends on it
    }
    if (this.unready()) return; // all that is missing is opened when Redis can be used
    try {
      await this.#link.answered(this.#openQueues());
      this.workers?.open();
    } catch (error) {
      this.#link.failed(error);
    }
  }

  readonly boardQueues = async () => {
    this.#adapters ??= import('./queue-adapters.ts').then((module) => new module.QueueAdapters());
    return (await this.#adapters).of(this.#queues.values());
  };

  async offer(refs: readonly BatchRef[]): Promise<void> {
    const unready = this.unready();
    if (unready) throw new CarrierUnavailable(unready, LEADS_WAIT);
    try {
      await this.#link.answered(this.#add(refs));
    } catch (error) {
      this.#link.failed(error);
      const { code, hint } = redisFailure(error);
      throw new CarrierUnavailable(`Redis did not take the jobs (${code}).`, hint, error);
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

  attempting(): readonly number[] {
    return this.workers?.attempting() ?? [];
  }

  unready(): string | undefined {
    return this.#link.unusable();
  }

  async close(graceMs: number): Promise<void> {
    await this.workers?.stop(graceMs);
    // With Redis down these never return, so they are not waited for long.
    const closing = [this.workers?.close(), ...[...this.#queues.values()].map((queue) => queue.close())];
    const enough = new AbortController();
    await Promise.race([Promise.allSettled(closing), this.#clock.sleep(CLOSE_MS, enough.signal)]);
    enough.abort();
    this.#link.close();
  }

  #usable(): void {
    this.workers?.open();
    this.#options.onState({ kind: 'connected' });
    void this.#warnOfEviction();
    const { marker } = this.#options;
    // A mark that cannot be written now is written when Redis can be used again.
    if (marker) void writeMarker(this.#link.client, marker.prefix, marker.ledger).catch(() => undefined);
  }

  #unusable({ code, reason, hint, refused }: RedisFailure): void {
    // Workers whose connection is gone connect again by themselves, and a full Redis is emptied by what they take off it.
    if (refused && code !== 'OOM') this.workers?.release();
    this.#options.onState({ kind: 'disconnected', reason, hint });
  }

  /** Only when the connection is ready: a queue that is made before that fails, and stays so. */
  async #openQueues(): Promise<void> {
    for (const { name } of this.#sinks) {
      if (this.#queues.has(name)) continue;
      const queue = this.#openQueue(name, this.#options.prefix);
      await queue.waitUntilReady();
      this.#queues.set(name, queue);
    }
  }

  async #warnOfEviction(): Promise<void> {
    try {
      const [, policy] = (await this.#link.client.config('GET', 'maxmemory-policy')) as string[];
      if (policy && policy !== 'noeviction') this.#options.onState(evictionWarning(policy));
    } catch {
      // A Redis that does not let its configuration be read is used all the same.
    }
  }

  #openQueue(name: string, prefix: string): Queue<JobData> {
    const queue = new Queue<JobData>(name, {
      connection: this.#link.client,
      prefix,
      skipVersionCheck: true, // what it finds it writes to the console; the eviction policy is reported above
      streams: { events: { maxLen: 100 } }, // nobody reads them
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    });
    queue.on('error', () => undefined); // reported by the connection itself
    return queue;
  }
}

/** Removes the jobs that wait, which nobody would take out any more. A process that still serves the sink is offered them again. */
async function retire(queue: Queue<JobData>): Promise<void> {
  try {
    await queue.drain(true);
  } finally {
    await queue.close();
  }
}

/** Never made of a lead's id, which could be one of the queue's own names. */
function jobId(batch: string, lease: number): string {
  return `${batch}-${lease}`;
}

function evictionWarning(policy: string): CarrierState {
  return {
    kind: 'warning',
    reason: `Redis may throw jobs away: its maxmemory-policy is ${policy}.`,
    hint: 'Set it to noeviction. The ledger would offer lost jobs again, but late.',
  };
}
