import type { BaseAdapter } from '@bull-board/api/baseAdapter';
import type { BatchRef } from '../leads/delivery.ts';

/** Makes one attempt of a batch and settles the attempt in the ledger before it resolves. Never rejects, but reports failures as events. */
export type AttemptBatch = (ref: BatchRef, signal: AbortSignal) => Promise<void>;

/** A sink whose batches a carrier carries. */
export interface CarriedSink {
  readonly name: string;
  /** Maximum number of the sink's batches that are attempted at the same time. */
  readonly concurrency: number;
}

/** Carries batches to the process that attempts them. */
export interface Carrier {
  readonly kind: 'in-process' | 'bullmq';
  /** The workers of this process; undefined if it has none, or if there is no queue. */
  readonly workers?: Workers | undefined;
  /** Returns the queues for Bull Board, read-only; absent if there are none. */
  readonly boardQueues?: () => Promise<readonly BaseAdapter[]>;
  /**
   * Accepts batches and resolves when the carrier has them. Offering a batch that the carrier already has changes nothing. @throws
   * CarrierUnavailable; the carrier may still have accepted some or all of the batches
   */
  offer(refs: readonly BatchRef[]): Promise<void>;
  /**
   * Carries batches for these sinks only, from now on. Restarts the workers of the sinks in `restarted`. Running attempts continue, and do
   * not count towards the concurrency of the restarted sinks.
   */
  serve(sinks: readonly CarriedSink[], restarted?: readonly string[]): Promise<void>;
  /** Returns the leases of the running attempts of all sinks in this process. */
  attempting(): readonly number[];
  /** Returns the reason why the carrier cannot accept batches now, or undefined if it can. */
  unready(): string | undefined;
  /** Waits up to `graceMs` for running attempts, then aborts them. Always resolves soon after. */
  close(graceMs: number): Promise<void>;
}

/** Takes batches off queues. A worker may stall without an error, so a caller that knows of waiting batches must watch the worker. */
export interface Workers {
  pulse(sink: string): Pulse;
  /** Replaces a sink's worker with a new worker that has its own connection. Does not wait for the old worker to close. */
  replace(sink: string): void;
}

/** The progress of one sink's worker. */
export interface Pulse {
  /**
   * How many times the worker has taken a batch of the sink since this process started. A batch counts again even if its attempt was already
   * running.
   */
  readonly begun: number;
  /** Whether another attempt could begin now: fewer are running than `concurrency` allows. */
  readonly room: boolean;
}

/** The carrier cannot accept batches now. */
export class CarrierUnavailable extends Error {
  override readonly name = 'CarrierUnavailable';
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.hint = hint;
  }
}
