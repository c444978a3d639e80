import { runbookOf, runbookUrlOf, type Severity } from '../leads/problems.ts';
import { printMinute, printSpan } from '../platform/text/human-readable.ts';
import { blanked } from '../platform/text/printable.ts';
import type { Condition } from './condition.ts';

/** A notice that a condition has started, still holds (the daily reminder), or is over. Contains no lead data. */
export interface Notice {
  readonly kind: 'begun' | 'lasts' | 'over';
  readonly condition: Condition;
  /** Severity of the problem at the time of the notice. */
  readonly severity: Severity;
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

/** The installation of leadsync that sends a message. */
export interface Installation {
  /** The name that tells its operators which installation this is; undefined if it has none. */
  readonly name: string | undefined;
  /** The address of its pages, without a trailing slash; undefined if the configuration does not name it. */
  readonly url: string | undefined;
}

/** One message: the notices that are due together, or a test. */
export interface Message {
  /** Id of the message. A repeat, sent because the first one may not have arrived, has the same id. */
  readonly id: string;
  readonly at: Date;
  readonly from: Installation;
  readonly test: boolean;
  readonly notices: readonly Notice[];
}

/** The page that shows each condition best. The overview shows the conditions that are not listed here. */
const PAGES: Partial<Record<Condition, (about: string) => string>> = {
  no_poll: (source) => `/polls?source=${source}`,
  source_refused: (source) => `/polls?source=${source}`,
  source_silent: (source) => `/polls?source=${source}`,
  listing_shrunk: (source) => `/leads?listing=gone&source=${source}`,
  leads_rejected: (source) => `/rejected?source=${source}&state=open`,
  sink_held: (sink) => `/sinks/${sink}`,
  sink_paused: (sink) => `/sinks/${sink}`,
  deliveries_dead: (sink) => `/deliveries?sink=${sink}&state=dead`,
  backlog_old: (sink) => `/deliveries?sink=${sink}&state=pending&order=oldest`,
  slow_to_lead: (sink) => `/sinks/${sink}`,
  config_stale: () => '/configuration',
};

const TEST =
  'This is a test message from leadsync: alerts arrive here. There is no problem, and no action is needed.';
const PREFIXES = { begun: '', lasts: 'Still: ', over: 'Over: ' } as const;

/** Returns the subject line of a message. */
export function subjectOf({ from, test, notices }: Message): string {
  const sender = from.name === undefined ? 'leadsync' : `leadsync ${from.name}`;
  if (test) return `${sender}: test`;
  const [first, ...more] = [...notices].sort((one, other) => rankOf(one) - rankOf(other));
  if (!first) return sender;
  const what = `${PREFIXES[first.kind]}${first.condition.replaceAll('_', ' ')}`;
  const about = first.about ? ` (${first.about})` : '';
  return `${sender}: ${what}${about}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}

/** Returns a message as plain text: a paragraph for each notice. Notices of conditions that are over come last. */
export function textOf({ from, test, notices }: Message): string {
  if (test) return [TEST, ...(from.url === undefined ? [] : [`Pages: ${from.url}/`])].join('\n');
  const sorted = [...notices].sort((one, other) => rankOf(one) - rankOf(other));
  return sorted.map((notice) => paragraphOf(notice, from)).join('\n\n');
}

/** Returns a message as JSON. */
export function jsonOf({ at, from, test, notices }: Message): string {
  return JSON.stringify({
    type: test ? 'leadsync.alert.test' : 'leadsync.alert',
    timestamp: at,
    installation: from.name ?? null,
    text: test ? TEST : undefined,
    notices: notices.map((notice) => ({
      state: notice.kind,
      condition: notice.condition,
      severity: notice.severity,
      about: notice.about ?? null,
      since: notice.since,
      at: notice.at,
      seconds: Math.round(lengthOf(notice) / 1000),
      what: inOneLine(notice.what),
      next: inOneLine(notice.next),
      url: pageOf(notice, from) ?? null,
      runbook: runbookOf(notice.condition),
      runbook_url: runbookUrlOf(notice.condition, from.url) ?? null,
    })),
  });
}

function paragraphOf(notice: Notice, from: Installation): string {
  const { kind, since, what, next, condition } = notice;
  const length = printSpan(lengthOf(notice));
  if (kind === 'over')
    return inOneLine(`Over after ${length}: ${what} The condition had started at ${printMinute(since)}.`);
  const lines = [`${PREFIXES[kind]}${what}`, `Since ${printMinute(since)} (${length}).`, `Next: ${next}`];
  const page = pageOf(notice, from);
  const links = page === undefined ? [] : [`Open ${page}`];
  const runbook = runbookUrlOf(condition, from.url) ?? runbookOf(condition);
  return [...lines.map(inOneLine), ...links, `See ${runbook}`].join('\n');
}

/** Returns the address of the page that shows the condition; undefined if the address of the pages is unknown. */
function pageOf({ condition, about }: Notice, { url }: Installation): string | undefined {
  return url && `${url}${PAGES[condition]?.(encodeURIComponent(about ?? '')) ?? '/'}`;
}

/** Orders notices: conditions that hold before those that are over, and critical ones first. */
function rankOf({ kind, severity }: Notice): number {
  return (kind === 'over' ? 2 : 0) + (severity === 'critical' ? 0 : 1);
}

function lengthOf({ since, at }: Notice): number {
  return Math.max(0, at.getTime() - since.getTime());
}

/** Shortens text and puts it on one line, because a reason can contain any text from a destination or a service. */
function inOneLine(text: string): string {
  const line = blanked(text).replace(/\s+/g, ' ').trim();
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH).toWellFormed()}…` : line;
}

const MAX_LENGTH = 600;
