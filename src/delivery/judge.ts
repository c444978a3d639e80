import type { AttemptedDelivery, Judge, Judgement, Verdict } from '../leads/judgement.ts';
import type { Refused, Unavailable } from '../leads/outcome.ts';
import { REFUSALS_BEFORE_HOLD, type SinkHealth } from '../leads/sink-health.ts';
import type { Random } from '../platform/time/clock.ts';
import { isErasedOnly, isExplainedByRate, nextHealth } from './circuit-breaker.ts';
import { backOffMs, type RetryPolicy, retryWaitMs, type SinkPolicy } from './retry-policy.ts';

/** Wait after a failure while no lead is delivered, in ms, if the retry schedule is empty. Otherwise, the wait is the first one of the schedule. */
const SOON_MS = 5_000;
/** Maximum wait after a failure while no lead is delivered, in ms, before jitter. */
const LATEST_SOON_MS = 60_000;
/** Wait after a failure that the sink's failure rate explains, in ms, before jitter. Shorter if the first wait of the retry schedule is shorter. */
export const EXCUSED_WAIT_MS = 1_000;

/** What determines the time of the next attempt. */
interface Waits {
  readonly policy: RetryPolicy;
  readonly now: Date;
  readonly random: Random;
}

/**
 * Returns the judge, which decides what the outcomes of an attempt mean for each lead and for the sink (a circuit breaker).
 *
 * A refused lead is dead immediately; this does not affect other leads. If the destination is unavailable, a lead moves along its retry
 * schedule only while other leads are delivered and the sink's failure rate does not explain the failure. While the sink is held, attempts
 * do not count. A sink that refuses lead after lead is held too: the refused leads are owed again, and each later refusal moves its lead
 * along the retry schedule.
 */
export function judgeBy(policyOf: (sink: string) => SinkPolicy, random: Random): Judge {
  return (sink, health, attempted, now) => {
    const policy = policyOf(sink);
    const after = nextHealth(health, attempted, now, random, policy.breaker);
    const waits = { policy, now, random };
    const refusing = isHeldBack(after) && after.refusals >= REFUSALS_BEFORE_HOLD;
    const newlyRefusing = refusing && health.refusals < REFUSALS_BEFORE_HOLD;
    return {
      health: after,
      verdicts: attempted.map((one) => verdictOn(one, after, refusing, waits)),
      reviveSince: newlyRefusing ? after.refusingSince : undefined,
    } satisfies Judgement;
  };
}

function verdictOn(one: AttemptedDelivery, after: SinkHealth, refusing: boolean, waits: Waits): Verdict {
  const { outcome } = one;
  switch (outcome.kind) {
    case 'delivered':
      return settled('delivered', one, outcome.remark);
    case 'left-out':
      return { ...pending(one, waits.now, outcome.reason), state: 'skipped', nextAttemptAt: undefined };
    case 'untried':
      // Due before the leads that were tried, so that the next batch does not contain the same refused leads.
      return pending(one, waits.now, undefined);
    case 'refused':
      if (refusing || (outcome.unsent && isHeldBack(after))) return waiting(one, after, waits.now);
      return isNews(one) ? settled('dead', one, outcome.reason) : counted(one, outcome, waits);
    case 'unavailable':
      if (isHeldBack(after)) return waiting(one, after, waits.now);
      return unavailable(one, outcome, after, waits);
  }
}

function unavailable(one: AttemptedDelivery, outcome: Unavailable, after: SinkHealth, waits: Waits): Verdict {
  if (isErasedOnly(one)) return counted(one, outcome, waits);
  if (!othersGotThrough(after, one)) return soonAgain(one, outcome, waits);
  const failures = one.attempts + one.excused + 1;
  return waits.policy.scheduleMs.length > 0 && isExplainedByRate(after, failures)
    ? excused(one, outcome, waits)
    : counted(one, outcome, waits);
}

function isHeldBack({ heldSince, pausedSince }: SinkHealth): boolean {
  return heldSince !== undefined || pausedSince !== undefined;
}

/**
 * Whether a lead is refused for the first time. A lead that is owed again because its sink refused everything may be refused a second
 * time. The second refusal must not hold the sink, or a few bad leads would hold it repeatedly. It does not make the lead dead immediately
 * either, because a sink may refuse everything twice.
 */
function isNews(one: AttemptedDelivery): boolean {
  return one.refusedAt === undefined;
}

/** Whether the destination accepted another lead while this lead waited, which shows that the destination is not down. */
function othersGotThrough({ lastDeliveredAt }: SinkHealth, one: AttemptedDelivery): boolean {
  return lastDeliveredAt !== undefined && lastDeliveredAt >= one.waitingSince;
}

function settled(
  state: 'delivered' | 'dead',
  { attempts, excused }: AttemptedDelivery,
  reason: string | undefined,
): Verdict {
  return { state, attempts: attempts + 1, excused, nextAttemptAt: undefined, reason };
}

/** Returns the verdict that the delivery is pending and the attempt does not count. */
function pending(
  { attempts, excused }: AttemptedDelivery,
  nextAttemptAt: Date,
  reason: string | undefined,
): Verdict {
  return { state: 'pending', attempts, excused, nextAttemptAt, reason };
}

/**
 * Returns the verdict that the delivery waits for its sink. The delivery is due with the next probe, after deliveries that have waited
 * longer.
 */
function waiting(one: AttemptedDelivery, after: SinkHealth, now: Date): Verdict {
  return pending(one, after.probeAt ?? now, 'reason' in one.outcome ? one.outcome.reason : undefined);
}

/** Returns the verdict for a failure while no lead is delivered: the attempt does not count. A few more such failures hold the sink. */
function soonAgain(one: AttemptedDelivery, { reason }: Unavailable, { policy, now, random }: Waits): Verdict {
  const first = Math.min(policy.scheduleMs[0] ?? SOON_MS, LATEST_SOON_MS);
  return excusedOnce(one, after(now, backOffMs(0, first, first, random)), reason);
}

/** Returns the verdict for a failure that the sink's failure rate explains: try again almost immediately. */
function excused(one: AttemptedDelivery, { reason }: Unavailable, { policy, now, random }: Waits): Verdict {
  const wait = Math.min(policy.scheduleMs[0] ?? EXCUSED_WAIT_MS, EXCUSED_WAIT_MS);
  return excusedOnce(one, after(now, backOffMs(0, wait, wait, random)), reason);
}

/** Returns the verdict with one more excused failure of the lead, so that the sink's failure rate can leave out the lead's own failures. */
function excusedOnce(one: AttemptedDelivery, nextAttemptAt: Date, reason: string): Verdict {
  return { ...pending(one, nextAttemptAt, reason), excused: one.excused + 1 };
}

/** Returns the verdict for a counted failure: one step along the retry schedule, and dead at its end. */
function counted(
  one: AttemptedDelivery,
  outcome: Unavailable | Refused,
  { policy, now, random }: Waits,
): Verdict {
  const attempts = one.attempts + 1;
  const wait = retryWaitMs(policy, attempts, random);
  if (wait === undefined)
    return settled('dead', one, `Given up after ${attempts} attempts: ${outcome.reason}`);
  return { ...pending(one, after(now, wait), outcome.reason), attempts };
}

function after(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms);
}
