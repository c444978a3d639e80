/**
 * What became of one delivery in one attempt, and whose fault it is when it failed.
 * `reason` is one plain sentence without any of the lead's text: it is logged. `answer` is what the
 * destination said (at most 1,000 characters): it may repeat the lead, so it is kept in the ledger and never logged.
 */
export type Outcome = Delivered | Refused | Unavailable | Untried;

/** The destination has taken the lead. */
export interface Delivered {
  readonly kind: 'delivered';
  readonly httpStatus?: number | undefined;
}

/** The destination works and does not want this lead: trying again would change nothing. */
export interface Refused {
  readonly kind: 'refused';
  readonly reason: string;
  readonly httpStatus?: number | undefined;
  readonly answer?: string | undefined;
}

/** The destination, or the way to it, does not work: the lead waits. */
export interface Unavailable {
  readonly kind: 'unavailable';
  readonly reason: string;
  readonly httpStatus?: number | undefined;
  readonly answer?: string | undefined;
  /** What the destination asked for (Retry-After), in ms from now. Already read, not yet limited. */
  readonly retryAfterMs?: number | undefined;
  /** The destination says it is gone for good (410): the sink is paused until somebody resumes it. */
  readonly gone?: boolean | undefined;
  /** Nothing of the lead left leadsync: there was no connection to send it over. */
  readonly unsent?: boolean | undefined;
}

/**
 * Nobody asked for this lead alone, because the destination refused every lead before it, or the time was up: the lead waits
 * for its turn.
 */
export interface Untried {
  readonly kind: 'untried';
  /** It was in a part that was refused as a whole: those that are marked so are attempted next, by themselves. */
  readonly apart?: boolean | undefined;
}

/** A gateway or a CDN answers for the destination with these: it does not know what the destination did with the request. */
const UNKNOWN_TO_THE_GATEWAY: ReadonlySet<number> = new Set([502, 504, 520, 524]);

/**
 * Whether the lead may have arrived although the attempt failed: it was sent and nobody answered, or a gateway answered for the
 * destination. Any other answer says that the destination did not take the lead.
 */
export function mayHaveArrived(outcome: Outcome): boolean {
  if (outcome.kind !== 'unavailable') return outcome.kind === 'delivered';
  if (outcome.unsent) return false;
  return outcome.httpStatus === undefined || UNKNOWN_TO_THE_GATEWAY.has(outcome.httpStatus);
}
