import type { Outcome } from '../../leads/outcome.ts';
import type { Percentiles, Speed } from './page-rows.ts';

/**
 * Why a sink received no leads. `held`: the circuit breaker was open. `paused`: an operator paused the sink, or the destination is permanently
 * gone.
 */
export type HoldKind = 'held' | 'paused';

/** The period of a sink's activity to return. The sums are divided into parts of `stepMs` ms, which is a multiple of ten minutes. */
export interface ActivityRequest {
  readonly now: Date;
  readonly periodMs: number;
  readonly stepMs: number;
}

/** What a sink did in a period, what it is owed, and its last attempts. Contains no lead content. */
export interface SinkActivity {
  /** When the period begins: up to ten minutes later than requested, because each stored sum covers ten minutes. */
  readonly since: Date;
  /** Start of the first ten minutes of which the ledger has sums; undefined if it has none. Older attempts are not counted. */
  readonly countedFrom: Date | undefined;
  readonly total: AttemptTotals;
  /** How fast leads that were first seen in the period were delivered. */
  readonly speed: Speed;
  /** Attempts by outcome and HTTP status, most frequent first. */
  readonly outcomes: readonly {
    readonly outcome: Outcome['kind'];
    readonly httpStatus: number | undefined;
    readonly attempts: number;
  }[];
  /** Failed attempts by reason, most frequent first. `reason` is undefined for the attempts whose reasons are not counted separately. */
  readonly errors: readonly { readonly reason: string | undefined; readonly attempts: number }[];
  /** The parts of the period, oldest first, without gaps. */
  readonly series: readonly (AttemptTotals & { readonly from: Date })[];
  /** The last holds and pauses, newest first. */
  readonly holds: readonly Hold[];
  /** The pending deliveries by age, youngest first. */
  readonly backlog: readonly AgeGroup[];
  /** Dead deliveries, and pending ones that failed, by reason, most frequent first. */
  readonly reasons: readonly ReasonGroup[];
  /** Whether there are more dead or failed deliveries than were read for `reasons`. */
  readonly hasMoreReasons: boolean;
  /** The last attempts, newest first. */
  readonly recent: readonly SinkAttempt[];
  /** The last attempts that failed, newest first, however many succeeded since. */
  readonly recentFailed: readonly SinkAttempt[];
}

/** Attempts by outcome, and how long batches took. `duration` is accurate to 5%, and undefined if there were no batches. */
export interface AttemptTotals {
  readonly delivered: number;
  readonly refused: number;
  readonly unavailable: number;
  readonly duration: Percentiles | undefined;
}

/** The attempts of one sink in a period. */
export interface SinkTotals {
  readonly sink: string;
  readonly total: AttemptTotals;
}

/** A hold or a pause, or several that followed each other within a minute. */
export interface Hold {
  readonly kind: HoldKind;
  readonly since: Date;
  /** Undefined while the hold or pause lasts. */
  readonly until: Date | undefined;
  readonly times: number;
  readonly reason: string | undefined;
}

/** The pending deliveries that were owed at least `fromMs` and less than `toMs` ago. */
export interface AgeGroup {
  readonly fromMs: number;
  /** Undefined for the oldest group. */
  readonly toMs: number | undefined;
  readonly deliveries: number;
  /** Whether the group may have more deliveries than `deliveries`: counting stops at 50,000. */
  readonly isAtLeast: boolean;
}

/** Deliveries in one state for one reason. */
export interface ReasonGroup {
  readonly state: 'dead' | 'pending';
  readonly reason: string;
  readonly deliveries: number;
}

/** Deliveries of all sinks in one state for one reason, and of each sink, with the most deliveries first. */
export interface FailureReason extends ReasonGroup {
  readonly sinks: readonly { readonly sink: string; readonly deliveries: number }[];
}

/** Dead deliveries of all sinks, and pending ones that failed, by reason, most frequent first. */
export interface FailureReasons {
  readonly reasons: readonly FailureReason[];
  /** The number of deliveries that were read and have other reasons. */
  readonly others: number;
  /** Whether all such deliveries were read. Otherwise, the newest dead ones of each sink were, and the pending ones that are retried first. */
  readonly isComplete: boolean;
}

/** An attempt of a delivery, or several in a row that failed in the same way. */
export interface SinkAttempt {
  readonly delivery: string;
  readonly source: string;
  readonly lead: string;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly outcome: Outcome['kind'];
  readonly httpStatus: number | undefined;
  readonly error: string | undefined;
  /** Whether the ledger has the destination's answer. */
  readonly hasAnswer: boolean;
  readonly times: number;
  /** When the last of several attempts began. */
  readonly lastAt: Date | undefined;
}
