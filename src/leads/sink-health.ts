/** So many leads in a row that are refused, with none getting through, hold the sink. */
export const REFUSALS_BEFORE_HOLD = 5;

/** How a sink is doing, as the ledger keeps it. Shared by every process that delivers. */
export interface SinkHealth {
  /** The last attempts while it was not held, oldest first: `+` the destination answered, `-` it was unavailable. Bounded. */
  readonly recent: string;
  /** Leads in a row that were refused while none got through, and since when. */
  readonly refusals: number;
  readonly refusingSince: Date | undefined;
  /** Set while the sink is held: leads wait, and one probe at a time goes out. */
  readonly heldSince: Date | undefined;
  readonly heldReason: string | undefined;
  /** When the next probe may go out; set while held. */
  readonly probeAt: Date | undefined;
  /** Probes that failed since the sink was held; the wait between them grows with it. */
  readonly probes: number;
  /**
   * Set while the sink recovers from a hold: at most so many batches may be on their way at once. Also set while it is held because the
   * destination asked for a pause: it recovers with so many.
   */
  readonly places: number | undefined;
  readonly lastDeliveredAt: Date | undefined;
  /** Set while somebody, or a destination that is gone, has paused the sink. */
  readonly pausedSince: Date | undefined;
  readonly pausedReason: string | undefined;
}

/** The health of a sink that was never attempted; also where a resume begins anew. */
export const HEALTHY: SinkHealth = {
  recent: '',
  refusals: 0,
  refusingSince: undefined,
  heldSince: undefined,
  heldReason: undefined,
  probeAt: undefined,
  probes: 0,
  places: undefined,
  lastDeliveredAt: undefined,
  pausedSince: undefined,
  pausedReason: undefined,
};

/** What a delivery waits for while its sink is held back: due or not, it goes nowhere. */
export const HELD_BACK = {
  paused: 'waits until its sink is resumed',
  held: 'waits until its sink works again',
  disabled: 'waits until its sink is enabled',
  orphaned: 'waits until its sink is in the configuration again',
} as const;
