import type { Attempted, Judge, Judgement, Verdict } from '../leads/judge.ts';
import type { Refused, Unavailable } from '../leads/outcome.ts';
import { HEALTHY, REFUSALS_BEFORE_HOLD, type SinkHealth } from '../leads/sink-health.ts';
import type { Random } from '../platform/clock.ts';
import { backOffMs, type RetryPolicy, retryWaitMs } from './retry-policy.ts';

/** So many attempts in a row that find a destination unavailable hold the sink. */
export const FAILURES_BEFORE_HOLD = 3;

const FIRST_PROBE_MS = 5_000;
const LAST_PROBE_MS = 60_000;
/** A destination may ask for a wait of at most this long. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/**
 * Decides what the outcomes of an attempt mean for each lead and for the sink (a circuit breaker):
 * a refused lead is dead at once, alone; an unavailable destination moves its leads along their retry schedule only
 * while others get through, and otherwise the sink is held and nobody's attempts are used up. A sink that refuses lead
 * after lead is held as well; those leads are owed again, and from then on a refusal moves each along its schedule.
 */
export function judgeBy(policyOf: (sink: string) => RetryPolicy, random: Random): Judge {
  return (sink, health, attempted, now) => {
    const after = nextHealth(health, attempted, now, random);
    const holding = after.heldSince !== undefined || after.pausedSince !== undefined;
    const refusing = holding && after.refusals >= REFUSALS_BEFORE_HOLD;
    const verdicts = attempted.map((one): Verdict => {
      if (one.outcome.kind === 'delivered') return settled('delivered', one, undefined);
      if (one.outcome.kind === 'untried') return untried(one, now);
      if (one.outcome.kind === 'refused') {
        if (refusing) return waiting(one, after, now);
        return isNews(one)
          ? settled('dead', one, one.outcome.reason)
          : counted(one, one.outcome, policyOf(sink), now, random);
      }
      if (holding) return waiting(one, after, now);
      return othersGotThrough(after, one) || isOfErasedAlone(one)
        ? counted(one, one.outcome, policyOf(sink), now, random)
        : soonAgain(one, one.outcome, policyOf(sink), now, random);
    });
    const newlyRefusing = refusing && health.refusals < REFUSALS_BEFORE_HOLD;
    return {
      health: after,
      verdicts,
      reviveSince: newlyRefusing ? after.refusingSince : undefined,
    } satisfies Judgement;
  };
}

function nextHealth(health: SinkHealth, all: readonly Attempted[], now: Date, random: Random): SinkHealth {
  // While a sink is held they are its probes, and say at least that it is not known to work.
  const attempted = health.heldSince ? all : all.filter((one) => !isOfErasedAlone(one));
  if (attempted.length === 0) return health;
  const outcomes = attempted.map((one) => one.outcome);
  const unavailable = outcomes.filter((outcome) => outcome.kind === 'unavailable');
  const gotThrough = outcomes.some((outcome) => outcome.kind === 'delivered');
  const gone = attempted.filter((one) => !one.ofErased).find(isGone)?.outcome;
  const next = gotThrough
    ? { ...health, failures: 0, refusals: 0, refusingSince: undefined, lastDeliveredAt: now }
    : withRefusals(health, attempted, now);
  if (gone) return { ...next, pausedSince: health.pausedSince ?? now, pausedReason: gone.reason };
  // What was under way when the sink was held says nothing about whether it has recovered since.
  if (health.heldSince && health.probeAt && now < health.probeAt)
    return { ...next, ...lateRetryAfter(health, unavailable, now) };
  if (gotThrough) return unavailable.some(asksToWait) ? held(next, unavailable, now, random) : released(next);
  if (next.refusals >= REFUSALS_BEFORE_HOLD) return held(next, outcomes, now, random);
  if (unavailable.length > 0) return afterFailure(next, unavailable, now, random);
  // An answer, even a refusal, shows that the destination is there again.
  return { ...released(next), failures: 0 };
}

/**
 * The endpoint answers, and cannot take the word that a lead is erased: an error, or "not found", of one that does not know it. That
 * says nothing of leads, which must not wait for it.
 */
function isOfErasedAlone({ ofErased, outcome }: Attempted): boolean {
  return (
    ofErased && outcome.kind === 'unavailable' && outcome.httpStatus !== undefined && !asksToWait(outcome)
  );
}

function isGone(one: Attempted): one is Attempted & { outcome: Unavailable } {
  return one.outcome.kind === 'unavailable' && one.outcome.gone === true;
}

/**
 * Counts the leads whose refusal may be the endpoint's fault. Somebody who retries what is still wrong must not hold the sink
 * up, nor must an endpoint that takes leads and does not know what an erased one is.
 */
function withRefusals(health: SinkHealth, attempted: readonly Attempted[], now: Date): SinkHealth {
  const telling = attempted.filter(
    (one) => one.outcome.kind === 'refused' && isNews(one) && !one.retried && !one.ofErased,
  );
  if (telling.length === 0) return health;
  const refusals = health.refusals + telling.length;
  return { ...health, refusals, refusingSince: health.refusingSince ?? now };
}

