import { printMinute, printSpan } from '../platform/text/format.ts';
import { blanked } from '../platform/text/printable.ts';
import { type Condition, runbookOf, SEVERITY } from './condition.ts';

/** What one notice says: a condition has begun, lasts (the daily reminder), or is over. Holds nothing of a lead. */
export interface Notice {
  readonly kind: 'begun' | 'lasts' | 'over';
  readonly condition: Condition;
  /** The source, sink or export; undefined for what there is only one of. */
  readonly about: string | undefined;
  readonly since: Date;
  /** When it was noticed; of one that is over, when it ended. */
  readonly at: Date;
  /** What happened, in one sentence. */
  readonly what: string;
  /** What to do next; empty when it is over. */
  readonly next: string;
}

/** What is sent at once: notices that came together, or the mark of a test. */
export interface Message {
  /** The same when a message is sent once more because nobody knows whether it arrived. */
  readonly id: string;
  readonly at: Date;
  readonly test: boolean;
  readonly notices: readonly Notice[];
}

const TEST = 'This is a test of leadsync: alerts arrive here. Nothing is wrong, and nothing is to be done.';
const HEADS = { begun: '', lasts: 'Still: ', over: 'Over: ' } as const;

/** A message in one line, for a subject. */
export function subjectOf({ test, notices }: Message): string {
  if (test) return 'leadsync: test';
  const [first, ...more] = [...notices].sort((one, other) => rankOf(one) - rankOf(other));
  if (!first) return 'leadsync';
  const what = `${HEADS[first.kind]}${first.condition.replaceAll('_', ' ')}`;
  const about = first.about ? ` (${first.about})` : '';
  return `leadsync: ${what}${about}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}

/** A message in plain text: a paragraph for each notice, what is wrong before what is over. */
export function textOf({ test, notices }: Message): string {
  if (test) return TEST;
  const sorted = [...notices].sort((one, other) => rankOf(one) - rankOf(other));
  return sorted.map(paragraphOf).join('\n\n');
}

/** A message for machines. */
export function jsonOf({ at, test, notices }: Message): string {
  return JSON.stringify({
    type: test ? 'leadsync.alert.test' : 'leadsync.alert',
    timestamp: at,
    text: test ? TEST : undefined,
    notices: notices.map((notice) => ({
      state: notice.kind,
      condition: notice.condition,
      severity: SEVERITY[notice.condition],
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
  if (kind === 'over') return inOneLine(`Over after ${length}: ${what} It had begun ${printMinute(since)}.`);
  const lines = [`${HEADS[kind]}${what}`, `Since ${printMinute(since)} (${length}).`, `Next: ${next}`];
  return [...lines.map(inOneLine), `See ${runbookOf(condition)}`].join('\n');
}

/** What waits for somebody first, and of that the gravest. */
function rankOf({ kind, condition }: Notice): number {
  return (kind === 'over' ? 2 : 0) + (SEVERITY[condition] === 'critical' ? 0 : 1);
}

function lengthOf({ since, at }: Notice): number {
  return Math.max(0, at.getTime() - since.getTime());
}

/** Reasons come from destinations and services: in one line, of a bearable length. */
function inOneLine(text: string): string {
  const line = blanked(text).replace(/\s+/g, ' ').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST).toWellFormed()}…` : line;
}

const LONGEST = 600;
