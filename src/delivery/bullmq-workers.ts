import type { BatchRef } from '../leads/delivery.ts';
import { BullmqWorker, type BullmqWorkerOptions } from './bullmq-worker.ts';
import type { CarriedSink, Pulse, Workers } from './carrier.ts';
import type { RunningAttempts } from './running-attempts.ts';

/**
 * The workers of this process, one for each sink. There are none while Redis refuses commands, unless the reason is that its memory is
 * full.
 */
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

  /** Releases the workers of sinks that are not in `sinks`, and of those in `restarted`. `open` then opens the missing workers. */
  serve(sinks: readonly CarriedSink[], restarted: readonly string[]): void {
    this.#sinks = sinks;
    const kept = new Set(sinks.map(({ name }) => name)).difference(new Set(restarted));
    for (const name of [...this.#workers.keys()]) if (!kept.has(name)) this.#release(name);
  }

  /** Opens the missing workers. */
  open(): void {
    if (this.#stopped) return;
    for (const sink of this.#sinks) if (!this.#workers.has(sink.name)) this.#open(sink);
  }

  /** Releases all workers: while Redis refuses commands, they would retry without a pause. */
  release(): void {
    for (const sink of this.#sinks) this.#release(sink.name);
  }

  /** Returns the leases of the running attempts. */
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

  /** Waits up to `graceMs` for running attempts, then aborts them. Opens no more workers. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    for (const worker of this.#workers.values()) worker.pause();
    await this.#running.stop(graceMs);
  }

  /** Closes the workers. May never resolve while Redis is unavailable. */
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
    // Not awaited: it may never resolve, and nothing depends on it. A job that the worker still takes does no harm, because the
    // ledger begins each lease once.
    void worker?.close().catch(() => undefined);
  }
}
