import type { Grant, SecretOption } from '../../config/contract/config.ts';
import { type ListingSize, sizeBeforeShrinking } from '../../leads/listing-shrinkage.ts';
import { MAPPING_FAILS, type SinkHealth } from '../../leads/sink-health.ts';
import type { DeadReason } from '../../ledger/contract/status-rows.ts';
import {
  countOf,
  isDueNow,
  printAge,
  printAgo,
  printCount,
  printMinute,
  printMoment,
  printMomentAndAge,
  sentence,
} from '../../platform/text/human-readable.ts';
import { NEEDS_OPERATOR } from '../../telemetry/events/source-events.ts';
import type { FileRuns } from '../export-view.ts';
import { fixCredentials } from './fix-credentials.ts';
import { isSince, type Problem, problem, type TextOptions } from './problem.ts';

/**
 * The problems that status, pages and alerts share: the condition, the text and the next step of each. The callers supply the facts and
 * decide how long a problem must last. A function of return type `Found` returns undefined if there is no problem.
 */

type Found = Problem | undefined;

/** State of a sink in the ledger. `pending` and `dead` count deliveries. */
interface SinkFacts {
  readonly name: string;
  readonly health: SinkHealth;
  readonly pending: number;
  readonly dead: number;
  /** Returns the configuration options that hold secrets, including those of other sinks; undefined if they are not known. */
  readonly secrets?: (() => readonly SecretOption[] | undefined) | undefined;
}

/** Length of a hold or of a series of failed polls, in ms, up to which it is a warning, because most of this length end by themselves. */
const SHORT_MS = 300_000;

/**
 * Finds a sink whose destination does not work. A sink that is both held and paused counts as paused only. A short hold is a warning, unless only an
 * operator can end it. `at` is the time by which the hold is judged short; without it, every hold is critical.
 */
