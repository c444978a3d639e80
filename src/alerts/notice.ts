import { PROBLEMS, runbookOf } from '../leads/problems.ts';
import { printMinute, printSpan } from '../platform/text/format.ts';
import { blanked } from '../platform/text/printable.ts';
import type { Condition } from './condition.ts';

/** A notice that a condition has started, still holds (the daily reminder), or is over. Holds no data of a lead. */
export interface Notice {
  readonly kind: 'begun' | 'lasts' | 'over';
  readonly condition: Condition;
  /** Source, sink or export; undefined for a condition of leadsync itself. */
  readonly about: string | undefined;
  readonly since: Date;
  /** Time of the notice; if the condition is over, the time at which it ended. */
  readonly at: Date;
  /** What happened, in one sentence. */
  readonly what: string;
  /** Next step; empty if the condition is over. */
  readonly next: string;
}

/** One message: the notices that are due together, or a test. */
export interface Message {
  /** Id of the message. A repeat, sent because the first one may not have arrived, has the same id. */
  readonly id: string;
  readonly at: Date;
  readonly test: boolean;
  readonly notices: readonly Notice[];
}

const TEST =
  'This is a test message from leadsync: alerts arrive here. There is no problem, and no action is needed.';
const PREFIXES = { begun: '', lasts: 'Still: ', over: 'Over: ' } as const;

/** Returns the subject line of a message. */
export function subjectOf({ test, notices }: Message): string {
  if (test) return 'leadsync: test';
  const [first, ...more] = [...notices].sort((one, other) => rankOf(one) - rankOf(other));
  if (!first) return 'leadsync';
  const what = `${PREFIXES[first.kind]}${first.condition.replaceAll('_', ' ')}`;
  const about = first.about ? ` (${first.about})` : '';
  return `leadsync: ${what}${about}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}

/** Returns a message as plain text: a paragraph for each notice. Notices of conditions that are over come last. */
export function textOf({ test, notices }: Message): string {
  if (test) return TEST;
  const sorted = [...notices].sort((one, other) => rankOf(one) - rankOf(other));
  return sorted.map(paragraphOf).join('\n\n');
}

/** Returns a message as JSON. */
export function jsonOf({ at, test, notices }: Message): string {
  return JSON.stringify({
    type: test ? 'leadsync.alert.test' : 'leadsync.alert',
    timestamp: at,
    text: test ? TEST : undefined,
    notices: notices.map((notice) => ({
      state: notice.kind,
      condition: notice.condition,
      severity: PROBLEMS[notice.condition].severity,
      about: notice.about ?? null,
      since: notice.since,
      at: notice.at,
      seconds: Math.round(lengthOf(notice) / 1000),
      what: inOneLine(notice.what),
      next: inOneLine(notice.next),
      runbook: runbookOf(notice.condition),
    })),
  });
}

function paragraphOf(notice: Notice): string {
  const { kind, since, what, next, condition } = notice;
  const length = printSpan(lengthOf(notice));
  if (kind === 'over')
    return inOneLine(`Over after ${length}: ${what} It had started at ${printMinute(since)}.`);
  const lines = [`${PREFIXES[kind]}${what}`, `Since ${printMinute(since)} (${length}).`, `Next: ${next}`];
  return [...lines.map(inOneLine), `See ${runbookOf(condition)}`].join('\n');
}

/** Orders notices: conditions that hold before those that are over, and critical ones first. */
function rankOf({ kind, condition }: Notice): number {
  return (kind === 'over' ? 2 : 0) + (PROBLEMS[condition].severity === 'critical' ? 0 : 1);
}

function lengthOf({ since, at }: Notice): number {
  return Math.max(0, at.getTime() - since.getTime());
}

/** Shortens a text and puts it on one line, because a reason can contain any text of a destination or a service. */
function inOneLine(text: string): string {
  const line = blanked(text).replace(/\s+/g, ' ').trim();
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH).toWellFormed()}…` : line;
}

const MAX_LENGTH = 600;
