import type { AttemptEntry, LeadEntry, PollEntry } from '../../ledger/contract/feed-entries.ts';
import type { FollowEvent, SinkChange } from '../../operations/follow-ledger.ts';
import { printable } from '../../platform/text/printable.ts';
import { readPollError } from '../../status/poll-error.ts';
import type { Paint, Tone } from '../shell/colour.ts';
import { eventTone } from './tones.ts';

/** Whether an event concerns the given sink and source, as far as they are given. An event about the ledger itself always does. */
export function isAbout(
  event: FollowEvent,
  { sink, source }: { readonly sink?: string; readonly source?: string },
): boolean {
  if (event.kind === 'ledger') return true;
  if (sink !== undefined && !('sink' in event && event.sink === sink)) return false;
  return source === undefined || ('source' in event && event.source === source);
}

/** Whether to show an event. Complete polls that found nothing new or changed are left out. */
export function isShown(event: FollowEvent): boolean {
  if (event.kind !== 'poll') return true;
  const { status, new: found, changed } = event;
  return status === 'failed' || status === 'partial' || found + changed > 0;
}

/** Returns an event as one line: time, kind, subject and details. Colours the kind. */
export function feedLine(event: FollowEvent, paint: Paint): string {
  const [what, about, ...more] = wordsOf(event);
  const detail = more.filter((word) => word !== undefined && word !== '').join(', ');
  const kind = paint(toneOf(event, what), printable(what.padEnd(11)));
  return `${event.at.toISOString()}  ${kind}  ${printable(detail === '' ? about : `${about}: ${detail}`)}\n`;
}

function toneOf(event: FollowEvent, what: string): Tone | undefined {
  if (event.kind === 'ledger') return event.what === 'away' ? 'bad' : undefined;
  if (event.kind !== 'poll') return eventTone(what);
  if (event.status === 'failed') return 'bad';
  return event.status === 'partial' ? 'warning' : undefined;
}

type Words = [what: string, about: string, ...more: (string | undefined)[]];

function wordsOf(event: FollowEvent): Words {
  switch (event.kind) {
    case 'poll':
      return pollWords(event);
    case 'lead':
      return leadWords(event);
    case 'rejection': {
      const { source, lead, path, reason } = event;
      return ['rejected', `${source} ${lead ?? 'without an id'}`, path ? `${path}: ${reason}` : reason];
    }
    case 'attempt':
      return attemptWords(event);
    case 'sink':
      return [event.what, event.sink, event.reason];
    case 'ledger':
      return ['ledger', LEDGER_WORDS[event.what], event.reason];
  }
}

const LEDGER_WORDS = {
  away: 'cannot be read now',
  back: 'can be read again',
  another: 'was replaced; the new one is followed from now on',
} as const;

function pollWords({ source, status, listed, new: found, changed, error }: PollEntry): Words {
  const counts = `${listed} listed, ${found} new, ${changed} changed`;
  return ['poll', source, status, counts, error && readPollError(error).reason];
}

function leadWords({ source, lead, version, changedFields, raw }: LeadEntry): Words {
  return [version === 1 ? 'new' : 'changed', `${source} ${lead}`, changedFields.join(', '), raw];
}

function attemptWords(attempt: AttemptEntry): Words {
  const { outcome, sink, source, lead, durationMs, httpStatus, error, state, nextAttemptAt, answer } =
    attempt;
  return [
    outcome,
    `${sink} ${source} ${lead}`,
    `${durationMs} ms`,
    httpStatus === undefined ? undefined : `HTTP ${httpStatus}`,
    state === 'dead' ? 'given up' : undefined,
    state === 'pending' && nextAttemptAt ? `next attempt ${nextAttemptAt.toISOString()}` : undefined,
    [error, answer && `Answer: ${answer}`].filter(Boolean).join(' '),
  ];
}

/** Returns an event as JSON, with the column names of the ledger's views. Absent values are null, but `raw`, `answer` and `sink` are left out. */
export function feedJson(event: FollowEvent): Record<string, unknown> {
  const { at, kind } = event;
  switch (kind) {
    case 'poll': {
      const { source, poll, status, listed, new: found, changed, rejected, error = null } = event;
      const counts = {
        leads_listed: listed,
        leads_new: found,
        leads_changed: changed,
        leads_rejected: rejected,
      };
      return { at, kind, source, poll_id: poll, status, ...counts, error };
    }
    case 'lead': {
      const { source, lead, version, changedFields, raw } = event;
      const content = raw === undefined ? {} : { raw };
      return { at, kind, source, lead_id: lead, version, changed_fields: changedFields, ...content };
    }
    case 'rejection':
      return {
        at,
        kind,
        source: event.source,
        lead_id: event.lead ?? null,
        path: event.path,
        reason: event.reason,
      };
    case 'attempt':
      return attemptJson(event);
    case 'sink':
    case 'ledger':
      return changeJson(event);
  }
}

function attemptJson(attempt: AttemptEntry): Record<string, unknown> {
  const { at, kind, sink, source, lead, delivery, outcome, durationMs, state, answer } = attempt;
  return {
    at,
    kind,
    sink,
    source,
    lead_id: lead,
    delivery_id: delivery,
    outcome,
    duration_ms: durationMs,
    http_status: attempt.httpStatus ?? null,
    error: attempt.error ?? null,
    state,
    next_attempt_at: attempt.nextAttemptAt ?? null,
    ...(answer === undefined ? {} : { answer }),
  };
}

function changeJson(
  change: Pick<SinkChange, 'at' | 'reason'> & { kind: string; what: string; sink?: string },
) {
  const { at, kind, what, sink, reason = null } = change;
  return { at, kind, ...(sink === undefined ? {} : { sink }), what, reason };
}
