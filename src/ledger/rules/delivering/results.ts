import { isDeepStrictEqual } from 'node:util';
import type { AttemptedDelivery, Verdict } from '../../../leads/judgement.ts';
import type { Outcome } from '../../../leads/outcome.ts';

/** The outcome of a delivery's attempt, and the verdict on it. */
export interface Result {
  readonly deliveryNo: number;
  readonly outcome: Outcome;
  readonly verdict: Verdict;
  /** The number of attempts that counted before this one. */
  readonly attemptsBefore: number;
}

/**
 * Returns the new value of the column `bound` after an attempt: 1 if a request may have carried the delivery's id, 2 if the sink then refused the
 * lead, so that a later attempt may use another mapping. Returns 0 if the attempt sent nothing; the column then keeps its value.
 */
export function boundBy(outcome: Outcome): 0 | 1 | 2 {
  if (outcome.kind === 'refused') return outcome.unsent ? 0 : 2;
  return outcome.kind === 'unavailable' && outcome.unsent ? 0 : 1;
}

/** Whether the attempt does not count for the delivery, that is, it was a probe or the sink may be unavailable. */
export function isUncounted({ verdict, attemptsBefore }: Result): boolean {
  return verdict.state === 'pending' && verdict.attempts === attemptsBefore;
}

/** Whether one statement can write both results, as it can for a batch that was delivered as a whole. */
export function isLike(one: Result, other: Result): boolean {
  if (isUncounted(one) !== isUncounted(other)) return false;
  if (one.outcome === other.outcome && one.verdict === other.verdict) return true;
  return isDeepStrictEqual(one.outcome, other.outcome) && isDeepStrictEqual(one.verdict, other.verdict);
}

/**
 * Whether a batch is kept after an attempt, and when it is due again, in ms since 1970. It is kept if all of its deliveries that the mapping
 * did not withhold are pending again, so that leadsync later attempts the same batch under a new lease. It ends if the sink tried only part
 * of it, because the refused leads would come first again.
 */
export function keepsBatch(attempted: readonly AttemptedDelivery[], verdicts: readonly Verdict[]) {
  const due = verdicts
    .filter((_, index) => !isWithheld(attempted[index]?.outcome))
    .map((verdict) => (verdict.state === 'pending' ? verdict.nextAttemptAt?.getTime() : undefined));
  const untried = attempted.some(({ outcome }) => outcome.kind === 'untried');
  const times = due.filter((time) => time !== undefined);
  const whole = !untried && due.length > 0 && times.length === due.length;
  return { whole, dueAt: Math.min(...times) };
}

/** Whether the mapping withheld a lead, so that the sink never got it. Such a lead leaves its batch. */
function isWithheld(outcome: Outcome | undefined): boolean {
  return outcome?.kind === 'left-out' || (outcome?.kind === 'refused' && outcome.unsent === true);
}

/** Whether an untried delivery gets a batch of its own. */
export function isApart(outcome: Outcome | undefined): boolean {
  return outcome?.kind === 'untried' && outcome.apart === true;
}