export function heldSink(
  { name, health, pending, secrets }: SinkFacts,
  options: TextOptions,
  at = options.now,
): Found {
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
export function pausedSink({ name, health, pending }: SinkFacts, options: TextOptions): Found {
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
export function deadLeads(facts: DeadFacts, { command, now }: TextOptions): Found {
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
  const last = isOne ? '' : `, the last ${printAgo(lastDeadAt, now)}`;
  return ` since ${printMoment(deadSince)} (${printAgo(deadSince, now)})${last}`;
}

function reasonPart(dead: number, most: DeadReason | undefined): string {
  if (!most?.reason) return '.';
  if (most.deliveries === dead) return `: ${sentence(most.reason)}`;
  return `. The most frequent reason (${printCount(most.deliveries)}): ${sentence(most.reason)}`;
}

/** Failure of a poll. */
export interface PollFailure {
  readonly code: string;
  readonly reason: string;
  /** Next step, if the source knows a specific one. */
  readonly hint?: string;
  /** Whether the poll read a part of the listing before it failed. */
  readonly isPartial: boolean;
  /** Start of the first poll in the current series of failed polls; undefined if this is the first, or if the start is not known. */
  readonly since?: Date | undefined;
}

/**
 * Returns the problem that the last poll of a source failed. `isRetried` says whether a running leadsync tries again. The first failed poll and a short
 * series of them are a warning, unless only an operator can end it.
 */
export function failedPoll(
  name: string,
  failure: PollFailure,
  isRetried: boolean,
  { command, now }: TextOptions,
): Problem {
  const { code, reason, hint, isPartial, since } = failure;
  const needsOperator = NEEDS_OPERATOR.has(code);
  const isShort = isRetried && now !== undefined && now.getTime() - (since ?? now).getTime() < SHORT_MS;
  const lasting = since && now ? `Polls have failed since ${printMomentAndAge(since, now)}.` : '';
  const behind = isPartial ? 'Leads after that point in the listing wait until a poll reads past it. ' : '';
  const byItself = isRetried ? ['leadsync retries automatically'] : [];
  const remedies = needsOperator ? [`Waiting does not fix this: ${remedy(code, name, command)}`] : byItself;
  const specific = specificStep(code, name, command);
  const stepWith = (tries: readonly string[]) =>
    hint
      ? `${needsOperator ? 'Waiting does not fix this. ' : ''}${hint}`
      : (specific?.(tries) ?? `${behind}${sentenceOf([...remedies, ...tries])}`);
  return problem(
    needsOperator ? 'source_refused' : 'poll_failed',
    name,
    `${name}: the last poll ${isPartial ? 'broke off' : 'failed'}: ${lasting === '' ? reason : `${sentence(reason)} ${lasting}`}`,
    stepWith([`${command('check')} tries now`]),
    stepWith([]),
    isShort && !needsOperator ? 'warning' : 'critical',
  );
}

function sentenceOf(clauses: readonly string[]): string {
  return clauses.length === 0 ? '' : `${clauses.join('; ')}.`;
}

/**
 * Returns a function that builds the specific next step of a failure from the clauses about trying now; undefined if the failure has no
 * specific next step.
 */
function specificStep(
  code: string,
  name: string,
  command: TextOptions['command'],
): ((tries: readonly string[]) => string) | undefined {
  if (code === 'login-refused')
    return (tries) =>
      sentenceOf([
        `If the login was revoked, do not wait: ${command(`login ${name}`)} logs a person in again`,
        ...tries,
      ]);
  if (code === 'other-origin')
    return () =>
      `Waiting does not fix this. If the service has moved to this address, confirm it with ${command(`moved ${name}`)}; if this is another service or account, give the source another name, then ${command('reload')}.`;
  return undefined;
}

/** Returns the next step for a poll that failed with one of the codes of `NEEDS_OPERATOR`. */
function remedy(code: string, name: string, command: TextOptions['command']): string {
  if (code === 'login-needed')
    return `${command(`login ${name}`)} logs a person in again; if the configuration is wrong, correct it, then ${command('reload')}`;
  if (code === 'credentials')
    return `check \`client_id\` and \`client_secret\` of the source ${name} in the configuration, and anything else that the message names, then ${command('reload')}`;
  return `correct what the message names, then ${command('reload')}`;
}

/** Finds a listing that has far fewer leads than it had within the last week. */
export function shrunkListing(
  name: string,
  listing: ListingSize,
  { command }: TextOptions,
  grant?: Grant,
): Found {
  const before = sizeBeforeShrinking(listing);
  if (before === undefined) return undefined;
  const { listed } = listing;
  const message =
    listed === 0
      ? `${name} lists no leads, but has listed ${countOf(before, 'lead')} before.`
      : `${name} lists ${countOf(listed, 'lead')}, but listed ${countOf(before, 'lead')} within the last week.`;
  const end =
    listed === 0 ? 'when the source lists leads again' : 'when the listing recovers, or after a week';
  const step = (gone: string) =>
    `Check whether this is the right account, and which leads its scope allows. ${whoReads(name, grant, command)} Nothing is removed from the ledger${gone}. This warning ends ${end}.`;
  const gone = `: ${command('query "SELECT * FROM v_gone_leads"')} and the page Leads show which leads are gone`;
  return problem('listing_shrunk', name, message, step(gone), step(''));
}

/**
 * Returns, as a sentence, with whose access leadsync reads the listing of a source. Without `grant`, that depends on whether a person has logged
 * in.
 */
function whoReads(name: string, grant: Grant | undefined, command: TextOptions['command']): string {
  if (grant === 'client_credentials') return "leadsync reads the listing with the client's own credentials.";
  const replace = `${command(`login ${name}`)} replaces that login.`;
  if (grant === 'authorization_code') return `leadsync reads the listing with a person's login; ${replace}`;
  return `If a person has logged in to the source, leadsync reads the listing with that login; ${replace}`;
}

/** Finds rejected leads in the last complete listing. `most` is the most frequent fault, if it is known, and how many of the newest leads have it. */
export function rejectedLeads(
  name: string,
  rejected: number,
  { command }: TextOptions,
  most?: { readonly reason: string; readonly leads: number },
): Found {
  if (rejected === 0) return undefined;
  const remedy =
    'Tell the operator of the service: leadsync records and delivers each lead once the service corrects it.';
  const [doNot, were] = rejected === 1 ? ['does not', 'was'] : ['do not', 'were'];
  return problem(
    'leads_rejected',
    name,
    `${name}: ${countOf(rejected, 'lead')} in the last complete listing ${doNot} match the service's API description and ${were} rejected.${faultPart(rejected, most)}`,
    `No sink gets rejected leads. ${command('rejected')} shows why. ${remedy}`,
    `No sink gets rejected leads. ${remedy}`,
  );
}

function faultPart(
  rejected: number,
  most: { readonly reason: string; readonly leads: number } | undefined,
): string {
  if (!most) return '';
  const share = rejected === 1 ? '' : ` (${printCount(most.leads)})`;
  return ` The most frequent fault${share}: ${sentence(most.reason)}`;
}

/** Finds a scheduled export or backup that failed, or a backup that is overdue. `isRetried` says whether a running leadsync tries again. */
export function failedFiles(
  { name, isBackup, overdueSince, done, failed: failure }: FileRuns,
  isRetried: boolean,
  { command, now }: TextOptions,
): Found {
  const [what, code, words] = isBackup
    ? (['Backup', 'backup_fails', `backup ${name}`] as const)
    : (['Export', 'export_fails', `export --name ${name}`] as const);
  if (!failure) {
    if (!isBackup || !overdueSince) return undefined;
    return problem(
      code,
      name,
      `Backup ${name} has been overdue since ${now ? printMomentAndAge(overdueSince, now) : printMinute(overdueSince)}.`,
      `${command(words)} makes it now. The log of leadsync shows whether an earlier run is still in progress.`,
    );
  }
  const { message, hint, times, retryAt } = failure;
  const made = done && (now ? printMomentAndAge(done.startedAt, now) : printMinute(done.startedAt));
  const failed = times === 1 ? 'failed' : `failed ${times} times in a row`;
  const when = now ? printAge(retryAt, now) : 'automatically, at least once an hour';
  const again = isRetried && !(now && isDueNow(retryAt, now)) ? [`leadsync retries it ${when}`] : [];
  return problem(
    code,
    name,
    `${what} ${name} ${failed}, and ${made ? `the last success was ${made}` : 'it has never succeeded'}: ${message}`,
    `${hint} ${sentenceOf([...again, `${command(words)} runs it now`])}`,
    `${hint} ${sentenceOf(again)}`.trim(),
  );
}

/** Returns the backlog as a clause: `3 leads wait`. */
export function waiting(pending: number): string {
  if (pending === 0) return 'no leads wait';
  return `${countOf(pending, 'lead')} ${pending === 1 ? 'waits' : 'wait'}`;
}
