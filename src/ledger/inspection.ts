import type Database from 'better-sqlite3';
import type { LeadId } from '../leads/lead.ts';
import { HELD_BACK } from '../leads/sink-health.ts';
import { type FilterSql, filterSql } from './filter-sql.ts';
import type { DeliveryFilter } from './ledger.ts';
import type {
  Backlog,
  DeliveryRow,
  LedgerStatus,
  PollRow,
  Retrying,
  SinkStatus,
  SourceStatus,
  TraceEntry,
} from './shown.ts';
import type { SinkRow, SinkRows } from './sink-rows.ts';
import { deliveryId } from './views.ts';

const JOINED =
  '_deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no';

export interface RawDelivery {
  delivery_no: number;
  delivery: string;
  source: string;
  id: string;
  version: number;
  event: DeliveryRow['event'];
  sink: string;
  state: DeliveryRow['state'];
  reason: string | null;
  attempts: number;
  replay: number;
  owed_at: number;
  next_attempt_at: number | null;
  settled_at: number | null;
}

/** Everything that people ask the ledger. Reads only. */
export class Inspection {
  readonly #db: Database.Database;
  readonly #rows: SinkRows;
  readonly #sql;

  constructor(db: Database.Database, rows: SinkRows) {
    this.#db = db;
    this.#rows = rows;
    this.#sql = prepare(db);
  }

  backlog(): Backlog[] {
    return this.#rows.all().map((row) => this.#backlog(row));
  }

  #backlog({ sinkNo, name, health, counts }: SinkRow): Backlog {
    const { pending, dead } = counts;
    return { sink: name, pending, dead, oldestOwedAt: dateOf(this.#sql.oldest.get(sinkNo)), health };
  }

  status(): LedgerStatus {
    const sources = this.#db.prepare('SELECT source FROM _sources ORDER BY source').pluck().all() as string[];
    return { sources: sources.map((source) => this.#source(source)), sinks: this.#sinks() };
  }

  #source(source: string): SourceStatus {
    const row = this.#db
      .prepare<[string], { complete_at: number | null; leads: number; listed: number; rejected: number }>(
        'SELECT complete_at, leads, listed, rejected FROM _sources WHERE source = ?',
      )
      .get(source);
    return {
      source,
      leads: row?.leads ?? 0,
      listed: row?.listed ?? 0,
      rejected: row?.rejected ?? 0,
      lastPoll: this.#lastPoll(source),
      lastSuccessAt: dateOf(row?.complete_at),
    };
  }

  #lastPoll(source: string): PollRow | undefined {
    const row = this.#db
      .prepare<[string], Record<string, string | number | null>>(
        'SELECT * FROM polls WHERE source = ? ORDER BY poll_id DESC LIMIT 1',
      )
      .get(source);
    return row && pollRow(row);
  }

  #sinks(): SinkStatus[] {
    return this.#rows.all().map((row) => ({
      ...this.#backlog(row),
      active: row.active,
      delivered: row.counts.delivered,
      skipped: row.counts.skipped,
      dueSince: dateOf(this.#sql.due.get(row.sinkNo, row.sinkNo)),
      retrying: this.#retrying(row.sinkNo),
    }));
  }

  #retrying(sinkNo: number): Retrying | undefined {
    const next = this.#sql.nextRetry.get(sinkNo);
    if (!next) return undefined;
    const deliveries = this.#sql.retrying.get(sinkNo) ?? 0;
    return { deliveries, reason: next.reason, nextAttemptAt: new Date(next.at) };
  }

  /** Newest first; `before` is the last delivery of the page before. */
  deliveries(filter: DeliveryFilter, page: { limit: number; before?: string | undefined }): DeliveryRow[] {
    const { where, values } = filterSql(filter);
    if (page.before !== undefined) {
      const before = filterSql({ delivery: page.before });
      const last = this.#db
        .prepare(`SELECT d.delivery_no FROM ${JOINED} WHERE ${before.where}`)
        .pluck()
        .get(...before.values);
      return this.#select(
        { where: `${where} AND d.delivery_no < ?`, values: [...values, Number(last ?? 0)] },
        page.limit,
      );
    }
    return this.#select({ where, values }, page.limit);
  }

  #select({ where, values }: FilterSql, limit: number): DeliveryRow[] {
    const rows = this.#db
      .prepare<(string | number | bigint)[], RawDelivery>(
        `SELECT d.*, ${deliveryId} AS delivery, v.source, CAST(v.id AS TEXT) AS id, v.version, s.sink FROM ${JOINED}
         WHERE ${where} ORDER BY d.delivery_no DESC LIMIT ?`,
      )
      .all(...values, limit);
    return rows.map(toDeliveryRow);
  }

  trace(lead: LeadId, source?: string): TraceEntry[] {
    const deliveries = this.#select(filterSql({ lead, source }), 1000).reverse();
    const sinks = new Map(this.#rows.all().map((row) => [row.name, row]));
    const entries = [
      ...this.#setAside(lead, source),
      ...this.#versions(lead, source),
      ...deliveries.map(owed),
      ...this.#attempts(lead, source),
      ...deliveries.flatMap((row) => ended(row, sinks.get(row.sink))),
    ];
    // Within a millisecond the order above is the order of things: sorting keeps it.
    return entries.sort((a, b) => a.at.getTime() - b.at.getTime());
  }

  /** When it broke the description, and when it came right. */
  #setAside(lead: LeadId, source: string | undefined): TraceEntry[] {
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
      const aside = { ...shared, at: new Date(row.at ?? 0), what: 'set aside', detail };
      if (row.resolved_at === null) return [aside];
      return [
        aside,
        { ...shared, at: new Date(row.resolved_at), what: 'came right', detail: `source ${row.source}` },
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
          error: string | null;
          answer: string | null;
          times: number;
          last_at: number | null;
        }
      >(
        `SELECT ${deliveryId} AS delivery, s.sink, a.* FROM _attempts a JOIN ${JOINED} WHERE a.delivery_no = d.delivery_no AND ${where} ORDER BY a.attempt_no`,
      )
      .all(...values);
    return rows.map((row) => ({
      at: new Date(row.started_at + row.duration_ms),
      what: row.outcome,
      sink: row.sink,
      delivery: row.delivery,
      detail: [
        `${row.duration_ms} ms`,
        row.http_status && `HTTP ${row.http_status}`,
        repeatsOf(row),
        row.error,
      ]
        .filter(Boolean)
        .join(', '),
      answer: row.answer ?? undefined,
    }));
  }
}

