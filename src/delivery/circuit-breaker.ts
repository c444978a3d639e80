import {
  type BreakerPolicy,
  DEFAULT_BREAKER,
  failuresToHold,
  JUDGED_BATCHES,
  MIN_CONCURRENT_BATCHES,
} from '../leads/breaker-policy.ts';
import type { AttemptedDelivery } from '../leads/judgement.ts';
import type { Outcome, Refused, Unavailable } from '../leads/outcome.ts';
import { HEALTHY, MAPPING_FAILS, REFUSALS_BEFORE_HOLD, type SinkHealth } from '../leads/sink-health.ts';
import type { Random } from '../platform/time/clock.ts';
import { backOffMs } from './retry-policy.ts';

/** Number of recent batches to remember: enough to distinguish a failure rate of 10% from one of 30%. */
export const RECENT_BATCHES = 100;
/**
 * Minimum time without a delivered lead, in ms, before consecutive failures hold a sink. Without it, a short streak of failures would hold the sink
 * of a busy, flaky destination.
 */
export const SILENT_MS = 5_000;
/** The wait between probes doubles only after this many failed probes: a flaky destination fails one or two by chance. */
const PROBES_BEFORE_BACK_OFF = 3;
/** Number of probes for which leadsync waits exactly as long as the destination asks. Later waits are at least as long as the back-off. */
const PROBES_BELIEVED = 10;
const FIRST_PROBE_MS = 5_000;
/** Number of concurrent batches assumed for a destination that asks for a pause and has no limit yet; half of it becomes the limit. */
const PAUSED_PLACES = 16;
/** A limit that reaches this number is removed, because no sink may have more batches in flight anyway. */
const MOST_PLACES = 1_000;
/** Maximum Retry-After that leadsync honours, in ms. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;
/** The sink's failure rate explains a lead's failures unless their probability at that rate is below this. */
const UNLIKELY = 0.001;
/** Maximum number of a lead's failures that its sink's failure rate can explain. */
export const MAX_EXCUSES = 10;

/**
 * Returns the health of a sink after a batch was attempted: whether the sink is held, when the next probe is due, and how many batches may be
 * concurrent.
 */
export function nextHealth(
  health: SinkHealth,
  all: readonly AttemptedDelivery[],
  now: Date,
  random: Random,
  policy: BreakerPolicy = DEFAULT_BREAKER,
): SinkHealth {
  const by = { now, random, policy };
  // While a sink is held, erasure notices count too: one of them may be its probe, and a failed probe keeps it held.
  const attempted = all.filter(
    (one) =>
      one.outcome.kind !== 'left-out' &&
      (health.heldSince || !isErasedOnly(one)) &&
      !isOutdated(one, health, now),
  );
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
  if (gotThrough) return unavailable.some(asksToWait) ? held(next, unavailable, by) : answered(next);
  if (next.refusals >= REFUSALS_BEFORE_HOLD) return held(next, outcomes, by);
  if (unavailable.length > 0) return failed(next, unavailable, by);
  // An answer, even a refusal, shows that the destination works again. A lead that leadsync itself refused got no answer.
  if (!outcomes.every(isRefusedUnsent)) return answered(next);
  return next.heldSince ? held(next, [], by) : next;
}

function isRefusedUnsent(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && outcome.unsent === true;
}

/**
 * Whether a sink is held and these deliveries are not its probe. An attempt that began before the hold does not show whether the sink
 * has recovered since, however late it ends.
 */
function isNoProbe(
  { heldSince, probeAt }: SinkHealth,
  attempted: readonly AttemptedDelivery[],
  now: Date,
): boolean {
  if (!heldSince || !probeAt) return false;
  if (now < probeAt) return true;
  // If the hold began in the future, the clock was set back, and the times cannot be compared.
  return heldSince <= now && attempted.every(({ startedAt }) => startedAt < heldSince);
}

/**
 * Whether an erasure notice failed although the endpoint answered, for example with "not found" because it does not know the lead. Such
 * a failure says nothing about other leads and must not delay them.
 */
export function isErasedOnly({ ofErased, outcome }: AttemptedDelivery): boolean {
  return (
    ofErased && outcome.kind === 'unavailable' && outcome.httpStatus !== undefined && !asksToWait(outcome)
  );
}

/**
 * Whether the sink's failure rate explains `failures` failures of one lead: at that rate, their probability is at least 1 in 1,000. The
 * rate excludes the lead's own failures: otherwise a single poison lead would excuse itself.
 */
export function isExplainedByRate({ recent }: SinkHealth, failures: number): boolean {
  const others = recent.length - failures;
  const failed = failuresIn(recent) - failures;
  if (failures > MAX_EXCUSES || others <= 0 || failed <= 0) return false;
  return (failed / others) ** failures >= UNLIKELY;
}

/**
 * Whether an attempt that began before an operator resumed the sink or changed its address has failed or was refused. Its outcome says nothing about
 * the destination as it is now. If `renewedAt` is in the future, the clock was set back, and the two times cannot be compared.
 */
function isOutdated(
  { startedAt, outcome }: AttemptedDelivery,
  { renewedAt }: SinkHealth,
  now: Date,
): boolean {
  return outcome.kind !== 'delivered' && renewedAt !== undefined && renewedAt <= now && startedAt < renewedAt;
}

function isGone(one: AttemptedDelivery): one is AttemptedDelivery & { outcome: Unavailable } {
  return one.outcome.kind === 'unavailable' && one.outcome.gone === true;
}

