import type { AttemptedDelivery } from '../leads/judge.ts';
import type { Outcome, Unavailable } from '../leads/outcome.ts';
import { HEALTHY, REFUSALS_BEFORE_HOLD, type SinkHealth } from '../leads/sink-health.ts';
import type { Random } from '../platform/time/clock.ts';
import { backOffMs } from './retry-policy.ts';

/** Attempts that are remembered. Enough to tell a failure rate of 10 % from one of 30 %. */
export const RECENT_ATTEMPTS = 100;
/** A destination is down when, of its last `DOWN_ATTEMPTS` attempts, `DOWN_FAILURES` failed … */
export const DOWN_ATTEMPTS = 20;
/** … so many: one that fails half of the time at random gets there once in 5,000 attempts, one at 30 % practically never. */
export const DOWN_FAILURES = 18;
/** It is down as well when so many attempts in a row failed and nothing got through for `SILENT_MS`. */
export const FAILURES_IN_A_ROW = 5;
/** Keeps a busy and flaky destination from being held for a short streak. In ms. */
export const SILENT_MS = 5_000;
/** The wait between probes doubles only after so many have failed: a flaky destination fails one or two by chance. */
const PROBES_BEFORE_BACK_OFF = 3;
/** So many probes a destination is asked again when it said, which may be a second later each time. */
const PROBES_BELIEVED = 10;
const FIRST_PROBE_MS = 5_000;
/** The longest wait between probes, unless the destination asks for more, in ms. */
const LAST_PROBE_MS = 60_000;
/** Batches on their way at once after the probe that got through. Each that is answered adds one, so a round doubles them. */
export const FIRST_PLACES = 2;
/** So many places a destination is thought to have that asks for a pause while nothing limits it. */
const PAUSED_PLACES = 16;
/** More than any sink has on its way: from here on nothing limits it. */
const MOST_PLACES = 1_000;
/** A destination may ask for a wait of at most this long. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;
/** A lead's failures are explained by its sink unless they are less likely than this at the sink's failure rate. */
const UNLIKELY = 0.001;
/** No lead gets more excuses than this, however bad its sink is. */
export const MOST_EXCUSES = 10;

/** Returns how a sink is doing after an attempt: whether it is held, when it is probed, and how fast it recovers. */
export function nextHealth(
  health: SinkHealth,
  all: readonly AttemptedDelivery[],
  now: Date,
  random: Random,
): SinkHealth {
  // While a sink is held they are its probes, and say at least that it is not known to work.
  const attempted = health.heldSince ? all : all.filter((one) => !isOfErasedAlone(one));
  if (attempted.length === 0) return health;
  const outcomes = attempted.map((one) => one.outcome);
  const unavailable = outcomes.filter((outcome) => outcome.kind === 'unavailable');
  const gotThrough = outcomes.some((outcome) => outcome.kind === 'delivered');
  const gone = attempted.filter((one) => !one.ofErased).find(isGone)?.outcome;
  const next = gotThrough
    ? { ...health, refusals: 0, refusingSince: undefined, lastDeliveredAt: now }
    : withRefusals(health, attempted, now);
  if (gone) return { ...next, pausedSince: health.pausedSince ?? now, pausedReason: gone.reason };
  if (isNoProbe(health, attempted, now)) return { ...next, ...lateRetryAfter(health, unavailable, now) };
  if (gotThrough) return unavailable.some(asksToWait) ? held(next, unavailable, now, random) : answered(next);
  if (next.refusals >= REFUSALS_BEFORE_HOLD) return held(next, outcomes, now, random);
  if (unavailable.length > 0) return failed(next, unavailable, now, random);
  // An answer, even a refusal, shows that the destination is there again.
  return answered(next);
}

/**
 * Returns whether a sink is held and these are not its probe. What was under way when the sink was held says nothing about whether
 * it has recovered since, however long its answer takes.
 */
function isNoProbe(
  { heldSince, probeAt }: SinkHealth,
  attempted: readonly AttemptedDelivery[],
  now: Date,
): boolean {
  if (!heldSince || !probeAt) return false;
  if (now < probeAt) return true;
  // A hold in the future is one of before the clock was set back: nothing can be told from its time.
  return heldSince <= now && attempted.every(({ startedAt }) => startedAt < heldSince);
}

/**
 * Returns whether an erasure notice failed although the endpoint answered: an error, or "not found", of one that does not
 * know the lead. That says nothing about leads, which must not wait for it.
 */
export function isOfErasedAlone({ ofErased, outcome }: AttemptedDelivery): boolean {
  return (
    ofErased && outcome.kind === 'unavailable' && outcome.httpStatus !== undefined && !asksToWait(outcome)
  );
}

/**
 * Returns whether the sink's failure rate explains that a lead has failed `failures` times: at that rate it happens at least
 * once in 1,000. The lead's own failures are taken out of the rate, or a single poison lead would excuse itself.
 */
