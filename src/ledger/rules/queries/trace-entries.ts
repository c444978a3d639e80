import { WAIT_REASONS } from '../../../leads/sink-health.ts';
import type { DeliveryRow, TraceEntry } from '../../contract/status-rows.ts';
import type { SinkRow } from '../delivering/sink-row.ts';
import { refOf } from './delivery-rows.ts';

type TracedSink = Pick<SinkRow, 'name' | 'health'>;

/** A rejection of a lead. Times are ISO 8601 text or ms since 1970. */
export interface TracedRejection {
  source: string;
  at: string | number;
  reason: string;
  path: string;
  resolved_at: string | number | null;
}

/** A version of a lead. */
export interface TracedVersion {
  source: string;
  version: number;
  valid_from: number;
  poll_id: number;
  changed_fields: string | null;
}

/** An attempt of a delivery, or several in a row that failed in the same way. */
export interface TracedAttempt {
  delivery: string;
  sink: string;
  started_at: number;
  duration_ms: number;
  outcome: string;
  http_status: number | null;
  reason: string | null;
  answer: string | null;
  times: number;
  last_at: number | null;
  ref: string | null;
}

/** Returns the history of a lead, in chronological order. `deliveries` are oldest first. */
export function traceOf(
  deliveries: readonly DeliveryRow[],
  sinks: ReadonlyMap<string, TracedSink>,
  {
    rejections,
    versions,
    attempts,
  }: Readonly<Record<'rejections' | 'versions' | 'attempts', readonly TraceEntry[]>>,
): TraceEntry[] {
  const entries = [
    ...rejections,
    ...versions,
    ...deliveries.map(owed),
    ...attempts,
    ...deliveries.flatMap((row) => ended(row, sinks.get(row.sink))),
  ];
  // The sort is stable, so entries of the same millisecond stay in the order above, which is the order of events.
  return entries.sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** Returns the entries for a lead's rejection and, if there was one, its later recording. */
export function rejectedEntries(row: TracedRejection): TraceEntry[] {
  const shared = { sink: undefined, delivery: undefined, answer: undefined };
  const why = row.path ? `${row.path}: ${row.reason}` : row.reason;
  const detail = `source ${row.source}: ${why}`;
  const rejected = { ...shared, at: new Date(row.at), what: 'rejected', detail };
  if (row.resolved_at === null) return [rejected];
  return [
    rejected,
    { ...shared, at: new Date(row.resolved_at), what: 'resolved', detail: `source ${row.source}` },
  ];
}

/** Returns the entry for the listing of a version. */
export function versionEntry(row: TracedVersion): TraceEntry {
  return {
    at: new Date(row.valid_from),
    what: row.version === 1 ? 'listed' : 'changed',
    sink: undefined,
    delivery: undefined,
    detail: `source ${row.source}, poll ${row.poll_id}, version ${row.version}${row.changed_fields ? `: ${JSON.parse(row.changed_fields).join(', ')}` : ''}`,
    answer: undefined,
  };
}

/** Returns the entry for the end of an attempt. */
export function attemptEntry({ ref, ...row }: TracedAttempt): TraceEntry {
  return {
    at: new Date(row.started_at + row.duration_ms),
    what: row.outcome,
    sink: row.sink,
    delivery: row.delivery,
    detail: [
      `${row.duration_ms} ms`,
      row.http_status && `HTTP ${row.http_status}`,
      repeatsOf(row),
      row.reason,
    ]
      .filter(Boolean)
      .join(', '),
    answer: row.answer ?? undefined,
    ref: refOf(ref),
  };
}

function owed(row: DeliveryRow): TraceEntry {
  const { sink, delivery, owedAt, event } = row;
  return {
    at: owedAt,
    what: 'owed',
    sink,
    delivery,
    detail: row.replay ? `${event}, replay` : event,
    answer: undefined,
  };
}

/**
 * Returns the entry for the end of a delivery, or for what it waits for. Returns nothing for a delivered delivery, because its attempt has an entry.
 */
function ended(row: DeliveryRow, sinkRow: TracedSink | undefined): TraceEntry[] {
  const { sink, delivery, state } = row;
  if (state === 'delivered') return [];
  const next = row.nextAttemptAt && waitsFor(row.nextAttemptAt, sinkRow);
  const detail = [next, row.reason].filter(Boolean).join('; ');
  const at = row.settledAt ?? row.nextAttemptAt ?? row.owedAt;
  return [{ at, what: state, sink, delivery, detail, answer: undefined }];
}

function waitsFor(nextAttemptAt: Date, sink: TracedSink | undefined): string {
  if (sink?.health.pausedSince) return WAIT_REASONS.paused;
  if (sink?.health.heldSince) return WAIT_REASONS.held;
  return `next attempt ${nextAttemptAt.toISOString()}`;
}

/** Returns a phrase with the number of attempts that failed in the same way, and the start of the last; undefined for a single attempt. */
function repeatsOf({ times, last_at }: { times: number; last_at: number | null }): string | undefined {
  return last_at === null
    ? undefined
    : `${times} attempts with the same result, last at ${new Date(last_at).toISOString()}`;
}
