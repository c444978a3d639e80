import type { ExportState } from '../exports/export-states.ts';
import { fallenFrom, type ListingSize } from '../leads/listing-fall.ts';
import type { SinkHealth } from '../leads/sink-health.ts';
import { countOf, printAge, printMinute, printMomentAndAge, sentence } from '../platform/text/format.ts';
import { NEEDS_OPERATOR } from '../telemetry/events/source-events.ts';
import { type Problem, problem, type StaleConfig, type TextOptions } from './problem.ts';

/**
 * What the status, the pages and the alerts all tell of: when it holds, in which words, and what to do. Each finds its facts and
 * decides how long they have to last; each function returns undefined for what is well.
 */

type Found = Problem | undefined;

/** A sink as its row in the ledger says. `pending` and `dead` count deliveries. */
interface SinkFacts {
  readonly name: string;
  readonly health: SinkHealth;
  readonly pending: number;
  readonly dead: number;
}

/** The destination does not take leads. One that is paused as well is not tried, and is told of as paused. */
export function heldSink({ name, health, pending }: SinkFacts, options: TextOptions): Found {
  const { heldSince, heldReason, pausedSince, probeAt } = health;
  if (!heldSince || pausedSince) return undefined;
  const { command, now } = options;
  const again =
    probeAt && now ? `The next probe is ${printAge(probeAt, now)}` : 'It is tried again by itself';
  return problem(
    'sink_held',
    name,
    `${name} is held${since(heldSince, options)}: ${sentence(heldReason ?? 'no reason was kept')}`,
    `Mend the destination. Nothing is lost: ${waiting(pending)}. ${again}; ${command(`resume ${name}`)} tries now.`,
  );
}

/** Somebody has paused the sink, or its destination said that it is gone for good. */
export function pausedSink({ name, health, pending }: SinkFacts, options: TextOptions): Found {
  const { pausedSince, pausedReason } = health;
  if (!pausedSince) return undefined;
  return problem(
    'sink_paused',
    name,
    `${name} is paused${since(pausedSince, options)}: ${sentence(pausedReason || 'no reason was given')}`,
    `${waiting(pending)}. ${options.command(`resume ${name}`)} goes on.`,
  );
}

/** Leads were given up. */
export function deadLeads({ name, dead }: Pick<SinkFacts, 'name' | 'dead'>, { command }: TextOptions): Found {
  if (dead === 0) return undefined;
  return problem(
    'deliveries_dead',
    name,
    `${name}: ${countOf(dead, 'lead')} died.`,
    `${command(`deliveries --sink ${name} --state dead`)} says why; ${command(`retry --sink ${name} --state dead`)} tries again, once the cause is mended.`,
  );
}

/** Why a poll did not come to its end. */
export interface PollFailure {
  readonly code: string;
  readonly reason: string;
  /** What to do, where the source has said it. */
  readonly hint?: string;
  /** It broke off after it had read a part of the listing. */
  readonly isPartial: boolean;
}

/** The last poll of a source failed; `isRetried`: a leadsync is running that tries again. */
export function failedPoll(
  name: string,
  failure: PollFailure,
  isRetried: boolean,
  { command }: TextOptions,
): Problem {
  const { code, reason, hint, isPartial } = failure;
  const isStubborn = NEEDS_OPERATOR.has(code);
  const behind = isPartial ? 'Leads that are listed behind that place are held up until then. ' : '';
  const byItself = isRetried ? 'leadsync tries again by itself; ' : '';
  const usual = `${behind}${isStubborn ? `Waiting does not mend this: ${remedy(code, name, command)}; ` : byItself}${command('check')} tries now.`;
  return problem(
    isStubborn ? 'source_refused' : 'poll_failed',
    name,
    `${name}: the last poll ${isPartial ? 'broke off' : 'failed'}: ${reason}`,
    hint
      ? `${isStubborn ? 'Waiting does not mend this. ' : ''}${hint}`
      : (ofItsOwn(code, name, command) ?? usual),
  );
}