export function isExplained({ recent }: SinkHealth, failures: number): boolean {
  const others = recent.length - failures;
  const failed = failuresIn(recent) - failures;
  if (failures > MOST_EXCUSES || others <= 0 || failed <= 0) return false;
  return (failed / others) ** failures >= UNLIKELY;
}

function isGone(one: AttemptedDelivery): one is AttemptedDelivery & { outcome: Unavailable } {
  return one.outcome.kind === 'unavailable' && one.outcome.gone === true;
}

/**
 * Counts the leads whose refusal may be the endpoint's fault. Somebody who retries what is still wrong must not hold the sink
 * up, nor must an endpoint that takes leads and does not know what an erased one is.
 */
function withRefusals(health: SinkHealth, attempted: readonly AttemptedDelivery[], now: Date): SinkHealth {
  const telling = attempted.filter(
    ({ outcome, refusedAt, retried, ofErased }) =>
      outcome.kind === 'refused' && refusedAt === undefined && !retried && !ofErased,
  );
  if (telling.length === 0) return health;
  const refusals = health.refusals + telling.length;
  return { ...health, refusals, refusingSince: health.refusingSince ?? now };
}

function failed(
  health: SinkHealth,
  unavailable: readonly Unavailable[],
  now: Date,
  random: Random,
): SinkHealth {
  const next = health.heldSince ? health : { ...health, recent: remembered(health, '-') };
  const hold = health.heldSince || isDown(next, now) || unavailable.some(asksToWait);
  return hold ? held(next, unavailable, now, random) : next;
}

/** Released when it was held, with places for a few or as it was paused with; otherwise one place more while it still recovers. */
function answered(health: SinkHealth): SinkHealth {
  if (health.heldSince) {
    const { heldSince, heldReason, probeAt, probes } = HEALTHY;
    const { places = FIRST_PLACES } = health;
    // What failed before it was found to be down would hold it again at once. One that asked for a pause is still as flaky as before.
    const recent = health.places === undefined ? '+' : remembered(health, '+');
    return { ...health, heldSince, heldReason, probeAt, probes, recent, places };
  }
  const places = health.places === undefined ? undefined : health.places + 1;
  const recovers = places !== undefined && places < MOST_PLACES;
  return { ...health, recent: remembered(health, '+'), places: recovers ? places : undefined };
}

function remembered({ recent }: SinkHealth, outcome: '+' | '-'): string {
  return (recent + outcome).slice(-RECENT_ATTEMPTS);
}

function isDown({ recent, lastDeliveredAt }: SinkHealth, now: Date): boolean {
  if (failuresIn(recent.slice(-DOWN_ATTEMPTS)) >= DOWN_FAILURES) return true;
  // A time ahead is one of before the clock was set back.
  const silentMs = lastDeliveredAt ? Math.abs(now.getTime() - lastDeliveredAt.getTime()) : SILENT_MS;
  return silentMs >= SILENT_MS && recent.endsWith('-'.repeat(FAILURES_IN_A_ROW));
}

function failuresIn(recent: string): number {
  return recent.split('-').length - 1;
}

/**
 * Held until the next probe. A destination that names a wait is believed until many probes in a row have failed, and keeps half of
 * its places unless it is down as well.
 */
function held(health: SinkHealth, outcomes: readonly Outcome[], now: Date, random: Random): SinkHealth {
  const probes = health.heldSince ? health.probes + 1 : 0;
  const asked = outcomes.map((outcome) => ('retryAfterMs' in outcome ? (outcome.retryAfterMs ?? 0) : 0));
  const askedMs = limited(Math.max(0, ...asked));
  const before = askedMs > 0 ? PROBES_BELIEVED : PROBES_BEFORE_BACK_OFF;
  const isBelieved = askedMs > 0 && probes < before;
  const step = Math.max(0, probes - before + 1);
  const backOff = backOffMs(step, FIRST_PROBE_MS, LAST_PROBE_MS, random);
  const isPause = askedMs > 0 && !health.heldSince && !isDown(health, now);
  return {
    ...health,
    heldSince: health.heldSince ?? now,
    heldReason: reasonOf(outcomes),
    probeAt: new Date(now.getTime() + (isBelieved ? askedMs : Math.max(backOff, askedMs))),
    probes,
    places: isPause ? halved(health.places) : undefined,
  };
}

function halved(places = PAUSED_PLACES): number {
  return Math.max(FIRST_PLACES, Math.floor(places / 2));
}

function reasonOf(outcomes: readonly Outcome[]): string | undefined {
  const failed = outcomes.find((outcome) => outcome.kind === 'refused' || outcome.kind === 'unavailable');
  return failed?.kind === 'refused'
    ? `It refuses every lead, so the fault is its own: ${failed.reason} What it answers: \`leadsync trace LEAD --show-data\`.`
    : failed?.reason;
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
