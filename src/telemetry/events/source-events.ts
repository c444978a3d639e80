import { printSeconds } from '../../platform/text/format.ts';
import { eventKind } from '../event-kind.ts';
import { count, withoutStop } from './wording.ts';

/** The codes of a failed poll that waiting does not mend. */
export const NEEDS_OPERATOR: ReadonlySet<string> = new Set([
  'credentials',
  'login-needed',
  'unauthorized',
  'forbidden',
  'other-origin',
]);

/** How many leads a poll met, and how many bytes the listing had. */
interface PollCounts {
  listed: number;
  new: number;
  changed: number;
  rejected: number;
  bytes: number;
}

/** Polls, listings and access tokens. */
export const sourceEvents = {
  'poll-started': eventKind<{ source: string; poll: number }>({
    level: 'debug',
    fields: ['source', 'poll'],
    message: ({ source, poll }) => `Source ${source}: poll ${poll} starts.`,
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
      const aside = event.rejected > 0 ? `, ${event.rejected} set aside` : '';
      return `${start} ${event.new} new and ${event.changed} changed of ${count(event.listed, 'lead')}${aside}, in ${printSeconds(event.durationMs)}.`;
    },
  }),

  /**
   * `failures`: how many polls have failed in a row, this one included. `recorded`: what was recorded before a `partial` poll broke off.
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
      `Source ${source}: the poll failed (${failures} in a row). ${reason} ${hint} Next try in ${printSeconds(retryInMs)}.`,
  }),

  'listing-emptied': eventKind<{ source: string; poll: number; before: number }>({
    level: 'warn',
    fields: ['source', 'poll', 'before'],
    message: ({ source, before }) =>
      `Source ${source}: the listing is empty and had ${count(before, 'lead')} before. Nothing is removed; ask the service if that is right.`,
  }),

  'leads-rejected': eventKind<{
    source: string;
    poll: number;
    rejected: number;
    reasons: readonly string[];
  }>({
    level: 'warn',
    fields: ['source', 'poll', 'rejected', 'reasons'],
    message: ({ source, rejected, reasons }) =>
      `Source ${source}: ${count(rejected, 'lead')} set aside for breaking the service's description: ${reasons.map(withoutStop).join('; ')}.`,
  }),

  'token-renewed': eventKind<{ source: string; grant: string; expiresAt: Date | undefined }>({
    level: 'info',
    throttled: true,
    fields: ['source', 'grant', 'expiresAt'],
    message: ({ source, grant, expiresAt }) =>
      `Source ${source}: new access token by ${grant}, ${expiresAt === undefined ? 'with no stated end' : `good until ${expiresAt.toISOString()}`}.`,
  }),

  'token-fallback': eventKind<{ source: string; reason: string }>({
    level: 'warn',
    fields: ['source', 'reason'],
    message: ({ source, reason }) =>
      `Source ${source}: the stored token is of no use, a new one is asked for with the client's own credentials. ${reason}`,
  }),
};
