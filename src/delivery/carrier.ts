import type { BaseAdapter } from '@bull-board/api/baseAdapter';
import type { BatchRef } from '../leads/delivery.ts';

/** Makes the one attempt of a batch and settles it in the ledger before it resolves. Never rejects: it reports what fails. */
export type AttemptBatch = (ref: BatchRef, signal: AbortSignal) => Promise<void>;

/** A sink as far as a carrier has to know it. */
export interface CarriedSink {
  readonly name: string;
  /** How many of its batches may be attempted at once. */
  readonly concurrency: number;
}

/** How batches travel to where they are attempted. */
export interface Carrier {
  readonly kind: 'in-process' | 'bullmq';
  /** What takes batches off a queue in this process; undefined where nothing does, or where there is no queue. */
  readonly workers?: Workers | undefined;
  /** Its queues as Bull Board shows them, read-only; absent where there are none. */
  readonly boardQueues?: () => Promise<readonly BaseAdapter[]>;
  /**
   * Takes batches on their way. Resolves when the carrier has them; a throw means "unknown", never "not taken".
   * Offering what is on its way already changes nothing. @throws CarrierUnavailable
   */
  offer(refs: readonly BatchRef[]): Promise<void>;
  /**
   * From now on carries for these sinks, and for no others. Those in `anew` begin anew. What is under way goes on, and
   * takes no place from what comes.
   */
  serve(sinks: readonly CarriedSink[], anew?: readonly string[]): Promise<void>;
  /** The leases of the attempts that are under way in this process, of all sinks. */
  attempting(): readonly number[];
  /** Undefined when batches can travel now, else why not. */
  unready(): string | undefined;
  /** Lets attempts under way end for up to `graceMs`, then aborts them. Resolves soon after, whatever happens. */
  close(graceMs: number): Promise<void>;
}

/** What takes batches off a queue. It may fall silent without an error, so whoever knows what waits has to watch it. */
export interface Workers {
  pulse(sink: string): Pulse;
  /** Puts a new worker, with a new connection, in the place of a sink's present one, which is not waited for. */
  replace(sink: string): void;
}

/** A sign of life of one sink's worker. */
export interface Pulse {
  /** How many attempts of the sink this process has begun since it started. */
  readonly begun: number;
  /** Whether another could begin now: not as many are under way as may be. */
  readonly room: boolean;
}

/** The carrier cannot take batches now. */
export class CarrierUnavailable extends Error {
  override readonly name = 'CarrierUnavailable';
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.hint = hint;
  }
}
