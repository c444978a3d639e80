import type { BatchRef } from '../leads/delivery.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { AttemptBatch, Carrier } from './carrier.ts';
import { RunningAttempts } from './running-attempts.ts';

/** Attempts batches in this process, as soon as they are offered. */
export class InProcessCarrier implements Carrier {
  readonly kind = 'in-process';
  readonly #running: RunningAttempts;

  constructor(attempt: AttemptBatch, clock: Clock) {
    this.#running = new RunningAttempts(attempt, clock);
  }

  async offer(refs: readonly BatchRef[]): Promise<void> {
    for (const ref of refs) void this.#running.start(ref);
  }

  /** Does nothing: every offered batch is attempted immediately. */
  async serve(): Promise<void> {}

  attempting(): readonly number[] {
    return this.#running.leases();
  }

  unready(): string | undefined {
    return undefined;
  }

  close(graceMs: number): Promise<void> {
    return this.#running.stop(graceMs);
  }
}
