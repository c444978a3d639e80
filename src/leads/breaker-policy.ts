/** When a circuit breaker holds its sink, and how long it waits between probes: the options that an operator can set. */
export interface BreakerPolicy {
  /** Share of the last `JUDGED_BATCHES` batches that must fail for the sink to be held. */
  readonly failureRate: number;
  /** Number of failed batches in a row that hold the sink, unless a lead was delivered in the last five seconds. */
  readonly consecutiveFailures: number;
  /** Maximum wait between two probes, unless the destination asks for more, in ms, before jitter. */
  readonly maxProbeWaitMs: number;
}

/**
 * The policy of a sink that sets none. A destination that fails half of its batches at random reaches this failure rate about once in 5,000 batches;
 * one that fails 30% practically never does.
 */
export const DEFAULT_BREAKER: BreakerPolicy = {
  failureRate: 0.9,
  consecutiveFailures: 5,
  maxProbeWaitMs: 60_000,
};

/** Number of last batches to which `failureRate` applies. */
export const JUDGED_BATCHES = 20;

/** Returns how many of the last `JUDGED_BATCHES` batches must fail for the sink to be held. */
export function failuresToHold({ failureRate }: BreakerPolicy): number {
  return Math.max(1, Math.ceil(failureRate * JUDGED_BATCHES - 1e-9)); // a rounding error in the product must not add a batch
}

/**
 * The lowest limit on concurrent batches, and the limit after a successful probe if there is none yet. Each answered batch raises the
 * limit by one, so each full round of batches doubles the limit.
 */
export const MIN_CONCURRENT_BATCHES = 2;
