import type Database from 'better-sqlite3';
import { LEFT_OUT } from '../../leads/outcome.ts';
import type {
  Backlog,
  DeadReason,
  LedgerStatus,
  PollRow,
  PollStatus,
  Retrying,
  SinkStatus,
  SourceStatus,
} from '../contract/status-rows.ts';
import { DAYS_COMPARED, dayOf } from '../database/listing-size-days.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import type { SinkRow } from '../rules/delivering/sink-row.ts';
import { dateOf } from '../rules/queries/delivery-rows.ts';

/** Reads the status of sources and sinks. */
export class StatusQueries {
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

  #backlog({ sinkNo, name, health, active, counts }: SinkRow): Backlog {
    const { pending, dead } = counts;
    const oldestOwedAt = dateOf(this.#sql.oldest.get(sinkNo));
    return { sink: name, pending, dead, oldestOwedAt, health, active };
  }

  /** Returns the most frequent reason among the last 1,000 dead deliveries of a sink, if there are any. */
  deadReason(sink: string): DeadReason | undefined {
    return this.#sql.deadReason.get(sink);
  }

  status(): LedgerStatus {
    const sources = this.#db.prepare('SELECT source FROM _sources ORDER BY source').pluck().all() as string[];
    const restoredAt = this.#db.prepare<[], number>('SELECT restored_at FROM _ledger').pluck().get();
    return {
      sources: sources.map((source) => this.source(source)),
      sinks: this.#sinks(),
      restoredAt: dateOf(restoredAt),
    };
  }

  source(source: string): SourceStatus {
    const row = this.#db
      .prepare<[string], { complete_at: number | null; leads: number; listed: number; rejected: number }>(
        'SELECT complete_at, leads, listed, rejected FROM _sources WHERE source = ?',
      )
      .get(source);
    const lastPoll = this.#lastPoll(source);
    const ended = lastPoll?.status === 'running' ? this.#pollBefore(lastPoll) : lastPoll;
    const failure = ended && hasFailed(ended) ? ended : undefined;
    return {
      source,
      leads: row?.leads ?? 0,
      listed: row?.listed ?? 0,
      rejected: row?.rejected ?? 0,
      listedLately: this.#listedLately(source, row?.complete_at ?? 0),
      lastPoll,
      lastSuccessAt: dateOf(row?.complete_at),
      failedBefore: lastPoll?.status === 'running' ? failure : undefined,
      failingSince: failure && this.#failingSince(source, failure),
    };
  }

  #failingSince(source: string, { startedAt }: PollRow): Date {
    const complete = ['success', 'unchanged'].map(
      (status) => this.#sql.lastOfStatus.get(source, status) ?? 0,
    );
    const first = this.#sql.firstPollAfter.get(source, Math.max(...complete));
    return first === undefined ? startedAt : new Date(first);
  }

  /**
   * Returns the size of the largest listing in the week up to the last complete listing. A listing that has been small for more than a week
   * counts as normal. Ignores later days, which were recorded while the clock was ahead.
   */
  #listedLately(source: string, completeAt: number): number {
    const day = dayOf(completeAt);
    return this.#sql.mostListed.get(source, day - DAYS_COMPARED, day) ?? 0;
  }

  #lastPoll(source: string): PollRow | undefined {
    const row = this.#db
      .prepare<[string], Record<string, string | number | null>>(
        'SELECT * FROM polls WHERE source = ? ORDER BY poll_id DESC LIMIT 1',
      )
      .get(source);
    return row && pollRow(row);
  }

  #pollBefore({ source, poll }: PollRow): PollRow | undefined {
    const row = this.#db
      .prepare<[string, number], Record<string, string | number | null>>(
        'SELECT * FROM polls WHERE source = ? AND poll_id < ? ORDER BY poll_id DESC LIMIT 1',
      )
      .get(source, poll);
    return row && pollRow(row);
  }

  #sinks(): SinkStatus[] {
    return this.#rows.all().map((row) => ({
      ...this.#backlog(row),
      deadReason: row.counts.dead > 0 ? this.deadReason(row.name) : undefined,
      deadSince: dateOf(this.#sql.firstDead.get(row.sinkNo)),
      lastDeadAt: dateOf(this.#sql.lastDead.get(row.sinkNo)),
      delivered: row.counts.delivered,
      skipped: row.counts.skipped,
      leftOut: this.#sql.leftOut.get(row.sinkNo, row.health.lastDeliveredAt?.getTime() ?? 0, LEFT_OUT) ?? 0,
      dueSince: dateOf(this.#sql.due.get(row.sinkNo, row.sinkNo)),
      retrying: this.#retrying(row.sinkNo),
      replays: this.#sql.replays.get(row.sinkNo) ?? 0,
    }));
  }

  #retrying(sinkNo: number): Retrying | undefined {
    const next = this.#sql.nextRetry.get(sinkNo);
    if (!next) return undefined;
    const { deliveries, since } = this.#sql.retrying.get(sinkNo) ?? { deliveries: 0, since: null };
    return {
      deliveries,
      since: new Date(since ?? next.at),
      reason: next.reason,
      nextAttemptAt: new Date(next.at),
    };
  }
}

