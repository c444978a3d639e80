/** Work of which one process at a time does each piece for the whole installation. The part after the colon is a source or a sink. */
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

/** All duties, for as long as the process runs: those of the process that holds the data directory, and of its workers, which need none. */
export const everyDuty: Duties = { take: async (_, signal) => (signal.aborted ? undefined : NEVER_LOST) };
