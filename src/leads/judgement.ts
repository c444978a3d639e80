import type { DeliveryState } from './delivery.ts';
import type { Outcome } from './outcome.ts';
import type { SinkHealth } from './sink-health.ts';

/** What the ledger knows about a delivery at the end of an attempt. */
export interface AttemptedDelivery {
  /** Number of counted attempts before this one. */
  readonly attempts: number;
  /** Number of failures that did not count, although the sink was not held, because the sink was probably at fault. */
  readonly excused: number;
  /** When the previous attempt began, or when the delivery was owed if there was no previous attempt. */
  readonly waitingSince: Date;
  /** When this attempt began: the current time minus its duration, because the wall clock may have been set since then. */
  readonly startedAt: Date;
  /** When the delivery was first refused; undefined if it never was. */
  readonly refusedAt: Date | undefined;
  /** Whether an operator retried the delivery after a refusal. */
  readonly retried: boolean;
  /** Whether this is an erasure notice, which not every destination accepts. */
  readonly ofErased: boolean;
  readonly outcome: Outcome;
}

/** The new state of one delivery. */
export interface Verdict {
  /** `skipped` if the sink's mapping left the lead out. */
  readonly state: DeliveryState;
  /** Number of counted attempts, including this one if it counts. */
  readonly attempts: number;
  /** Number of failures that did not count although the sink was not held, including this failure if it did not count. */
  readonly excused: number;
  /** Set if the state is `pending`. */
  readonly nextAttemptAt: Date | undefined;
  readonly reason: string | undefined;
}

/** What an attempt means for its deliveries and for its sink. */
export interface Judgement {
  readonly health: SinkHealth;
  /** One verdict for each delivery, in order. */
  readonly verdicts: readonly Verdict[];
  /** Refused deliveries that became dead at or after this time become pending again, because the destination was at fault. */
  readonly reviveSince: Date | undefined;
}

/** Judges the outcomes of an attempt. A pure function: the ledger calls it inside the transaction that settles the attempt. */
export type Judge = (
  sink: string,
  health: SinkHealth,
  attempted: readonly AttemptedDelivery[],
  now: Date,
) => Judgement;
