/**
 * The outcome of one delivery in one attempt, and whether the lead or the destination was at fault. `reason` is one plain sentence without
 * text from the lead, and is logged. `answer` is the destination's answer (maximum 1,000 characters). It may repeat the lead, so it is
 * stored in the ledger but never logged.
 */
export type Outcome = Delivered | Refused | Unavailable | Untried | LeftOut;

/** The destination acknowledged the lead. */
export interface Delivered {
  readonly kind: 'delivered';
  readonly httpStatus?: number | undefined;
  /** The record or message that the lead became at the destination, if the destination reports it. */
  readonly ref?: DestinationRecord | undefined;
  /**
   * What an operator should know although the lead was delivered, in one plain sentence without text from the lead, such as which of its values the
   * destination did not accept. Undefined if there is nothing.
   */
  readonly remark?: string | undefined;
  /** Undefined unless the sink is configured to store the answers of delivered leads. */
  readonly answer?: string | undefined;
}

/** What a lead became at its destination: a CRM record or a message. Contains no personal data. */
export interface DestinationRecord {
  /** The kind of record in the destination's own words: `message`, `deal`. */
  readonly object: string;
  /** Its id at the destination. */
  readonly id: string;
  /** The address at which a person can open it. */
  readonly url?: string | undefined;
}

/** The destination works, but does not accept this lead. A retry would not help. */
export interface Refused {
  readonly kind: 'refused';
  readonly reason: string;
  readonly httpStatus?: number | undefined;
  readonly answer?: string | undefined;
  /** Whether leadsync itself refused the lead because its mapping failed. The destination then never saw it. */
  readonly unsent?: boolean | undefined;
}

/** The destination, or the connection to it, does not work. The lead waits. */
export interface Unavailable {
  readonly kind: 'unavailable';
  readonly reason: string;
  readonly httpStatus?: number | undefined;
  readonly answer?: string | undefined;
  /** The wait that the destination asked for (Retry-After), in ms from now, before leadsync limits it. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the destination answered that it is gone for good (410). The sink is then paused until an operator resumes it. */
  readonly gone?: boolean | undefined;
  /** Whether there was no connection, in which case leadsync sent no part of the lead. */
  readonly unsent?: boolean | undefined;
  /** Whether the destination may have the lead, if the sink can tell; otherwise it follows from `unsent` and `httpStatus`. */
  readonly mayHaveArrived?: boolean | undefined;
}

/**
 * leadsync did not try this lead, because the destination had refused every lead tried before, or because the time was up. It may have
 * tried the lead in a part of the batch that was refused as a whole. The lead waits for the next attempt.
 */
export interface Untried {
  readonly kind: 'untried';
  /**
   * Whether the lead was in a part of the batch that was refused as a whole. The next attempt contains only leads that are marked in this
   * way.
   */
  readonly apart?: boolean | undefined;
  /** Whether that part may have arrived although it failed, because the destination does not accept a part atomically. */
  readonly mayHaveArrived?: boolean | undefined;
}

/** The sink's mapping left the lead out. The delivery is skipped. */
export interface LeftOut {
  readonly kind: 'left-out';
  readonly reason: string;
}

/** The beginning of the reason for a delivery that its sink's mapping left out. */
export const LEFT_OUT = 'left out by `where`';

/** Maximum number of characters of a destination's answer to store. */
const MAX_ANSWER = 1_000;

/** Returns the beginning of a destination's answer, as an outcome has it: at most 1,000 characters, without half a surrogate pair at its end. */
export function storedAnswer(text: string | undefined): string | undefined {
  return text?.slice(0, MAX_ANSWER).toWellFormed();
}

/** Statuses with which a gateway or CDN answers for a destination without knowing what the destination did with the request. */
const UNKNOWN_TO_THE_GATEWAY: ReadonlySet<number> = new Set([502, 504, 520, 524]);

/**
 * Whether the destination may have the lead: the lead was delivered, it was sent but not answered, a gateway answered for the
 * destination, or the sink says so. Any other answer means that the destination did not accept the lead.
 */
export function mayHaveArrived(outcome: Outcome): boolean {
  if (outcome.kind === 'untried') return outcome.mayHaveArrived === true;
  if (outcome.kind !== 'unavailable') return outcome.kind === 'delivered';
  if (outcome.unsent) return false;
  if (outcome.mayHaveArrived !== undefined) return outcome.mayHaveArrived;
  return outcome.httpStatus === undefined || UNKNOWN_TO_THE_GATEWAY.has(outcome.httpStatus);
}

/**
 * Whether a request may have carried the lead, in which case the destination may know the delivery's id and content. An untried lead may have been in
 * a part that was refused as a whole.
 */
export function mayHaveBeenSent(outcome: Outcome): boolean {
  if (outcome.kind === 'left-out') return false;
  return !('unsent' in outcome && outcome.unsent);
}

/** The classes of HTTP statuses by which attempts are counted. `none`: the destination gave no HTTP answer, or does not speak HTTP. */
export const STATUS_CLASSES = ['2xx', '3xx', '4xx', '5xx', 'none'] as const;

/** One of `STATUS_CLASSES`. */
export type StatusClass = (typeof STATUS_CLASSES)[number];

/** Returns the number of attempted leads by class of the HTTP status that answered them. Leads that were not tried or left out do not count. */
export function countStatusClasses(outcomes: readonly Outcome[]): Readonly<Record<StatusClass, number>> {
  const counts = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, none: 0 };
  for (const outcome of outcomes)
    if (outcome.kind !== 'untried' && outcome.kind !== 'left-out') counts[classOf(outcome.httpStatus)] += 1;
  return counts;
}

function classOf(httpStatus: number | undefined): StatusClass {
  return STATUS_CLASSES.find((name) => name === `${Math.trunc((httpStatus ?? 0) / 100)}xx`) ?? 'none';
}
