import type { Grant } from '../../config/contract/config.ts';
import { type ListingSize, sizeBeforeShrinking } from '../../leads/listing-shrinkage.ts';
import { countOf, printCount, printMomentAndAge, sentence } from '../../platform/text/human-readable.ts';
import { NEEDS_OPERATOR } from '../../telemetry/events/source-events.ts';
import { type Problem, problem, SHORT_MS, sentenceOf, type TextOptions } from './problem.ts';

/**
 * The problems of polls and listings that status, pages and alerts share: the condition, the text and the next step of each. The callers supply the facts
 * and decide how long a problem must last. A function returns undefined if there is no problem.
 */

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
): Problem | undefined {
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
): Problem | undefined {
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
  if (most.leads === 1 && rejected > 1) return ` One of them: ${sentence(most.reason)}`;
  const share = rejected === 1 ? '' : ` (${printCount(most.leads)})`;
  return ` The most frequent fault${share}: ${sentence(most.reason)}`;
}
