import { Queue } from 'bullmq';
import type { BatchRef } from '../leads/delivery.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { JobData } from './bullmq-worker.ts';
import { BullmqWorkers } from './bullmq-workers.ts';
import { type AttemptBatch, type CarriedSink, type Carrier, CarrierUnavailable } from './carrier.ts';
import type { RedisPlace } from './options.ts';
import type { QueueAdapters } from './queue-adapters.ts';
import { writeMarker } from './queue-owner.ts';
import { LEADS_WAIT, type RedisFailure, redisFailure } from './redis-failure.ts';
import { RedisLink } from './redis-link.ts';
import { RunningAttempts } from './running-attempts.ts';

/** How this process uses the queues of a ledger. Processes with the same Redis and `prefix` share the queues. */
export interface BullmqOptions {
  readonly redis: RedisPlace;
  /** Prefix of every key. Differs between ledgers, so that two installations can share a Redis. */
  readonly prefix: string;
  /** The installation's prefix and the id of its ledger, to record in Redis; see `writeMarker`. */
  readonly marker?: { readonly prefix: string; readonly ledger: string };
  /** Makes an attempt. Undefined if other processes make the attempts (`run --no-deliver`). */
  readonly attempt: AttemptBatch | undefined;
  readonly clock: Clock;
  readonly onState: (state: CarrierState) => void;
}

/** The state of Redis. The carrier reports every change. */
export type CarrierState =
  | { readonly kind: 'connected' }
  | { readonly kind: 'disconnected'; readonly reason: string; readonly hint: string }
  | { readonly kind: 'warning'; readonly reason: string; readonly hint: string };

/** Maximum time for workers and queues to close, in ms. */
const CLOSE_MS = 1_000;

/**
 * Carries batches through BullMQ, with one queue per sink, so that no sink delays another. The ledger owns retries, pauses and dead
 * letters. A job stands for one attempt and is deleted when the attempt ends, so flushing Redis loses nothing.
 */
export class BullmqCarrier implements Carrier {
  readonly kind = 'bullmq';
  readonly workers: BullmqWorkers | undefined;
  readonly #options: BullmqOptions;
  readonly #link: RedisLink;
  readonly #queues = new Map<string, Queue<JobData>>();
  /** The sinks to open queues for. */
  #sinks: readonly CarriedSink[] = [];
  readonly #clock: Clock;
  #adapters: Promise<QueueAdapters> | undefined;

  constructor(options: BullmqOptions) {
    const { redis, prefix, clock, attempt } = options;
    this.#options = options;
    this.#clock = clock;
    this.#link = new RedisLink({
      redis,
      key: `${prefix}:takes-writes`,
      clock,
      prepare: () => this.#openQueues(),
      onUsable: () => this.#usable(),
      onUnusable: (failure) => this.#unusable(failure),
    });
    if (!attempt) return;
    this.workers = new BullmqWorkers(new RunningAttempts(attempt, clock), { redis, prefix });
  }

  async serve(sinks: readonly CarriedSink[], restarted: readonly string[] = []): Promise<void> {
    this.#sinks = sinks;
    this.workers?.serve(sinks, restarted);
    const names = new Set(sinks.map(({ name }) => name));
    for (const [name, queue] of [...this.#queues]) {
      if (names.has(name)) continue;
      this.#queues.delete(name);
      void retire(queue).catch(() => undefined); // may never resolve while Redis is unavailable, and nothing depends on it
    }
    if (this.unready()) return; // `prepare` opens the missing queues once Redis is available
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
      // BullMQ ignores a job whose id the queue already has.
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
    // These never resolve while Redis is unavailable, hence the time limit.
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
    // If this fails, the marker is written when Redis becomes available again.
    if (marker) void writeMarker(this.#link.client, marker.prefix, marker.ledger).catch(() => undefined);
  }

  #unusable({ code, reason, hint, refused }: RedisFailure): void {
    // Keep the workers after a lost connection, because they reconnect by themselves, and in a full Redis, because they free memory by
    // taking jobs.
    if (refused && code !== 'OOM') this.workers?.release();
    this.#options.onState({ kind: 'disconnected', reason, hint });
  }

  /** Opens missing queues. The connection must be ready: a queue that is created earlier fails permanently. */
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
      // Some Redis services do not allow CONFIG GET, which does not matter.
    }
  }

  #openQueue(name: string, prefix: string): Queue<JobData> {
    const queue = new Queue<JobData>(name, {
      connection: this.#link.client,
      prefix,
      skipVersionCheck: true, // it would write to the console; `#warnOfEviction` reports the eviction policy
      streams: { events: { maxLen: 100 } }, // leadsync does not read the events
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    });
    queue.on('error', () => undefined); // the link reports the error
    return queue;
  }
}

/**
 * Deletes the waiting jobs of a sink that is no longer served, and closes its queue. If another process still serves the sink, the batches
 * are offered to that process again.
 */
async function retire(queue: Queue<JobData>): Promise<void> {
  try {
    await queue.drain(true);
  } finally {
    await queue.close();
  }
}

/** Returns the id of a job. The id contains no text from outside, because such text could equal a name that BullMQ uses itself. */
function jobId(batch: string, lease: number): string {
  return `${batch}-${lease}`;
}

function evictionWarning(policy: string): CarrierState {
  return {
    kind: 'warning',
    reason: `Redis may evict jobs: its maxmemory-policy is ${policy}.`,
    hint: 'Set it to noeviction. leadsync offers evicted jobs again, but late.',
  };
}