function hasFailed({ status }: PollRow): boolean {
  return status === 'failed' || status === 'partial';
}

/** Returns the last `limit` polls of all sources, newest first. */
export function lastPolls(db: Database.Database, limit: number): PollRow[] {
  return db
    .prepare<[number], Record<string, string | number | null>>(
      'SELECT * FROM polls ORDER BY poll_id DESC LIMIT ?',
    )
    .all(limit)
    .map(pollRow);
}

/** Converts a row of the table `polls`. */
export function pollRow(row: Record<string, string | number | null>): PollRow {
  return {
    poll: Number(row['poll_id']),
    source: String(row['source']),
    startedAt: new Date(String(row['started_at'])),
    finishedAt: row['finished_at'] === null ? undefined : new Date(String(row['finished_at'])),
    status: row['status'] as PollStatus,
    listed: Number(row['leads_listed']),
    new: Number(row['leads_new']),
    changed: Number(row['leads_changed']),
    rejected: Number(row['leads_rejected']),
    error: row['error'] === null ? undefined : String(row['error']),
  };
}

/** Prepares the frequent queries of metrics and status. Each query reads only the first entries of an index, or a small index. */
function prepare(db: Database.Database) {
  return {
    mostListed: db
      .prepare<[string, number, number], number | null>(
        'SELECT max(most) FROM _listing_sizes WHERE source = ? AND day BETWEEN ? AND ?',
      )
      .pluck(),
    lastOfStatus: db
      .prepare<[string, string], number | null>(
        'SELECT max(poll_id) FROM polls INDEXED BY _polls_by_status WHERE source = ? AND status = ?',
      )
      .pluck(),
    firstPollAfter: db
      .prepare<[string, number], string>(
        'SELECT started_at FROM polls INDEXED BY _polls_by_source WHERE source = ? AND poll_id > ? ORDER BY poll_id LIMIT 1',
      )
      .pluck(),
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
    leftOut: db
      .prepare<[number, number, string], number>(
        `SELECT count(*) FROM (SELECT reason FROM _deliveries WHERE sink_no = ? AND state = 'skipped' AND owed_at > ?
           ORDER BY owed_at DESC LIMIT 1000) WHERE substr(reason, 1, ${LEFT_OUT.length}) = ?`,
      )
      .pluck(),
    retrying: db.prepare<[number], { deliveries: number; since: number | null }>(
      `SELECT count(*) AS deliveries, min(first_attempt_at) AS since FROM _deliveries
       WHERE sink_no = ? AND state = 'pending' AND reason IS NOT NULL`,
    ),
    deadReason: db.prepare<[string], DeadReason>(
      `SELECT coalesce(reason, '') AS reason, count(*) AS deliveries FROM (SELECT reason FROM _deliveries
         WHERE sink_no = (SELECT sink_no FROM _sinks WHERE sink = ?) AND state = 'dead' ORDER BY settled_at DESC LIMIT 1000) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1`,
    ),
    firstDead: db
      .prepare<[number], number | null>(
        "SELECT min(settled_at) FROM _deliveries WHERE sink_no = ? AND state = 'dead'",
      )
      .pluck(),
    lastDead: db
      .prepare<[number], number | null>(
        "SELECT max(settled_at) FROM _deliveries WHERE sink_no = ? AND state = 'dead'",
      )
      .pluck(),
    replays: db
      .prepare<[number], number>(
        "SELECT count(*) FROM _deliveries WHERE sink_no = ? AND state = 'pending' AND replay > 0",
      )
      .pluck(),
    nextRetry: db.prepare<[number], { reason: string; at: number }>(
      `SELECT reason, next_attempt_at AS at FROM _deliveries
       WHERE sink_no = ? AND state = 'pending' AND reason IS NOT NULL ORDER BY next_attempt_at LIMIT 1`,
    ),
  };
}
