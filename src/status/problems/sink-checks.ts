import type { SecretOption } from '../../config/contract/config.ts';
import { MAPPING_FAILS, type SinkHealth } from '../../leads/sink-health.ts';
import type { DeadReason } from '../../ledger/contract/status-rows.ts';
import {
  countOf,
  isDueNow,
  printAge,
  printCount,
  printMomentAndAge,
  sentence,
} from '../../platform/text/human-readable.ts';
import { fixCredentials } from './fix-credentials.ts';
import { isSince, type Problem, problem, SHORT_MS, type TextOptions } from './problem.ts';

/**
 * The problems of sinks that status, pages and alerts share: the condition, the text and the next step of each. The callers supply the facts
 * and decide how long a problem must last. A function returns undefined if there is no problem.
 */

/** State of a sink in the ledger. `pending` and `dead` count deliveries. */
interface SinkFacts {
  readonly name: string;
  readonly health: SinkHealth;
  readonly pending: number;
  readonly dead: number;
  /** Returns the configuration options that hold secrets, including those of other sinks; undefined if they are not known. */
  readonly secrets?: (() => readonly SecretOption[] | undefined) | undefined;
}

/**
 * Finds a sink whose destination does not work. A sink that is both held and paused counts as paused only. A short hold is a warning, unless only an
 * operator can end it. `at` is the time by which the hold is judged short; without it, every hold is critical.
 */
export function heldSink(
  { name, health, pending, secrets }: SinkFacts,
  options: TextOptions,
  at = options.now,
): Problem | undefined {
  const { heldSince, heldReason, heldStatus, pausedSince, probeAt } = health;
  if (!heldSince || pausedSince) return undefined;
  const { command, now } = options;
  const needsOperator = heldReason?.startsWith(MAPPING_FAILS) || heldStatus === 401 || heldStatus === 403;
  const isShort = at !== undefined && at.getTime() - heldSince.getTime() < SHORT_MS;
  const isDue = probeAt !== undefined && now !== undefined && isDueNow(probeAt, now);
  const again = nextProbe(health, pending, now);
  const sooner = pending === 0 || isDue ? '' : `; ${command(`resume ${name}`)} sends a probe now`;
  const fix = heldReason?.startsWith(MAPPING_FAILS)
    ? `Correct the mapping, then ${command('reload')}` // the reason names the expression
    : heldStatus === 401 || heldStatus === 403
      ? fixCredentials(name, secrets?.() ?? [], options)
      : 'Fix the destination';
  return problem(
    'sink_held',
    name,
    `${name} ${isSince('held', heldSince, options)}: ${sentence(heldReason ?? 'no reason was recorded')}`,
    `${fix}. Nothing is lost: ${waiting(pending)}. ${again}${sooner}.`,
    `${fix}. Nothing is lost: ${waiting(pending)}. ${again}.`,
    isShort && !needsOperator ? 'warning' : 'critical',
  );
}

/** Returns when a held sink gets its next probe, as a clause. Without `now`, the text is read later, when a time would be wrong. */
function nextProbe({ probeAt }: SinkHealth, pending: number, now: Date | undefined): string {
  if (pending === 0) return 'The next lead is the probe';
  if (!probeAt || !now) return 'leadsync retries automatically';
  return isDueNow(probeAt, now) ? 'The next probe is due now' : `The next probe is ${printAge(probeAt, now)}`;
}

/** Finds a paused sink. An operator paused it, or leadsync did because the destination answered that it is gone for good. */
export function pausedSink({ name, health, pending }: SinkFacts, options: TextOptions): Problem | undefined {
  const { pausedSince, pausedReason } = health;
  if (!pausedSince) return undefined;
  return problem(
    'sink_paused',
    name,
    `${name} ${isSince('paused', pausedSince, options)}: ${sentence(pausedReason || 'no reason was given')}`,
    `${waiting(pending)}. ${options.command(`resume ${name}`)} resumes it.`,
  );
}

/**
 * The dead deliveries of a sink. Without `deadSince`, the text does not say when they became dead. If the sink `isRemoved` from the configuration, a
 * retry would deliver nothing.
 */
interface DeadFacts extends Pick<SinkFacts, 'name' | 'dead'> {
  readonly deadReason: DeadReason | undefined;
  readonly isRemoved?: boolean;
  readonly deadSince?: Date | undefined;
  readonly lastDeadAt?: Date | undefined;
}

/** Finds dead deliveries. */
export function deadLeads(facts: DeadFacts, { command, now }: TextOptions): Problem | undefined {
  const { name, dead, deadReason, isRemoved = false } = facts;
  if (dead === 0) return undefined;
  const what = `${countOf(dead, 'dead delivery')}${now ? timesPart(facts, now) : ''}${reasonPart(dead, deadReason)}`;
  const why = `${command(`deliveries --sink ${name} --state dead`)} shows why`;
  const discard = `${command(`discard --sink ${name} --note TEXT`)} gives them up.`;
  if (isRemoved)
    return problem(
      'deliveries_dead',
      name,
      `${name} is no longer in the configuration, and has ${what}`,
      `${why}; ${discard}`,
      'Discard them, or add the sink again and retry them.',
    );
  const retry = `${command(`retry --sink ${name} --state dead`)} tries again once the cause is fixed`;
  return problem('deliveries_dead', name, `${name}: ${what}`, `${why}; ${retry}; ${discard}`);
}

/** Returns since when deliveries are dead, and the age of the last one if there are several. */
function timesPart({ dead, deadSince, lastDeadAt }: DeadFacts, now: Date): string {
  if (!deadSince) return '';
  const isOne = dead === 1 || !lastDeadAt || lastDeadAt.getTime() - deadSince.getTime() < 1_000;
  const last = isOne ? '' : `, the last ${printAge(lastDeadAt, now)}`;
  return ` since ${printMomentAndAge(deadSince, now)}${last}`;
}

function reasonPart(dead: number, most: DeadReason | undefined): string {
  if (!most?.reason) return '.';
  if (most.deliveries === dead) return `: ${sentence(most.reason)}`;
  return `. The most frequent reason (${printCount(most.deliveries)}): ${sentence(most.reason)}`;
}

/** Returns the backlog as a clause: `3 leads wait`. */
export function waiting(pending: number): string {
  if (pending === 0) return 'no leads wait';
  return `${countOf(pending, 'lead')} ${pending === 1 ? 'waits' : 'wait'}`;
}
