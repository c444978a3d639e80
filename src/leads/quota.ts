/**
 * How much of a destination's daily limit is used, as the destination last said: by leadsync and by every other program that uses the same
 * account.
 */
export interface Quota {
  /** What the destination counts, in its own words: `API requests`, `tokens`. */
  readonly unit: string;
  readonly used: number;
  readonly limit: number;
  /** When the destination said so. */
  readonly readAt: Date;
}

/** What new leads cost of a destination's daily limit. */
export interface LeadCost {
  /** What the destination counts, as in `Quota`. */
  readonly unit: string;
  /** What up to `leads` new leads cost that are delivered at once, approximately. */
  readonly amount: number;
  readonly leads: number;
  /** The daily limit, if the configuration states it. */
  readonly limit?: number | undefined;
}
