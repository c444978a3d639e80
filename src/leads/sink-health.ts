import type { Quota } from './quota.ts';

/** Number of leads refused in a row, with none delivered in between, after which a sink is held. */
export const REFUSALS_BEFORE_HOLD = 5;

/** The beginning of the reason for a hold that was caused by the sink's mapping and not by its destination. */
export const MAPPING_FAILS = 'The mapping fails for lead after lead';

/** The health of a sink. The ledger stores it, so every process that delivers shares it. */
export interface SinkHealth {
  /**
   * The last batches that were attempted while the sink was not held, oldest first: `+` if the destination answered, `-` if it was
   * unavailable. Limited in length.
   */
  readonly recent: string;
  /** Number of leads refused in a row since a lead was last delivered. */
  readonly refusals: number;
  /** When the first of these leads was refused. */
  readonly refusingSince: Date | undefined;
  /** Set while the sink is held. Leads then wait, and leadsync sends one probe at a time. */
  readonly heldSince: Date | undefined;
  readonly heldReason: string | undefined;
  /** The HTTP status of the answer to which `heldReason` belongs; undefined if there was no answer. */
  readonly heldStatus?: number | undefined;
  /** When the next probe is due. Set while the sink is held. */
  readonly probeAt: Date | undefined;
  /** Number of failed probes since the sink was held. The wait between probes grows with this number. */
  readonly probes: number;
  /**
   * Maximum concurrent batches. Set while the sink recovers from a hold, and while it is held because the destination asked for a pause. In
   * the second case, the sink later recovers with this limit.
   */
  readonly places: number | undefined;
  readonly lastDeliveredAt: Date | undefined;
  /** Set while the sink is paused, by an operator or because its destination is gone. */
  readonly pausedSince: Date | undefined;
  readonly pausedReason: string | undefined;
  /** When an operator last resumed or probed the sink, or changed its address. The failure of an attempt that began earlier does not count. */
  readonly renewedAt?: Date | undefined;
  /** The daily limit of the destination, according to its last answer; undefined if there is none or the destination does not report it. */
  readonly quota?: Quota | undefined;
}

/** The health of a sink before its first attempt, and after a resume. */
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

/** What a pending delivery waits for, even if it is due, by the state of a sink that receives nothing. */
export const WAIT_REASONS = {
  paused: 'waits until its sink is resumed',
  held: 'waits until its sink works again',
  disabled: 'waits until its sink is enabled',
  orphaned: 'waits until its sink is in the configuration again',
} as const;
