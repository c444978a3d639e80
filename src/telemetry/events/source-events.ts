import { printSeconds, printSpan } from '../../platform/text/human-readable.ts';
import { eventKind } from '../event-kind.ts';
import { count, withoutStop } from './wording.ts';

/** Error codes of polls that fail until an operator acts. */
export const NEEDS_OPERATOR: ReadonlySet<string> = new Set([
  'credentials',
  'login-needed',
  'unauthorized',
  'forbidden',
  'other-origin',
]);

/** Counts of a poll: leads by kind, and bytes of the listing. */
interface PollCounts {
  listed: number;
  new: number;
  changed: number;
  rejected: number;
  bytes: number;
}

/** Events about polls, listings and access tokens. */
export const sourceEvents = {
  'poll-started': eventKind<{ source: string; poll: number }>({
    level: 'debug',
    fields: ['source', 'poll'],
    message: ({ source, poll }) => `Source ${source}: poll ${poll} has started.`,
  }),

  'poll-progress': eventKind<{
    source: string;
    poll: number;
    listed: number;
    recorded: number;
    leadsPerSecond: number;
  }>({
    level: 'info',
    fields: ['source', 'poll', 'listed', 'recorded', 'leadsPerSecond'],
    message: ({ source, listed, recorded, leadsPerSecond }) =>
      `Source ${source}: ${count(listed, 'lead')} read, ${recorded} recorded, ${Math.round(leadsPerSecond)} a second.`,
  }),

  'poll-finished': eventKind<
    { source: string; poll: number; status: 'success' | 'unchanged'; durationMs: number } & PollCounts
  >({
    level: (event) => (event.new + event.changed > 0 ? 'info' : 'debug'),
    fields: ['source', 'poll', 'status', 'listed', 'new', 'changed', 'rejected', 'bytes', 'durationMs'],
    message: (event) => {
      const start = `Source ${event.source}:`;
      if (event.status === 'unchanged') return `${start} the listing has not changed.`;
      const rejected = event.rejected > 0 ? `, ${event.rejected} rejected` : '';
      return `${start} ${event.new} new and ${event.changed} changed of ${count(event.listed, 'lead')}${rejected}, in ${printSeconds(event.durationMs)}.`;
    },
  }),

  /**
   * `failures` counts consecutive failures, including this one. `recorded` counts what a `partial` poll recorded before it failed.
   */
  'poll-failed': eventKind<{
    source: string;
    poll: number | undefined;
    status: 'partial' | 'failed';
    code: string;
    reason: string;
    hint: string;
    retryInMs: number;
    failures: number;
    recorded?: PollCounts | undefined;
    durationMs?: number | undefined;
  }>({
    level: ({ code }) => (NEEDS_OPERATOR.has(code) ? 'error' : 'warn'),
    fields: [
      'source',
      'poll',
      'status',
      'code',
      'reason',
      'hint',
      'retryInMs',
      'failures',
      'recorded',
      'durationMs',
    ],
    message: ({ source, failures, reason, hint, retryInMs }) =>
      `Source ${source}: the poll failed (${failures} in a row). ${reason} ${hint} Next attempt in ${printSpan(retryInMs)}.`,
  }),

  'listing-emptied': eventKind<{ source: string; poll: number; before: number }>({
    level: 'warn',
    fields: ['source', 'poll', 'before'],
    message: ({ source, before }) =>
      `Source ${source}: the listing is empty but had ${count(before, 'lead')} before. leadsync removes nothing; ask the operator of the service whether that is correct.`,
  }),

  /** A listing has far fewer leads than the complete listing before it, but is not empty. */
  'listing-shrunk': eventKind<{ source: string; poll: number; listed: number; before: number }>({
    level: 'warn',
    fields: ['source', 'poll', 'listed', 'before'],
    message: ({ source, listed, before }) =>
      `Source ${source}: the listing has ${count(listed, 'lead')} but had ${before} before. leadsync removes nothing; ask the operator of the service whether that is correct.`,
  }),

  /**
   * `reasons` has the first distinct reasons, and `others` counts the rejected leads with other reasons. `repeated` says whether the last complete
   * listing was rejected for the same reasons, which the log has therefore reported before.
   */
  'leads-rejected': eventKind<{
    source: string;
    poll: number;
    rejected: number;
    reasons: readonly string[];
    others: number;
    repeated: boolean;
  }>({
    level: ({ repeated }) => (repeated ? 'debug' : 'warn'),
    fields: ['source', 'poll', 'rejected', 'reasons', 'others', 'repeated'],
    message: ({ source, rejected, reasons, others }) =>
      `Source ${source}: rejected ${count(rejected, 'lead')} that ${rejected === 1 ? 'does' : 'do'} not match the service's API description: ${reasons.map(withoutStop).join('; ')}${others > 0 ? `; and ${others} more` : ''}.`,
  }),

  'token-renewed': eventKind<{ source: string; grant: string; expiresAt: Date | undefined }>({
    level: 'info',
    throttled: true,
    fields: ['source', 'grant', 'expiresAt'],
    message: ({ source, grant, expiresAt }) =>
      `Source ${source}: new access token (grant ${grant}), ${expiresAt === undefined ? 'without a stated expiry' : `valid until ${expiresAt.toISOString()}`}.`,
  }),

  'token-fallback': eventKind<{ source: string; reason: string }>({
    level: 'warn',
    fields: ['source', 'reason'],
    message: ({ source, reason }) =>
      `Source ${source}: the stored token does not work; leadsync requests a new one with the client's own credentials. ${reason}`,
  }),

  /** The first start with a ledger on a server moved the tokens that were in the data directory. `where` is the place of the ledger. */
  'tokens-taken-over': eventKind<{ sources: readonly string[]; where: string }>({
    level: 'info',
    fields: ['sources', 'where'],
    message: ({ sources, where }) =>
      `The stored tokens of these sources were moved from data_dir to ${where}: ${sources.join(', ')}.`,
  }),

  /** A token in the data directory differs from the one on the server, which counts. */
  'tokens-left': eventKind<{ sources: readonly string[]; where: string }>({
    level: 'warn',
    fields: ['sources', 'where'],
    message: ({ sources, where }) =>
      `data_dir has other tokens of these sources than ${where}, whose tokens leadsync uses: ${sources.join(', ')}. The others were renamed to end with .left; remove them. If a login is missing now, run \`leadsync login\` with the name of the source.`,
  }),
};
