import type { BatchRef } from '../../leads/delivery.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';

/** The arguments of `claim`. */
export interface ClaimRequest {
  readonly sink: string;
  /** Maximum number of batches of the sink in flight, including those that were in flight before this claim. */
  readonly window: number;
  /** Maximum number of batches that this claim returns; absent: as many as the window allows. */
  readonly most?: number | undefined;
  /** Maximum number of deliveries per batch. */
  readonly max: number;
  /** How long deliveries wait for their batch to fill, in ms. If 0, every batch is closed immediately. */
  readonly waitMs: number;
  /** How long a batch may wait for its attempt to begin, in ms. */
  readonly leaseMs: number;
  /**
   * Set if this process attempts the batches immediately. The claim then also begins the attempts in the same commit, and their leases last
   * this many ms. The caller still calls `begin`, which then returns the batch from memory.
   */
  readonly beginForMs?: number | undefined;
  /**
   * The leases of the attempts that this process is making. `claim` extends those that have expired, for example because the clock
   * was set, so that no batch is offered again while it is being attempted.
   */
  readonly activeLeases?: ActiveLeases | undefined;
}

/** The leases in use. If one of them has expired, `claim` extends it until `leaseMs` ms from now. */
export interface ActiveLeases {
  readonly leases: readonly number[];
  readonly leaseMs: number;
}

/** The batches that `claim` leased. */
export interface ClaimResult {
  /** The batches to offer to the carrier: first the batches whose lease had expired, then new batches. */
  readonly refs: readonly BatchRef[];
  /**
   * How long after this claim the next due time, probe or lease expiry comes, in ms: a span, because the ledger and the caller may have
   * different clocks. Undefined if only a new delivery or an operator can cause another batch.
   */
  readonly nextInMs: number | undefined;
  /** The health of the sink; undefined if the sink is unknown or no longer configured. */
  readonly health?: SinkHealth | undefined;
}
