/**
 * The outcome of one delivery in one attempt, and whether the lead or the destination was at fault. `reason` is one plain sentence
 * without text of the lead, and is logged. `answer` is what the destination answered (maximum 1,000 characters). It may repeat the
 * lead, so it is stored in the ledger and never logged.
 */
export type Outcome = Delivered | Refused | Unavailable | Untried;

/** The destination acknowledged the lead. */
export interface Delivered {
  readonly kind: 'delivered';
  readonly httpStatus?: number | undefined;
}

/** The destination works and does not accept this lead. A retry would not help. */
export interface Refused {
  readonly kind: 'refused';
  readonly reason: string;
  readonly httpStatus?: number | undefined;
  readonly answer?: string | undefined;
}

/** The destination, or the connection to it, does not work: the lead waits. */
export interface Unavailable {
  readonly kind: 'unavailable';
  readonly reason: string;
  readonly httpStatus?: number | undefined;
  readonly answer?: string | undefined;
  /** The wait that the destination asked for (Retry-After), in ms from now. Not limited yet. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the destination says that it is gone for good (410). The sink is then paused until an operator resumes it. */
  readonly gone?: boolean | undefined;
  /** Whether leadsync sent nothing of the lead, because there was no connection. */
  readonly unsent?: boolean | undefined;
}

/**
 * leadsync did not try this lead alone, because the destination refused every lead before it or the time was up. The lead waits for the
 * next attempt.
 */
export interface Untried {
  readonly kind: 'untried';
  /** Whether the lead was in a part that was refused as a whole. The next attempt contains only leads that are marked so. */
  readonly apart?: boolean | undefined;
}

/** Statuses by which a gateway or CDN answers for a destination, without knowing what the destination did with the request. */
const UNKNOWN_TO_THE_GATEWAY: ReadonlySet<number> = new Set([502, 504, 520, 524]);

/**
 * Whether the destination may have the lead: it was delivered, it was sent and not answered, or a gateway answered for the destination.
 * Any other answer means that the destination did not accept it.
 */
export function mayHaveArrived(outcome: Outcome): boolean {
  if (outcome.kind !== 'unavailable') return outcome.kind === 'delivered';
  if (outcome.unsent) return false;
  return outcome.httpStatus === undefined || UNKNOWN_TO_THE_GATEWAY.has(outcome.httpStatus);
}
