import {
  type BreakerPolicy,
  DEFAULT_BREAKER,
  failuresToHold,
  JUDGED_BATCHES,
  MIN_CONCURRENT_BATCHES,
} from '../leads/breaker-policy.ts';
import { REFUSALS_BEFORE_HOLD, type SinkHealth } from '../leads/sink-health.ts';
import { countOf } from '../platform/text/human-readable.ts';
import type { SinkView } from './status-view.ts';

/**
 * Returns the state of a sink's circuit breaker: its failure rate, the limits at which the sink is held, the number of failed probes, the number of
 * concurrent batches, and an explanation in sentences without times. Null if leadsync has not run with the sink yet.
 */
export function breakerJson({ config, status, state }: SinkView) {
  if (!status) return null;
  const { health } = status;
  const policy = config?.breaker ?? DEFAULT_BREAKER;
  const [attempts, failures] = [health.recent.length, failuresIn(health.recent)];
  const isHeld = health.heldSince !== undefined;
  const most = config?.concurrency ?? null;
  const now = isHeld ? 1 : Math.min(health.places ?? Number.POSITIVE_INFINITY, most ?? 1);
  return {
    recent_attempts: attempts,
    recent_failures: failures,
    failure_rate: attempts === 0 ? null : failures / attempts,
    held_at_failures: failuresToHold(policy),
    held_at_attempts: JUDGED_BATCHES,
    held_at_consecutive_failures: policy.consecutiveFailures,
    held_at_consecutive_refusals: REFUSALS_BEFORE_HOLD,
    failed_probes: isHeld ? health.probes : null,
    concurrency: most === null ? null : now,
    max_concurrency: most,
    explanation: state === 'paused' || state === 'disabled' ? null : explain(health, policy, most),
  };
}

function explain(health: SinkHealth, policy: BreakerPolicy, most: number | null): string | null {
  const { recent, heldSince, places } = health;
  if (heldSince) return `${holdReason(health, policy)} ${probesText(health)} ${recoveryText(places, most)}`;
  const failures = failuresIn(recent);
  const isRecovering = places !== undefined && most !== null && places < most;
  const rate =
    failures === 0
      ? null
      : `${failures} of its last ${countOf(recent.length, 'batch', 'batches')} failed. It is held when ${failuresToHold(policy)} of the last ${JUDGED_BATCHES} fail.`;
  if (!isRecovering) return rate;
  const recovery = `It is recovering from a hold: it gets ${countOf(places, 'batch', 'batches')} at a time now, and one more with each answer, up to ${most}.`;
  return rate === null ? recovery : `${recovery} ${rate}`;
}

/**
 * Returns why a sink is held, as a sentence. The health does not record which rule of the circuit breaker applied, but contains everything on which
 * the decision was based.
 */
function holdReason(health: SinkHealth, policy: BreakerPolicy): string {
  const { recent, refusals, places, heldSince, renewedAt } = health;
  if (refusals >= REFUSALS_BEFORE_HOLD) return `It is held because it refused ${refusals} leads in a row.`;
  const failed = failuresIn(recent.slice(-JUDGED_BATCHES));
  if (places === undefined && failed >= failuresToHold(policy))
    return `It is held because ${failed} of its last ${JUDGED_BATCHES} batches failed.`;
  if (places === undefined && recent.endsWith('-'.repeat(policy.consecutiveFailures)))
    return `It is held because its last ${countOf(policy.consecutiveFailures, 'batch', 'batches')} failed.`;
  if (heldSince && renewedAt && renewedAt >= heldSince)
    return 'It is held until its destination answers the requested probe.';
  return 'It is held because its destination asked for a pause.';
}

function probesText({ probes }: SinkHealth): string {
  return probes === 0
    ? 'No probe has failed yet.'
    : `${countOf(probes, 'probe has', 'probes have')} failed since.`;
}

function recoveryText(places: number | undefined, most: number | null): string {
  const first = Math.min(places ?? MIN_CONCURRENT_BATCHES, most ?? MIN_CONCURRENT_BATCHES);
  const growth =
    most !== null && first < most ? `, then twice as many with each round of answers, up to ${most}` : '';
  return `After the first successful probe, it gets ${countOf(first, 'batch', 'batches')} at a time${growth}.`;
}

function failuresIn(recent: string): number {
  return recent.split('-').length - 1;
}