function afterFailure(
  health: SinkHealth,
  unavailable: readonly Unavailable[],
  now: Date,
  random: Random,
): SinkHealth {
  const next = { ...health, failures: health.failures + 1 };
  const hold = health.heldSince || next.failures >= FAILURES_BEFORE_HOLD || unavailable.some(asksToWait);
  return hold ? held(next, unavailable, now, random) : next;
}

/**
 * The refusal of a lead that was never refused before. One that was, and is owed again because its sink refused
 * everything, says nothing about the sink, or a few bad leads would hold it again and again; nor is it dead at once, for
 * a sink may refuse everything twice.
 */
function isNews(one: Attempted): boolean {
  return one.refusedAt === undefined;
}

/** Whether the destination took another lead while this one waited: then what failed is more likely this lead. */
function othersGotThrough({ lastDeliveredAt }: SinkHealth, one: Attempted): boolean {
  return lastDeliveredAt !== undefined && lastDeliveredAt >= one.waitingSince;
}

function held(
  health: SinkHealth,
  outcomes: readonly Attempted['outcome'][],
  now: Date,
  random: Random,
): SinkHealth {
  const probes = health.heldSince ? health.probes + 1 : 0;
  const asked = outcomes.map((outcome) => ('retryAfterMs' in outcome ? (outcome.retryAfterMs ?? 0) : 0));
  const wait = Math.max(
    backOffMs(probes, FIRST_PROBE_MS, LAST_PROBE_MS, random),
    limited(Math.max(0, ...asked)),
  );
  const failed = outcomes.find((outcome) => outcome.kind === 'refused' || outcome.kind === 'unavailable');
  const heldReason =
    failed?.kind === 'refused'
      ? `It refuses every lead, so the fault is its own: ${failed.reason} What it answers: \`leadsync trace LEAD --show-data\`.`
      : failed?.reason;
  return {
    ...health,
    heldSince: health.heldSince ?? now,
    heldReason,
    probeAt: new Date(now.getTime() + wait),
    probes,
  };
}

function released(health: SinkHealth): SinkHealth {
  const { heldSince, heldReason, probeAt, probes } = HEALTHY;
  return { ...health, heldSince, heldReason, probeAt, probes };
}

function lateRetryAfter(
  health: SinkHealth,
  unavailable: readonly Unavailable[],
  now: Date,
): Partial<SinkHealth> {
  const asked = limited(Math.max(0, ...unavailable.map((outcome) => outcome.retryAfterMs ?? 0)));
  const probeAt = new Date(Math.max(now.getTime() + asked, health.probeAt?.getTime() ?? 0));
  return { probeAt };
}

function asksToWait(outcome: Unavailable): boolean {
  return (outcome.retryAfterMs ?? 0) > 0;
}

function limited(ms: number): number {
  return Math.min(ms, LONGEST_RETRY_AFTER_MS);
}

function settled(state: 'delivered' | 'dead', one: Attempted, reason: string | undefined): Verdict {
  return { state, attempts: one.attempts + 1, nextAttemptAt: undefined, reason };
}

/** Waits with its sink; the attempt does not count. Due when the next probe is, behind those that wait longer. */
function waiting(one: Attempted, after: SinkHealth, now: Date): Verdict {
  const reason = 'reason' in one.outcome ? one.outcome.reason : undefined;
  return { state: 'pending', attempts: one.attempts, nextAttemptAt: after.probeAt ?? now, reason };
}

/** Due before those that were tried, so that the next attempt is not made with the same leads that were refused. */
function untried({ attempts }: Attempted, now: Date): Verdict {
  return { state: 'pending', attempts, nextAttemptAt: now, reason: undefined };
}

/** Nobody got through either, so the attempt does not count; a few more like it, and the sink is held. */
function soonAgain(
  one: Attempted,
  outcome: Unavailable,
  policy: RetryPolicy,
  now: Date,
  random: Random,
): Verdict {
  const first = Math.min(policy.scheduleMs[0] ?? FIRST_PROBE_MS, LAST_PROBE_MS);
  const wait = backOffMs(0, first, first, random);
  return {
    state: 'pending',
    attempts: one.attempts,
    nextAttemptAt: new Date(now.getTime() + wait),
    reason: outcome.reason,
  };
}

/** One step along the retry schedule; dead when it is used up. */
function counted(
  one: Attempted,
  outcome: Unavailable | Refused,
  policy: RetryPolicy,
  now: Date,
  random: Random,
): Verdict {
  const attempts = one.attempts + 1;
  const wait = retryWaitMs(policy, attempts, random);
  if (wait === undefined) {
    return {
      state: 'dead',
      attempts,
      nextAttemptAt: undefined,
      reason: `Given up after ${attempts} attempts: ${outcome.reason}`,
    };
  }
  return {
    state: 'pending',
    attempts,
    nextAttemptAt: new Date(now.getTime() + wait),
    reason: outcome.reason,
  };
}
