import type Database from 'better-sqlite3';
import type { Speed } from '../contract/page-rows.ts';
import { type Arrival, MAX_SAMPLE, MAX_STEPPED, sampleOf, speedOf } from '../rules/queries/speed.ts';
import { IS_NEW_LEAD } from '../schema/views.ts';

const HOUR_MS = 3_600_000;

/** The leads of a source that were first seen at or after a time, in ms since 1970. */
interface Since {
  readonly source: string;
  readonly from: number;
}

/** Counts and measures the leads of a period. Uses indexes and does a bounded amount of work. */
export class LeadStatistics {
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
      const counts = sources.map(
        (source) => this.#sql.firstSeen.get({ source, from, until: from + HOUR_MS }) ?? 0,
      );
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

  /** Returns versions that are spread evenly over the leads of each source, in every source with the same step. */
  #sampleSince(since: Date): number[] {
    const sources = this.#sources().map((source) => this.#leadsSince(source, since.getTime()));
    const step = Math.ceil(sources.reduce((sum, { leads }) => sum + leads, 0) / MAX_SAMPLE);
    return sources.flatMap(({ leads, ...of }) =>
      leads < MAX_STEPPED ? this.#sql.everyNth.all({ ...of, step }) : this.#sampleByNumber(of),
    );
  }

  /** Returns how many leads a source has since a time, up to `MAX_STEPPED`. If there are many, begins after its first import, whose leads are not new. */
  #leadsSince(source: string, since: number): Since & { readonly leads: number } {
    const count = (from: number) => this.#sql.countSince.get({ source, from }) ?? 0;
    const leads = count(since);
    if (leads <= MAX_SAMPLE) return { source, from: since, leads };
    const from = Math.max(since, this.#importedUntil(source));
    return { source, from, leads: count(from) };
  }

  /** Returns versions that are spread evenly over those of all sources since a time. Most of them are of this source, because it has so many leads. */
  #sampleByNumber(since: Since): number[] {
    const first = this.#sql.firstSince.get(since);
    return first === undefined ? [] : sampleOf(first, this.#sql.newest.get() ?? 0);
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
    'FROM _versions INDEXED BY _versions_first WHERE version = 1 AND source = :source AND valid_from >= :from';
  return {
    firstSeen: db
      .prepare<[Since & { readonly until: number }], number>(
        `SELECT count(*) ${firsts} AND valid_from < :until`,
      )
      .pluck(),
    countSince: db
      .prepare<[Since], number>(`SELECT count(*) FROM (SELECT 1 ${firsts} LIMIT ${MAX_STEPPED})`)
      .pluck(),
    firstSince: db
      .prepare<[Since], number>(`SELECT version_no ${firsts} ORDER BY valid_from, version_no LIMIT 1`)
      .pluck(),
    everyNth: db
      .prepare<[Since & { readonly step: number }], number>(
        `SELECT version_no FROM (SELECT version_no, row_number() OVER (ORDER BY valid_from, version_no) - 1 AS n ${firsts}) WHERE n % :step = 0`,
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
