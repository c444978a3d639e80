import type { Batch, BatchRef } from '../../leads/delivery.ts';
import type { Verdict } from '../../leads/judge.ts';
import type { Outcome } from '../../leads/outcome.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { ClaimRequest, ClaimResult } from './claim.ts';

/** An attempt that has ended. */
export interface Attempt {
  /** One per delivery of the batch, in order. */
  readonly outcomes: readonly Outcome[];
  readonly startedAt: Date;
  readonly durationMs: number;
}

/** An attempt that has begun. */
export interface BegunAttempt {
  readonly batch: Batch;
  /** From then on, by the wall clock, the batch may be offered again. */
  readonly leasedUntil: Date;
}

/** What settling an attempt did. */
export interface Settlement {
  /** The sink's name by now. */
  readonly sink: string;
  /** One per delivery, in order. */
  readonly verdicts: readonly Verdict[];
  readonly before: SinkHealth;
  readonly after: SinkHealth;
  /** Refused deliveries that are owed again because the fault was the endpoint's. */
  readonly revived: number;
}

/** What dispatch and attempts ask: to claim what is due, to begin, and to settle. */
export interface LedgerDelivering {
  /** Takes due deliveries into stored batches under a lease, and renews the lease of batches whose attempt was lost. */
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /** Batches of the sink under a lease whose attempt has not begun: offering them again harms nothing. */
  unbegunBatches(sink: string): Promise<readonly BatchRef[]>;
  /** How many batches of a sink are on their way, and whether more could be claimed at this moment. */
  activity(sink: string): Promise<{ readonly inFlight: number; readonly due: boolean }>;
  /**
   * Starts the one attempt that a lease allows, and gives the batch to attempt; from here the lease lasts `leaseMs`.
   * Undefined when the lease is no longer current, has been used, or everything in the batch is settled: then there is
   * nothing to do. Undefined as well when the sink was paused or held meanwhile: then the batch waits with the others.
   */
  begin(ref: BatchRef, leaseMs: number): Promise<BegunAttempt | undefined>;
  /**
   * Records what an attempt came to. Fenced: undefined, and nothing recorded, when the lease is no longer current.
   * Many batches share one commit.
   */
  settle(ref: BatchRef, attempt: Attempt): Promise<Settlement | undefined>;
  /**
   * Gives back the lease of an attempt that was cut off before anything was known of its outcome: the batch is due at
   * once, as the same batch, and the attempt does not count as lost. Fenced: false when the lease is not this process's.
   * `mayHaveArrived`: whether any of it may have reached the destination.
   */
  release(ref: BatchRef, mayHaveArrived: boolean): Promise<boolean>;
  /** The processes whose attempts are under way, by the names under which they opened the ledger. */
  holders(): Promise<readonly string[]>;
  /** Ends the leases of a process that is known to be dead, so that its batches are due at once. Gives how many. */
  reclaimLeases(holder: string): Promise<number>;
}
