import type { DeliveryState } from '../../../leads/delivery.ts';
import type { Outcome } from '../../../leads/outcome.ts';
import type {
  AttemptEntry,
  FeedEntry,
  LeadEntry,
  PollEntry,
  RejectionEntry,
} from '../../contract/feed-entries.ts';
import type { PollRow } from '../../contract/status-rows.ts';
import { dateOf } from './delivery-rows.ts';

/** Maximum number of rows of each kind per page of the change feed. */
export const MAX_FEED_ROWS = 500;

/** A new version of a lead. */
export interface FeedLead {
  no: number;
  source: string;
  lead: string;
  version: number;
  at: number;
  changed_fields: string | null;
  raw: string | null;
}

/** A rejected lead. `at` is an ISO 8601 time in UTC, or ms since 1970. */
export interface FeedRejection {
  no: number;
  source: string;
  lead: string | null;
  path: string;
  reason: string;
  at: string | number;
}

/** An attempt with its delivery. */
export interface FeedAttempt {
  no: number;
  delivery: string;
  sink: string;
  source: string;
  lead: string;
  started_at: number;
  duration_ms: number;
  outcome: Outcome['kind'];
  http_status: number | null;
  error: string | null;
  answer: string | null;
  state: DeliveryState;
  next_attempt_at: number | null;
}

/** The rows of one page of the change feed. */
interface FeedRows {
  readonly polls: readonly PollRow[];
  readonly leads: readonly FeedLead[];
  readonly rejections: readonly FeedRejection[];
  readonly attempts: readonly FeedAttempt[];
}

/** Returns the entries of a page in chronological order. `withData` adds the answers from destinations. */
export function feedEntries(
  { polls, leads, rejections, attempts }: FeedRows,
  withData: boolean,
): FeedEntry[] {
  return [
    ...polls.map(toPoll),
    ...leads.map(toLead),
    ...rejections.map(toRejection),
    ...attempts.map((row) => toAttempt(row, withData)),
  ].sort((one, other) => one.at.getTime() - other.at.getTime());
}

function toPoll({ startedAt, finishedAt, ...poll }: PollRow): PollEntry {
  return { kind: 'poll', at: finishedAt ?? startedAt, ...poll };
}

function toLead({ source, lead, version, at, changed_fields, raw }: FeedLead): LeadEntry {
  const changedFields = changed_fields === null ? [] : JSON.parse(changed_fields);
  return { kind: 'lead', at: new Date(at), source, lead, version, changedFields, raw: raw ?? undefined };
}

function toRejection({ source, lead, path, reason, at }: FeedRejection): RejectionEntry {
  return { kind: 'rejection', at: new Date(at), source, lead: lead ?? undefined, path, reason };
}

function toAttempt(row: FeedAttempt, withData: boolean): AttemptEntry {
  const { sink, source, lead, delivery, duration_ms: durationMs, outcome, state } = row;
  return {
    kind: 'attempt',
    at: new Date(row.started_at + durationMs),
    sink,
    source,
    lead,
    delivery,
    outcome,
    durationMs,
    httpStatus: row.http_status ?? undefined,
    error: row.error ?? undefined,
    answer: withData ? (row.answer ?? undefined) : undefined,
    state,
    nextAttemptAt: dateOf(row.next_attempt_at),
  };
}
