import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import { WAIT_REASONS } from '../../leads/sink-health.ts';
import type { DeliveryRow, TraceEntry } from '../contract/status-rows.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { deliveryId } from '../database/views.ts';
import type { SinkRow } from '../rules/sink-row.ts';
import type { DeliveryList } from './delivery-list.ts';
import { refOf } from './delivery-rows.ts';
import { filterSql } from './filter-sql.ts';

/** Reads the history of a lead, in chronological order. */
export class LeadTrace {
  readonly #db: Database.Database;
  readonly #rows: SinkRows;
  readonly #deliveries: DeliveryList;

  constructor(db: Database.Database, rows: SinkRows, deliveries: DeliveryList) {
    this.#db = db;
    this.#rows = rows;
    this.#deliveries = deliveries;
  }

  of(lead: LeadId, source?: string): TraceEntry[] {
    const deliveries = this.#deliveries
      .ofLead(lead, source)
      .map(({ delivery }) => delivery)
      .reverse();
    const sinks = new Map(this.#rows.all().map((row) => [row.name, row]));
    const entries = [
      ...this.#rejections(lead, source),
      ...this.#versions(lead, source),
      ...deliveries.map(owed),
      ...this.#attempts(lead, source),
      ...deliveries.flatMap((row) => ended(row, sinks.get(row.sink))),
    ];
    // The sort is stable, so entries of the same millisecond stay in the order above, which is the order of events.
    return entries.sort((a, b) => a.at.getTime() - b.at.getTime());
  }

  /** Returns when the lead was rejected, and when it became valid. */
  #rejections(lead: LeadId, source: string | undefined): TraceEntry[] {
    const rows = this.#db
      .prepare<
        (string | bigint)[],
        Record<'source' | 'at' | 'reason' | 'path' | 'resolved_at', string | null>
      >(
        `SELECT r.source, p.started_at AS at, r.reason, r.path, r.resolved_at FROM rejected_leads r
         JOIN polls p ON p.poll_id = r.poll_id WHERE r.lead_id = ? ${source ? 'AND r.source = ?' : ''} ORDER BY r.rejected_id`,
      )
      .all(lead, ...(source ? [source] : []));
    return rows.flatMap((row) => {
      const shared = { sink: undefined, delivery: undefined, answer: undefined };
      const why = row.path ? `${row.path}: ${row.reason}` : row.reason;
      const detail = `source ${row.source}: ${why}`;
      const rejected = { ...shared, at: new Date(row.at ?? 0), what: 'rejected', detail };
      if (row.resolved_at === null) return [rejected];
      return [
        rejected,
        { ...shared, at: new Date(row.resolved_at), what: 'resolved', detail: `source ${row.source}` },
      ];
    });
  }

  #versions(lead: LeadId, source: string | undefined): TraceEntry[] {
    const rows = this.#db
      .prepare<
        (string | bigint)[],
        {
          source: string;
          version: number;
          valid_from: number;
          poll_id: number;
          changed_fields: string | null;
        }
      >(
        `SELECT source, version, valid_from, poll_id, changed_fields FROM _versions WHERE id = ? ${source ? 'AND source = ?' : ''} ORDER BY version_no`,
      )
      .all(lead, ...(source ? [source] : []));
    return rows.map((row) => ({
      at: new Date(row.valid_from),
      what: row.version === 1 ? 'listed' : 'changed',
      sink: undefined,
      delivery: undefined,
      detail: `source ${row.source}, poll ${row.poll_id}, version ${row.version}${row.changed_fields ? `: ${JSON.parse(row.changed_fields).join(', ')}` : ''}`,
      answer: undefined,
    }));
  }

  #attempts(lead: LeadId, source: string | undefined): TraceEntry[] {
    const { where, values } = filterSql({ lead, source });
    const rows = this.#db
      .prepare<
        (string | number | bigint)[],
        {
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
      >(
        `SELECT ${deliveryId} AS delivery, s.sink, a.*, iif(a.outcome = 'delivered', d.ref, NULL) AS ref,
         iif(a.outcome = 'delivered', d.reason, a.error) AS reason FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
         CROSS JOIN _sinks s ON s.sink_no = d.sink_no CROSS JOIN _attempts a ON a.delivery_no = d.delivery_no WHERE ${where} ${source === undefined ? 'AND v.source IN (SELECT source FROM _sources)' : ''} ORDER BY a.attempt_no`,
      )
      .all(...values);
    return rows.map(({ ref, ...row }) => ({
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
    }));
  }
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
 * Returns how a delivery ended or what it waits for. Returns nothing for a delivered delivery, because its attempt says that it was
 * delivered.
 */
function ended(row: DeliveryRow, sinkRow: SinkRow | undefined): TraceEntry[] {
  const { sink, delivery, state } = row;
  if (state === 'delivered') return [];
  const next = row.nextAttemptAt && waitsFor(row.nextAttemptAt, sinkRow);
  const detail = [next, row.reason].filter(Boolean).join('; ');
  const at = row.settledAt ?? row.nextAttemptAt ?? row.owedAt;
  return [{ at, what: state, sink, delivery, detail, answer: undefined }];
}

function waitsFor(nextAttemptAt: Date, sink: SinkRow | undefined): string {
  if (sink?.health.pausedSince) return WAIT_REASONS.paused;
  if (sink?.health.heldSince) return WAIT_REASONS.held;
  return `next attempt ${nextAttemptAt.toISOString()}`;
}

/** Returns how many consecutive attempts failed in the same way, and when the last of them began; undefined for a single attempt. */
function repeatsOf({ times, last_at }: { times: number; last_at: number | null }): string | undefined {
  return last_at === null
    ? undefined
    : `${times} attempts with the same result, last at ${new Date(last_at).toISOString()}`;
}