/** A poll from its row in `polls`. */
export function pollRow(row: Record<string, string | number | null>): PollRow {
  return {
    poll: Number(row['poll_id']),
    source: String(row['source']),
    startedAt: new Date(String(row['started_at'])),
    finishedAt: row['finished_at'] === null ? undefined : new Date(String(row['finished_at'])),
    status: row['status'] as PollRow['status'],
    listed: Number(row['leads_listed']),
    new: Number(row['leads_new']),
    changed: Number(row['leads_changed']),
    rejected: Number(row['leads_rejected']),
    error: row['error'] === null ? undefined : String(row['error']),
  };
}

/** What metrics and status ask for, often: each reads an index's first entries, or those of one that is small. */
function prepare(db: Database.Database) {
  return {
    oldest: db
      .prepare<[number], number | null>(
        "SELECT min(owed_at) FROM _deliveries WHERE sink_no = ? AND state = 'pending'",
      )
      .pluck(),
    due: db
      .prepare<[number, number], number | null>(
        `SELECT min(at) FROM (
           SELECT min(next_attempt_at) AS at FROM _deliveries WHERE sink_no = ? AND state = 'pending' AND batch_no IS NULL
           UNION ALL SELECT min(d.next_attempt_at) FROM _batches b JOIN _deliveries d ON d.batch_no = b.batch_no WHERE b.sink_no = ?)`,
      )
      .pluck(),
    retrying: db
      .prepare<[number], number>(
        "SELECT count(*) FROM _deliveries WHERE sink_no = ? AND state = 'pending' AND reason IS NOT NULL",
      )
      .pluck(),
    nextRetry: db.prepare<[number], { reason: string; at: number }>(
      `SELECT reason, next_attempt_at AS at FROM _deliveries
       WHERE sink_no = ? AND state = 'pending' AND reason IS NOT NULL ORDER BY next_attempt_at LIMIT 1`,
    ),
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

/** How a delivery ended or what it waits for; a delivered one was said to be by its attempt. */
function ended(row: DeliveryRow, sinkRow: SinkRow | undefined): TraceEntry[] {
  const { sink, delivery, state } = row;
  if (state === 'delivered') return [];
  const next = row.nextAttemptAt && waitsFor(row.nextAttemptAt, sinkRow);
  const detail = [next, row.reason].filter(Boolean).join('; ');
  const at = row.settledAt ?? row.nextAttemptAt ?? row.owedAt;
  return [{ at, what: state, sink, delivery, detail, answer: undefined }];
}

function waitsFor(nextAttemptAt: Date, sink: SinkRow | undefined): string {
  if (sink?.health.pausedSince) return HELD_BACK.paused;
  if (sink?.health.heldSince) return HELD_BACK.held;
  return `next attempt ${nextAttemptAt.toISOString()}`;
}

export function toDeliveryRow(row: RawDelivery): DeliveryRow {
  return {
    delivery: row.delivery,
    source: row.source,
    lead: row.id,
    version: row.version,
    event: row.event,
    sink: row.sink,
    state: row.state,
    reason: row.reason ?? undefined,
    attempts: row.attempts,
    replay: row.replay > 0,
    owedAt: new Date(row.owed_at),
    nextAttemptAt: dateOf(row.next_attempt_at),
    settledAt: dateOf(row.settled_at),
  };
}

function dateOf(ms: number | null | undefined): Date | undefined {
  return ms == null ? undefined : new Date(ms);
}

/** How often an attempt failed alike, and until when; nothing for a single one. */
function repeatsOf({ times, last_at }: { times: number; last_at: number | null }): string | undefined {
  return last_at === null ? undefined : `${times} times alike, last at ${new Date(last_at).toISOString()}`;
}
