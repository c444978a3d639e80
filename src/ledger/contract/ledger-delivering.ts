import type { Batch, BatchRef } from '../../leads/delivery.ts';
import type { Verdict } from '../../leads/judgement.ts';
import type { Outcome } from '../../leads/outcome.ts';
import type { Quota } from '../../leads/quota.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { Stopwatch } from '../../platform/time/stopwatch.ts';
import type { ClaimRequest, ClaimResult } from './claim.ts';

/** An attempt that has ended. */
export interface Attempt {
  /** One outcome for each delivery of the batch, in order. */
  readonly outcomes: readonly Outcome[];
  readonly startedAt: Date;
  readonly durationMs: number;
  /** The daily limit of the destination after the attempt; undefined if the sink does not know it. */
  readonly quota?: Quota | undefined;
}

/** A batch whose attempt has begun. */
export interface BegunAttempt {
  readonly batch: Batch;
  /**
   * How long the lease lasts, in ms since `sinceLease` was started: a span, because the ledger and the caller may have different clocks. After
   * that, the ledger may offer the batch again.
   */
  readonly leasedForMs: number;
  readonly sinceLease: Stopwatch;
}

/** What `settle` recorded. */
export interface Settlement {
  /** The present name of the sink, which may have been renamed since the claim. */
  readonly sink: string;
  /** One verdict for each delivery, in order. */
  readonly verdicts: readonly Verdict[];
  /** The health of the sink before and after the attempt. */
  readonly before: SinkHealth;
  readonly after: SinkHealth;
  /** The number of dead deliveries that became pending again because the destination, not the leads, was at fault. */
  readonly revived: number;
}

/** The methods that dispatch and attempts call: claim, begin, settle. */
export interface LedgerDelivering {
  /** Leases due deliveries as batches. Also gives a new lease to batches whose leases have expired. */
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /** Returns those leased batches of a sink whose attempts have not begun. The caller may offer them to the carrier again. */
  unbegunBatches(sink: string): Promise<readonly BatchRef[]>;
  /**
   * Returns the number of a sink's batches in flight, and whether other deliveries are due. `due` does not depend on whether the window has
   * room for another batch, but is false while the sink is paused, held or not configured.
   */
  workOf(sink: string): Promise<{ readonly inFlight: number; readonly due: boolean }>;
  /**
   * Begins the one attempt that a lease allows, and returns the batch. The lease then lasts `leaseMs`. Returns undefined if there is
   * nothing to attempt: the lease is no longer current or was used before, all deliveries of the batch are settled, or the sink was paused
   * or held in the meantime. In the last case, the batch stays pending.
   */
  begin(ref: BatchRef, leaseMs: number): Promise<BegunAttempt | undefined>;
  /**
   * Records the outcomes of an attempt. Fenced: if the lease is no longer current, records nothing and returns undefined. Concurrent calls
   * share one commit.
   */
  settle(ref: BatchRef, attempt: Attempt): Promise<Settlement | undefined>;
  /**
   * Gives up the lease of an attempt that was cut off before its outcome was known. The same batch is then due immediately, and the attempt
   * does not count as lost. Fenced: returns false if this process does not hold the lease.
   * @param mayHaveArrived whether any lead of the batch may have reached the destination, even if the destination did not accept it: the
   * next attempt must then send the same content under the same id
   */
  release(ref: BatchRef, mayHaveArrived: boolean): Promise<boolean>;
  /**
   * Returns the processes that have begun attempts and not settled them, by the `holder` names under which they opened the ledger. Some of
   * them may be dead.
   */
  holders(): Promise<readonly string[]>;
  /** Ends the leases of a process that is known to be dead, so that its batches are due immediately. Returns how many leases it ended. */
  reclaimLeases(holder: string): Promise<number>;
}
