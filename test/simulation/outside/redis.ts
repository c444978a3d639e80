import {
  type AttemptBatch,
  type CarriedSink,
  type Carrier,
  CarrierUnavailable,
  type Workers,
} from '../../../src/delivery/carrier.ts';
import { RunningAttempts } from '../../../src/delivery/running-attempts.ts';
import type { BatchRef } from '../../../src/leads/delivery.ts';
import type { Clock } from '../../../src/platform/time/clock.ts';
import type { Chance } from '../chance.ts';
import type { Life } from '../life.ts';

interface Job {
  readonly key: string;
  readonly ref: BatchRef;
  /** The earliest time at which a worker can take it, in ms. */
  readonly fromMs: number;
  /** The process that runs it. */
  life: Life | undefined;
}

/** Time after which a job whose worker does not renew its lock goes to another worker, in ms. */
const STALLED_MS = 7_500;
const NOBODY = new AbortController().signal;

/** Redis with BullMQ's jobs, as measured on a real one: at least once while Redis is up, and no further promise. */
export class SimulatedRedis {
  readonly #clock: Clock;
  readonly #chance: Chance;
  readonly #jobs = new Map<string, Job>();
  readonly #listeners = new Set<() => void>();
  #delayMs = 0;
  /** Whether jobs that are added now run twice. */
  isTwofold = false;
  isDown = false;

  constructor(clock: Clock, chance: Chance) {
    this.#clock = clock;
    this.#chance = chance;
  }

  /** Adds jobs, one by one; a job that exists is not added again. @throws if Redis goes down; some jobs may be added by then */
  async add(refs: readonly BatchRef[]): Promise<void> {
    for (const ref of refs) {
      await this.#clock.sleep(this.#chance.oneIn(4) ? this.#chance.below(30) : 0, NOBODY);
      if (this.isDown) throw new CarrierUnavailable('Redis cannot be reached.', '');
      if (ref.replaces !== undefined) this.#remove(`${ref.batch}-${ref.replaces}`);
      const key = `${ref.batch}-${ref.lease}`;
      if (this.#jobs.has(key)) continue;
      this.#put(key, ref);
      if (this.isTwofold) this.#put(`${key}-${this.#chance.hex()}`, ref);
    }
  }

  /** Takes the next job of a sink that no process runs. */
  take(sink: string, life: Life): Job | undefined {
    if (this.isDown) return undefined;
    const nowMs = this.#clock.monotonicMs();
    for (const job of this.#jobs.values()) {
      if (job.ref.sink !== sink || job.life !== undefined || job.fromMs > nowMs) continue;
      job.life = life;
      return job;
    }
    return undefined;
  }

  /** Removes a job that has ended. */
  end(job: Job): void {
    if (!this.isDown && this.#jobs.get(job.key) === job) this.#jobs.delete(job.key);
  }

  onNews(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Lets another process run what this one ran, once its locks have ended. */
  async stall(life: Life): Promise<void> {
    await this.#clock.sleep(STALLED_MS, NOBODY);
    if (life.isRunning) return;
    for (const job of this.#jobs.values()) if (job.life === life) job.life = undefined;
    this.#tell();
  }

  flush(): void {
    this.#jobs.clear();
  }

  /** Loses some jobs, as after an eviction or a restart from an old file. */
  lose(): void {
    for (const key of this.#jobs.keys()) if (this.#chance.oneIn(2)) this.#jobs.delete(key);
  }

  /** Duplicates every job. */
  duplicate(): void {
    for (const { ref } of [...this.#jobs.values()])
      this.#put(`${ref.batch}-${ref.lease}-${this.#chance.hex()}`, ref);
  }

  setDown(isDown: boolean): void {
    this.isDown = isDown;
    this.#tell();
  }

  /** Sets the maximum delay, in ms, until a worker gets a job that is added from now on. */
  setDelay(ms: number): void {
    this.#delayMs = ms;
  }

  heal(): void {
    this.#delayMs = 0;
    this.isTwofold = false;
    this.setDown(false);
  }

  #put(key: string, ref: BatchRef): void {
    const waitMs = 1 + (this.#delayMs > 0 ? this.#chance.below(this.#delayMs) : this.#chance.below(3));
    this.#jobs.set(key, { key, ref, fromMs: this.#clock.monotonicMs() + waitMs, life: undefined });
    void this.#clock.sleep(waitMs, NOBODY).then(() => this.#tell());
  }

  #remove(key: string): void {
    if (this.#jobs.get(key)?.life === undefined) this.#jobs.delete(key);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The carrier over this Redis, for one process; with `attempt`, it also delivers. */
export class RedisCarrier implements Carrier {
  readonly kind = 'bullmq';
  readonly #redis: SimulatedRedis;
  readonly #life: Life;
  #sinks: readonly CarriedSink[] = [];
  readonly #running: RunningAttempts | undefined;
  readonly #underWay = new Map<string, number>();
  readonly #forget: () => void;
  /** Sinks whose worker takes no jobs although it lives. */
  readonly #silent = new Set<string>();
  readonly workers: Workers | undefined;
  readonly attempting = () => this.#running?.leases() ?? [];
  #wasDown: boolean;
  #isClosing = false;

  constructor(parts: {
    redis: SimulatedRedis;
    life: Life;
    attempt: AttemptBatch | undefined;
    clock: Clock;
    onReady: () => void;
  }) {
    this.#redis = parts.redis;
    this.#life = parts.life;
    this.#running = parts.attempt && new RunningAttempts(parts.attempt, parts.clock);
    this.workers = this.#running && this.#watched(this.#running);
    this.#wasDown = this.#redis.isDown;
    this.#forget = this.#redis.onNews(() => {
      this.#life.hand(() => {
        if (this.#wasDown && !this.#redis.isDown) parts.onReady();
        this.#wasDown = this.#redis.isDown;
        this.pump();
      });
    });
  }

  async serve(sinks: readonly CarriedSink[]): Promise<void> {
    this.#sinks = sinks;
  }

  offer(refs: readonly BatchRef[]): Promise<void> {
    return this.#life.act(() => this.#redis.add(refs));
  }

  unready(): string | undefined {
    return this.#redis.isDown ? 'Redis cannot be reached.' : undefined;
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#forget();
    await this.#running?.stop(graceMs);
  }

  /** Makes the workers fall silent, or work again. */
  setSilent(isSilent: boolean): void {
    for (const { name } of this.#sinks) isSilent ? this.#silent.add(name) : this.#silent.delete(name);
    this.pump();
  }

  /** Takes jobs while there is room. */
  pump(): void {
    if (!this.#running || this.#life.isDead || this.#isClosing) return;
    for (const { name, concurrency } of this.#sinks) {
      while (!this.#silent.has(name) && (this.#underWay.get(name) ?? 0) < concurrency) {
        const job = this.#redis.take(name, this.#life);
        if (!job) break;
        this.#count(name, 1);
        void this.#life
          .act(() => this.#running?.start(job.ref) ?? Promise.resolve())
          .then(() => {
            this.#count(name, -1);
            this.#redis.end(job);
            this.pump();
          });
      }
    }
  }

  #watched(running: RunningAttempts): Workers {
    return {
      pulse: (sink) => {
        const { begun, underWay } = running.of(sink);
        return { begun, room: underWay < (this.#sinks.find(({ name }) => name === sink)?.concurrency ?? 0) };
      },
      replace: (sink) => {
        this.#silent.delete(sink);
        this.pump();
      },
    };
  }

  #count(sink: string, more: number): void {
    this.#underWay.set(sink, (this.#underWay.get(sink) ?? 0) + more);
  }
}
