import type { BatchRef } from '../leads/delivery.ts';
import { BullmqWorker, type BullmqWorkerOptions } from './bullmq-worker.ts';
import type { CarriedSink, Pulse, Workers } from './carrier.ts';
import type { RunningAttempts } from './running-attempts.ts';

/** The workers of this process, one for each sink. There are none while Redis refuses whatever they ask. */
export class BullmqWorkers implements Workers {
  #sinks: readonly CarriedSink[] = [];
  readonly #running: RunningAttempts;
  readonly #parts: Omit<BullmqWorkerOptions, 'sink' | 'start'>;
  readonly #workers = new Map<string, BullmqWorker>();
  #stopped = false;

  constructor(running: RunningAttempts, parts: Omit<BullmqWorkerOptions, 'sink' | 'start'>) {
    this.#running = running;
    this.#parts = parts;
  }

  /** From now on there are workers for these sinks alone, new ones for those in `anew`; `open` opens what is missing. */
  serve(sinks: readonly CarriedSink[], anew: readonly string[]): void {
    this.#sinks = sinks;
    const kept = new Set(sinks.map(({ name }) => name)).difference(new Set(anew));
    for (const name of [...this.#workers.keys()]) if (!kept.has(name)) this.#release(name);
  }

  /** Opens those that are missing. */
  open(): void {
    if (this.#stopped) return;
    for (const sink of this.#sinks) if (!this.#workers.has(sink.name)) this.#open(sink);
  }

  /** Lets all of them go: asking a Redis that refuses, they would ask again and again without a pause. */
  release(): void {
    for (const sink of this.#sinks) this.#release(sink.name);
  }

  /** The leases of the attempts that are under way. */
  attempting(): readonly number[] {
    return this.#running.leases();
  }

  pulse(name: string): Pulse {
    const { begun, underWay } = this.#running.of(name);
    const concurrency = this.#sinks.find((sink) => sink.name === name)?.concurrency ?? 0;
    return { begun, room: underWay < concurrency };
  }

  replace(name: string): void {
    this.#release(name);
    this.open();
  }

  /** Lets attempts under way end for up to `graceMs`, then aborts them; opens no worker any more. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    for (const worker of this.#workers.values()) worker.pause();
    await this.#running.stop(graceMs);
  }

  /** May never resolve while Redis is away. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#workers.values()].map((worker) => worker.close()));
  }

  #open(sink: CarriedSink): void {
    const start = (ref: BatchRef) => this.#running.start(ref);
    this.#workers.set(sink.name, new BullmqWorker({ ...this.#parts, sink, start }));
  }

  #release(name: string): void {
    const worker = this.#workers.get(name);
    this.#workers.delete(name);
    // Neither waited for nor told: it may never end, and nothing depends on it. What it still does is harmless, for the
    // ledger begins each lease once.
    void worker?.close().catch(() => undefined);
  }
}
