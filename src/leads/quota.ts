/** How much of a destination's daily limit is used, according to its last answer. Includes use by other programs with the same account. */
export interface Quota {
  /** What the destination counts, in its own words: `API requests`, `tokens`. */
  readonly unit: string;
  readonly used: number;
  readonly limit: number;
  /** When the destination reported this. */
  readonly readAt: Date;
}

/** How much of a destination's daily limit new leads use. */
export interface LeadCost {
  /** What the destination counts, as in `Quota`. */
  readonly unit: string;
  /** Approximate use by up to `leads` new leads that are delivered together. */
  readonly amount: number;
  readonly leads: number;
  /** The daily limit, if the configuration states it. */
  readonly limit?: number | undefined;
}
