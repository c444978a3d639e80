import type { DeliveryState } from './delivery.ts';
import type { Outcome } from './outcome.ts';
import type { SinkHealth } from './sink-health.ts';

/** What the ledger knows of a delivery when its attempt ends. */
export interface AttemptedDelivery {
  /** Attempts that were counted before this one. */
  readonly attempts: number;
  /** Failures that used up no attempt although the sink was not held: the sink was the likelier cause. */
  readonly excused: number;
  /** Since when it has waited for this attempt: its last one, or when it was owed. */
  readonly waitingSince: Date;
  /** When this attempt began, by the present wall clock. */
  readonly startedAt: Date;
  /** When this delivery was first refused, if ever. */
  readonly refusedAt: Date | undefined;
  /** Somebody asked for it once more although it had been refused. */
  readonly retried: boolean;
  /** It tells that a lead was erased, which not every destination knows. */
  readonly ofErased: boolean;
  readonly outcome: Outcome;
}

/** What becomes of one delivery. */
export interface Verdict {
  readonly state: Exclude<DeliveryState, 'skipped'>;
  /** Attempts used up, this one included when it counts. */
  readonly attempts: number;
  /** Failures that used up no attempt although the sink was not held, this one included. */
  readonly excused: number;
  /** Set for `pending`. */
  readonly nextAttemptAt: Date | undefined;
  readonly reason: string | undefined;
}

/** What an attempt means for its leads and for its sink. */
export interface Judgement {
  readonly health: SinkHealth;
  /** One per delivery, in order. */
  readonly verdicts: readonly Verdict[];
  /** Refused deliveries that died since this moment are owed again: the fault was the endpoint's. */
  readonly reviveSince: Date | undefined;
}

/** Decides what an attempt's outcomes mean. Pure; the ledger runs it inside the settling transaction. */
export type Judge = (
  sink: string,
  health: SinkHealth,
  attempted: readonly AttemptedDelivery[],
  now: Date,
) => Judgement;
