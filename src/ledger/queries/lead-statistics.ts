import type Database from 'better-sqlite3';
import type { Speed } from '../contract/page-rows.ts';
import { type Arrival, MAX_SAMPLE, sampleOf, speedOf } from '../rules/speed.ts';
import { IS_NEW_LEAD } from '../schema/views.ts';

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

  /** Returns versions that are spread evenly. If there are many, begins after the first import of each source, whose leads are not new. */
  #sampleSince(since: Date): number[] {
    const last = this.#sql.newest.get() ?? 0;
    const all = this.#firstVersion(() => since.getTime());
    const isSample = last - all >= MAX_SAMPLE;
    const first = isSample
      ? this.#firstVersion((source) => Math.max(since.getTime(), this.#importedUntil(source)))
      : all;
    return sampleOf(first, last);
  }

  /** Returns the first version of leads that were first seen at or after a time, which can differ for each source. */
  #firstVersion(from: (source: string) => number): number {
    const firsts = this.#sources().map((source) => this.#sql.firstSince.get(source, from(source)));
    return Math.min(...firsts.filter((no) => no !== undefined));
  }

  /** Returns when the first poll of a source ended, in ms, if it recorded leads; otherwise 0. */
  #importedUntil(source: string): number {
    const ended = this.#sql.firstImport.get(source);
    return ended === undefined ? 0 : Date.parse(ended) + 1;
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
    firstImport: db
      .prepare<[string], string>(
        `SELECT p.finished_at FROM _sources o CROSS JOIN polls p WHERE o.source = ? AND p.finished_at IS NOT NULL
           AND p.poll_id = (SELECT poll_id FROM _versions INDEXED BY _versions_first WHERE version = 1 AND source = o.source ORDER BY valid_from LIMIT 1)
           AND unixepoch(p.started_at, 'subsec') * 1000 <= o.first_listed_at`,
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