/**
 * Returns the health with a new count of refusals. Counts only refusals that may be the endpoint's fault: the first refusal of each lead.
 * Does not count the refusal of a lead that an operator retried, because the lead may still be wrong, or of an erasure notice, because an
 * endpoint may accept leads without knowing that event.
 */
function withRefusals(health: SinkHealth, attempted: readonly AttemptedDelivery[], now: Date): SinkHealth {
  const telling = attempted.filter(
    ({ outcome, refusedAt, retried, ofErased }) =>
      outcome.kind === 'refused' && refusedAt === undefined && !retried && !ofErased,
  );
  if (telling.length === 0) return health;
  const refusals = health.refusals + telling.length;
  return { ...health, refusals, refusingSince: earlier(health.refusingSince, now) };
}

/** Returns the earlier time, because the outcome of an attempt may be recorded after those of attempts that count as later. */
function earlier(since: Date | undefined, now: Date): Date {
  return since && since < now ? since : now;
}

/** What the circuit breaker bases its decisions on. */
interface Breaker {
  readonly now: Date;
  readonly random: Random;
  readonly policy: BreakerPolicy;
}

function failed(health: SinkHealth, unavailable: readonly Unavailable[], by: Breaker): SinkHealth {
  const next = health.heldSince ? health : { ...health, recent: remembered(health, '-') };
  const hold = health.heldSince || isDown(next, by) || unavailable.some(asksToWait);
  return hold ? held(next, unavailable, by) : next;
}

/**
 * Returns the health after an answer. An answer to a probe ends the hold and sets a limit on concurrent batches; each later answer raises
 * the limit by one.
 */
function answered(health: SinkHealth): SinkHealth {
  if (health.heldSince) {
    const { heldSince, heldReason, heldStatus, probeAt, probes } = HEALTHY;
    const { places = MIN_CONCURRENT_BATCHES } = health;
    // The failures that led to the hold would cause another one immediately, so forget them. After a pause that the destination asked
    // for, keep them: its failure rate has not changed.
    const recent = health.places === undefined ? '+' : remembered(health, '+');
    return { ...health, heldSince, heldReason, heldStatus, probeAt, probes, recent, places };
  }
  const places = health.places === undefined ? undefined : health.places + 1;
  const recovers = places !== undefined && places < MOST_PLACES;
  return { ...health, recent: remembered(health, '+'), places: recovers ? places : undefined };
}

function remembered({ recent }: SinkHealth, outcome: '+' | '-'): string {
  return (recent + outcome).slice(-RECENT_BATCHES);
}

function isDown(
  { recent, lastDeliveredAt }: SinkHealth,
  { now, policy }: Pick<Breaker, 'now' | 'policy'>,
): boolean {
  const judged = recent.slice(-JUDGED_BATCHES);
  if (failuresIn(judged) >= failuresToHold(policy)) return true;
  // A time in the future means that the clock was set back.
  const silentMs = lastDeliveredAt ? Math.abs(now.getTime() - lastDeliveredAt.getTime()) : SILENT_MS;
  return silentMs >= SILENT_MS && recent.endsWith('-'.repeat(policy.consecutiveFailures));
}

function failuresIn(recent: string): number {
  return recent.split('-').length - 1;
}

/**
 * Returns the health of a sink that is held until the next probe. If the destination asks for a wait, leadsync waits exactly that long
 * before each of the first `PROBES_BELIEVED` probes, and at least that long before later probes. Halves the limit on concurrent batches if
 * the destination asks for a wait while the sink is not held yet and the destination is not down; otherwise removes the limit.
 */
function held(health: SinkHealth, outcomes: readonly Outcome[], by: Breaker): SinkHealth {
  const { now, random, policy } = by;
  const probes = health.heldSince ? health.probes + 1 : 0;
  const asked = outcomes.map((outcome) => ('retryAfterMs' in outcome ? (outcome.retryAfterMs ?? 0) : 0));
  const askedMs = limited(Math.max(0, ...asked));
  const before = askedMs > 0 ? PROBES_BELIEVED : PROBES_BEFORE_BACK_OFF;
  const isBelieved = askedMs > 0 && probes < before;
  const step = Math.max(0, probes - before + 1);
  const backOff = backOffMs(step, FIRST_PROBE_MS, policy.maxProbeWaitMs, random);
  const failure = outcomes.find(isFailure);
  const isPause = askedMs > 0 && !health.heldSince && !isDown(health, by);
  return {
    ...health,
    heldSince: health.heldSince ?? now,
    heldReason: reasonOf(failure, outcomes) ?? health.heldReason,
    heldStatus: failure ? failure.httpStatus : health.heldStatus,
    probeAt: new Date(now.getTime() + (isBelieved ? askedMs : Math.max(backOff, askedMs))),
    probes,
    places: isPause ? halved(health.places) : undefined,
  };
}

function halved(places = PAUSED_PLACES): number {
  return Math.max(MIN_CONCURRENT_BATCHES, Math.floor(places / 2));
}

function isFailure(outcome: Outcome): outcome is Refused | Unavailable {
  return outcome.kind === 'refused' || outcome.kind === 'unavailable';
}

function reasonOf(
  failed: Refused | Unavailable | undefined,
  outcomes: readonly Outcome[],
): string | undefined {
  if (failed?.kind === 'refused' && outcomes.filter(({ kind }) => kind === 'refused').every(isRefusedUnsent))
    return `${MAPPING_FAILS}, so the fault is not in the leads: ${failed.reason} Correct the expression; \`leadsync test\` tries it.`;
  return failed?.kind === 'refused'
    ? `It refuses every lead, so the fault is not in the leads: ${failed.reason} See its answers with \`leadsync trace LEAD --show-data\`.`
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
