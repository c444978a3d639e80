import type Database from 'better-sqlite3';
import type { Speed } from '../contract/page-rows.ts';
import { IS_NEW_LEAD } from '../schema/views.ts';
import { type Arrival, sampleOf, speedOf } from '../rules/speed.ts';

const HOUR_MS = 3_600_000;
/** Counts and measures the leads of a period. Uses indexes and does a bounded amount of work. */
export class Measures {
  readonly #db: Database.Database;
  readonly #sql;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#sql = prepare(db);
  }

  /**
   * Returns how many leads were first seen in each of the last `hours` hours, oldest first. The last hour is the one that contains `now`.
   */
  newLeads(now: Date, hours: number): { readonly hour: Date; readonly leads: number }[] {
    const sources = this.#sources();
    const first = Math.floor(now.getTime() / HOUR_MS) - hours + 1;
    return Array.from({ length: hours }, (_, index) => {
      const from = (first + index) * HOUR_MS;
      const counts = sources.map((source) => this.#sql.firstSeen.get(source, from, from + HOUR_MS) ?? 0);
      return { hour: new Date(from), leads: counts.reduce((sum, count) => sum + count, 0) };
    });
  }

  /**
   * Returns, for each sink, how fast leads that were first seen since a time were delivered. Measures only new leads (see `IS_NEW_LEAD`),
   * because the age of other leads does not show how fast leadsync is.
   */
  speed(since: Date): Speed[] {
    const arrivals = this.#sql.arrivals.all(JSON.stringify(this.#sampleSince(since)));
    const sinks = this.#db
      .prepare<[], { sink_no: number; sink: string }>('SELECT sink_no, sink FROM _sinks')
      .all();
    const bySink = Map.groupBy(arrivals, ({ sinkNo }) => sinkNo);
    return sinks.map(({ sink_no, sink }) => speedOf(sink, bySink.get(sink_no) ?? []));
  }

  /** Returns how fast leads that were first seen since a time were delivered to one sink, as `speed` does for all sinks. */
  speedOf(sink: string, since: Date): Speed {
    const own = this.speed(since).find((one) => one.sink === sink);
    return own ?? speedOf(sink, []);
  }

  #sampleSince(since: Date): number[] {
    const firsts = this.#sources().map((source) => this.#sql.firstSince.get(source, since.getTime()));
    const first = Math.min(...firsts.filter((no) => no !== undefined));
    return sampleOf(first, this.#sql.newest.get() ?? 0);
  }

  #sources(): string[] {
    return this.#db.prepare<[], string>('SELECT source FROM _sources').pluck().all();
  }
}

function prepare(db: Database.Database) {
  const firsts =
    'FROM _versions INDEXED BY _versions_first WHERE version = 1 AND source = ? AND valid_from >= ?';
  return {
    firstSeen: db
      .prepare<[string, number, number], number>(`SELECT count(*) ${firsts} AND valid_from < ?`)
      .pluck(),
    firstSince: db
      .prepare<[string, number], number>(
        `SELECT version_no ${firsts} ORDER BY valid_from, version_no LIMIT 1`,
      )
      .pluck(),
    newest: db.prepare<[], number | null>('SELECT max(version_no) FROM _versions').pluck(),
    // One statement for the whole sample: SQLite would compile a statement with a join again for each version (docs/decisions/0011).
    arrivals: db.prepare<[string], Arrival>(
      `SELECT d.sink_no AS sinkNo, v.first_seen_at AS seen, v.created_at AS created, d.settled_at AS delivered
       FROM json_each(?) s CROSS JOIN _versions v ON v.version_no = s.value JOIN _sources o ON o.source = v.source
       CROSS JOIN _deliveries d ON d.version_no = v.version_no
       WHERE v.version = 1 AND d.state = 'delivered' AND ${IS_NEW_LEAD}`,
    ),
  };
}