/** What to do about the failures that are mended in a way of their own. */
function ofItsOwn(code: string, name: string, command: TextOptions['command']): string | undefined {
  if (code === 'login-refused')
    return `If the login was revoked, do not wait: ${command(`login ${name}`)} logs a person in again; ${command('check')} tries now.`;
  if (code === 'other-origin')
    return `Waiting does not mend this. If the same service has moved, ${command(`moved ${name}`)} says so; if that is another service or account, give the source another name, then ${command('reload')}.`;
  return undefined;
}

/** What somebody has to do about a poll that failed with one of the codes of `NEEDS_OPERATOR`. */
function remedy(code: string, name: string, command: TextOptions['command']): string {
  if (code === 'login-needed')
    return `${command(`login ${name}`)} logs a person in again; where the configuration has changed, correct it and then ${command('reload')}`;
  if (code === 'credentials')
    return `check \`client_id\` and \`client_secret\` at the source ${name} in the configuration, and what else it names, then ${command('reload')}`;
  return `correct what it names, then ${command('reload')}`;
}

/** The listing has far fewer leads than it had within a week. */
export function shrunkListing(name: string, listing: ListingSize, { command }: TextOptions): Found {
  const before = fallenFrom(listing);
  if (before === undefined) return undefined;
  const { listed } = listing;
  const what =
    listed === 0
      ? `${name} lists no lead any more, and has listed ${countOf(before, 'lead')} before.`
      : `${name} lists ${countOf(listed, 'lead')}, and listed ${countOf(before, 'lead')} within a week before.`;
  const end = listed === 0 ? 'when leads are listed again' : 'when the listing is back, or after a week';
  const next = `See whether this is the right account, and what its scope lets it see; ${command(`login ${name}`)} logs a person in again. Nothing is removed from the ledger: ${command('query "SELECT * FROM v_gone_leads"')} shows which leads are gone, and so does the page Leads. This ends ${end}.`;
  return problem('listing_shrunk', name, what, next);
}

/** A scheduled export could not be made; `isRetried`: a leadsync is running that tries again. */
export function failedExport(
  name: string,
  { done, failed: failure }: Pick<ExportState, 'done' | 'failed'>,
  isRetried: boolean,
  { command, now }: TextOptions,
): Found {
  if (!failure) return undefined;
  const { message, hint, times, retryAt } = failure;
  const made = done && (now ? printMomentAndAge(done.startedAt, now) : printMinute(done.startedAt));
  const failed = times === 1 ? 'failed' : `failed ${times} times in a row`;
  const when = now ? printAge(retryAt, now) : 'by itself, at least once an hour';
  const again = isRetried && !(now && retryAt <= now) ? `It is tried again ${when}; ` : '';
  return problem(
    'export_fails',
    name,
    `Export ${name} ${failed}, and ${made ? `the last one is of ${made}` : 'none was ever made'}: ${message}`,
    `${hint} ${again}${command(`export --name ${name}`)} makes it now.`,
  );
}

/** So many faults of a configuration are said. */
const FAULTS_SAID = 3;

/** The file is not valid, and an earlier configuration stays in force. */
export function staleConfig(stale: StaleConfig, options: TextOptions): Problem {
  const faults = stale.faults.length > 0 ? `: ${stale.faults.slice(0, FAULTS_SAID).join('; ')}` : '.';
  const { command } = options;
  return problem(
    'config_stale',
    null,
    `leadsync keeps to an earlier configuration: the file is not valid${since(stale.since, options)}${faults}`,
    `${command('validate')} shows every fault; ${command('reload')} takes it over once they are mended.`,
  );
}

/** `3 leads wait`. */
export function waiting(pending: number): string {
  if (pending === 0) return 'nothing waits';
  return `${countOf(pending, 'lead')} ${pending === 1 ? 'waits' : 'wait'}`;
}

/** A letter has a line of its own for it. */
function since(at: Date, { now }: TextOptions): string {
  return now ? ` since ${printMomentAndAge(at, now)}` : '';
}
