import type { BatchRef } from '../../leads/delivery.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';

/** What dispatch asks to claim for a sink. */
export interface ClaimRequest {
  readonly sink: string;
  /** At most this many batches of the sink may be on their way at once, those that already are included. */
  readonly window: number;
  /** Deliveries in a batch, at most. */
  readonly max: number;
  /** How long the oldest delivery waits for its batch to fill; 0 takes what there is. */
  readonly waitMs: number;
  /** How long a batch may wait for its attempt to begin. */
  readonly leaseMs: number;
  /**
   * Set when the batches are attempted in this process and at once: their attempts begin in the same commit, and their
   * leases last so long. `begin` is called all the same, and gives what was read already.
   */
  readonly beginForMs?: number | undefined;
  /**
   * The leases of attempts that are under way in this process. Where one is over by the clock, which may have been set, it is
   * prolonged: its batch is not offered again before the attempt has ended.
   */
  readonly activeLeases?: ActiveLeases | undefined;
}

/** Leases, and by how much one of them is prolonged, in ms. */
export interface ActiveLeases {
  readonly leases: readonly number[];
  readonly leaseMs: number;
}

/** What came of it. */
export interface ClaimResult {
  /** Batches to offer to the carrier, in order of age: new ones, and those whose lease has ended. */
  readonly refs: readonly BatchRef[];
  /** When there may be more to claim: the earliest due time, probe or end of a lease. Undefined: only news can tell. */
  readonly nextAt: Date | undefined;
  /** How the sink was doing; absent where it is none that leads are brought to. */
  readonly health?: SinkHealth | undefined;
}
