import type Database from 'better-sqlite3';
import type { PolledHours, PollId, Vitals } from '../contract/status-rows.ts';
import { dateOf } from '../rules/queries/delivery-rows.ts';
import { MAX_POLLS, NOTHING_POLLED, polledHoursOf, type RawPoll } from '../rules/queries/polled-hours.ts';
import { IS_NEW_LEAD } from '../schema/views.ts';
import type { StatusQueries } from './status-queries.ts';

/** Number of the newest deliveries of all sinks among which delivery times are measured. */
const NEWEST_DELIVERIES = 5_000;
/** The frequent queries of alerts. Each query reads only the first entries of an index, or a limited number of rows. */
export class AlertQueries {
  readonly #sql;
  readonly #status: StatusQueries;

  constructor(db: Database.Database, status: StatusQueries) {
    this.#sql = prepare(db);
    this.#status = status;
  }

  all(recent: Date): Vitals {
    const speeds = Map.groupBy(this.#sql.speeds.all(NEWEST_DELIVERIES, recent.getTime()), ({ sink }) => sink);
    return {
      sources: this.#sql.sources.all().map(({ source, complete_at: ms }) => {
        const { leads, listed, listedLately, rejected } = this.#status.source(source);
        return { source, lastSuccessAt: dateOf(ms), leads, listed, listedLately, rejected };
      }),
      sinks: this.#status.backlog().map((backlog) => ({
        ...backlog,
        deadReason: backlog.dead > 0 ? this.#status.deadReason(backlog.sink) : undefined,
        lastDeadAt: dateOf(this.#sql.lastDead.get(backlog.sink)),
        recentMs: (speeds.get(backlog.sink) ?? []).map(({ ms }) => ms),
      })),
    };
  }

  polledHours(source: string, from: PollId | Date): PolledHours {
    const first = this.#sql.firstSuccess.get(source);
    if (first === undefined) return NOTHING_POLLED;
    const after = Math.max(first, from instanceof Date ? this.#pollBefore(from) : from);
    return polledHoursOf(this.#sql.polls.all(source, after, MAX_POLLS));
  }

  /** Finds the last poll before a time by binary search, because polls are numbered in chronological order. */
  #pollBefore(time: Date): PollId {
    let [before, from] = [0, (this.#sql.lastPoll.get() ?? 0) + 1];
    while (from - before > 1) {
      const middle = Math.floor((before + from) / 2);
      const startedAt = this.#sql.startedFrom.get(middle);
      if (startedAt !== undefined && new Date(startedAt) < time) before = middle;
      else from = middle;
    }
    return before;
  }
}

function prepare(db: Database.Database) {
  return {
    sources: db.prepare<[], { source: string; complete_at: number | null }>(
      'SELECT source, complete_at FROM _sources',
    ),
    lastDead: db
      .prepare<[string], number | null>(
        "SELECT max(settled_at) FROM _deliveries WHERE sink_no = (SELECT sink_no FROM _sinks WHERE sink = ?) AND state = 'dead'",
      )
      .pluck(),
    speeds: db.prepare<[number, number], { sink: string; ms: number }>(
      `SELECT s.sink, d.settled_at - v.first_seen_at AS ms FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no
       JOIN _sources o ON o.source = v.source JOIN _sinks s ON s.sink_no = d.sink_no
       WHERE d.delivery_no > (SELECT max(delivery_no) FROM _deliveries) - ? AND d.state = 'delivered' AND d.owed_at >= ? AND ${IS_NEW_LEAD}`,
    ),
    firstSuccess: db
      .prepare<[string], number>(
        "SELECT poll_id FROM polls WHERE source = ? AND status = 'success' ORDER BY poll_id LIMIT 1",
      )
      .pluck(),
    lastPoll: db.prepare<[], number | null>('SELECT max(poll_id) FROM polls').pluck(),
    startedFrom: db
      .prepare<[number], string>('SELECT started_at FROM polls WHERE poll_id >= ? ORDER BY poll_id LIMIT 1')
      .pluck(),
    polls: db.prepare<[string, number, number], RawPoll>(
      'SELECT poll_id, started_at, status, leads_new FROM polls WHERE source = ? AND poll_id > ? ORDER BY poll_id LIMIT ?',
    ),
  };
}
