/** A piece of work for the whole installation, done by one process at a time. The part after the colon is the name of a source or a sink. */
export type Duty =
  /** Reads the listings of a source and records them. */
  | `poll:${string}`
  /** Claims the deliveries of a sink and offers them to the carrier, and owes the sink its backfill. */
  | `dispatch:${string}`
  /** Updates the mirror of a sink. */
  | `mirror:${string}`
  /** Makes exports and backups when they are due. */
  | 'exports'
  /** Evaluates the alert conditions, and sends notices and heartbeats. */
  | 'alerts'
  /** Reclaims leases of dead processes, finishes replays, applies retention, and does the other work on the ledger as a whole. */
  | 'upkeep';

/** Which duties this process holds. */
export interface Duties {
  /**
   * Waits until this process holds the duty. Returns a signal that aborts when the process loses the duty. Returns undefined if `signal`
   * aborts first, and never rejects. Several loops may take the same duty; the process holds it for all of them.
   */
  take(duty: Duty, signal: AbortSignal): Promise<AbortSignal | undefined>;
}

const NEVER_LOST = new AbortController().signal;

/** Every duty, held for as long as the process runs. For the process that holds the data directory, and for its workers, which take no duties. */
export const everyDuty: Duties = { take: async (_, signal) => (signal.aborted ? undefined : NEVER_LOST) };
