import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import type { Count, LeadRow, LeadSearch, Order, Rows } from '../contract/page-rows.ts';
import {
  type Cursor,
  countOf,
  FROM_NEWEST,
  inEachOrder,
  mergedRows,
  rowsAfter,
  startingAt,
} from '../rules/queries/keyset-page.ts';
import { type Period, periodOf } from '../rules/queries/period.ts';

/** A lead as the SQL of a list returns it. The progress of its deliveries is read only for the rows of the page. */
type Row = Omit<LeadRow, keyof Progress> & Cursor;
type Progress = Pick<LeadRow, 'owedSinks' | 'deliveredSinks' | 'deadSinks'>;
type Range = Cursor & Period & { source: string };
type ServiceNumbers = { service: string; to: number; from: number };
type ServiceCount = Period & ServiceNumbers & { source: string | null; period: number; most: number };
type ServiceRange = Period & ServiceNumbers & { after: number; no: number };

/** Maximum number of leads that are read for one page if the deliveries of each have to be read, too. */
const MAX_WITH_PROGRESS = 5_000;
/** Maximum number of versions of a service that are read for a count. */
const MAX_READ_FOR_COUNT = 50_000;

/** Lists the leads that match a filter, in the order in which they were first seen. */
export class LeadList {
  readonly #db: Database.Database;
  readonly #sql;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#sql = prepare(db);
  }

  page(search: LeadSearch, limit: number, after: Cursor, order: Order): Rows<LeadRow> {
    const lists = this.#listsOf(search, after, order);
    const most = search.delivered === undefined ? {} : { most: MAX_WITH_PROGRESS };
    const { rows, next } = mergedRows(lists, (row) => this.#fits(row, search), { limit, order, ...most });
    return { rows: rows.map((row) => this.#shown(row)), next };
  }

  one(source: string, lead: LeadId): LeadRow | undefined {
    const row = this.#sql.one.get(source, lead);
    return row && this.#shown(row);
  }

  /** Returns the number of matching leads, but counts at most `most`. */
  count(search: LeadSearch, most: number): Count {
    const { source, lead, service, listing, delivered } = search;
    if ((lead ?? listing ?? delivered) !== undefined) return this.#countRows(search, most);
    if (service !== undefined) return this.#countOfService(service, search, most);
    let counted = 0;
    for (const one of this.#sources(source))
      counted += this.#sql.count.get({ source: one, ...periodOf(search), most: most - counted }) ?? 0;
    return countOf(counted, most);
  }

  /** Counts leads by reading their rows. */
  #countRows(search: LeadSearch, most: number): Count {
    const lists = this.#listsOf(search, FROM_NEWEST, 'newest');
    const reading = { limit: most, order: 'newest' } as const;
    const { rows, next } = mergedRows(lists, (row) => this.#fits(row, search), reading);
    return countOf(rows.length, most, next !== null);
  }

  #countOfService(service: string, search: LeadSearch, most: number): Count {
    const { since, until } = periodOf(search);
    const range = { service, from: this.#firstNoSince(since), to: this.#firstNoSince(until) };
    const hasPeriod = (search.since ?? search.until) !== undefined;
    const conditions = { source: search.source ?? null, period: Number(hasPeriod), since, until, most };
    const count = this.#sql.countOfService.get({ ...range, ...conditions }) ?? 0;
    return countOf(count, most, count < most && this.#sql.hasMoreOfService.get(range) !== undefined);
  }

  #shown({ at: _, no: __, ...row }: Row): LeadRow {
    return { ...row, ...this.#progressOf(row) };
  }

  #progressOf({ source, lead }: Pick<Row, 'source' | 'lead'>): Progress {
    const none = { owedSinks: 0, deliveredSinks: 0, deadSinks: 0 };
    return this.#sql.progress.get(source, BigInt(lead)) ?? none;
  }

  #fits(row: Row, search: LeadSearch): boolean {
    if (!fits(row, search)) return false;
    if (search.delivered === undefined) return true;
    const { owedSinks, deliveredSinks } = this.#progressOf(row);
    return (deliveredSinks === owedSinks) === (search.delivered === 'everywhere');
  }

  #listsOf(search: LeadSearch, after: Cursor, order: Order): Iterator<Row>[] {
    const { lead, service } = search;
    if (lead !== undefined) return [this.#named(search.source, lead, after, order).values()];
    if (search.listing === 'gone') return this.#gone(search, after, order);
    if (service !== undefined) return [this.#ofService(service, search, after, order)];
    const begin = startingAt(after, search, order);
    return this.#sources(search.source).map((source) =>
      // Prepares a statement for each list, because the same statement cannot be iterated twice at the same time.
      this.#db.prepare<[Range], Row>(FIRST_VERSIONS[order]).iterate({ source, ...begin }),
    );
  }

  #gone({ source }: LeadSearch, { no }: Cursor, order: Order): Iterator<Row>[] {
    return this.#sources(source).map((one) =>
      this.#db.prepare<[{ source: string; no: number }], Row>(GONE[order]).iterate({ source: one, no }),
    );
  }

  #named(source: string | undefined, lead: LeadId, after: Cursor, order: Order): Row[] {
    const rows = this.#sources(source).flatMap((one) => this.#sql.one.get(one, lead) ?? []);
    return rowsAfter(rows, after, order);
  }

  /** Lists the leads of a service. Versions are numbered in chronological order, so a period is a range of version numbers. */
  #ofService(service: string, search: LeadSearch, after: Cursor, order: Order): Iterator<Row> {
    const { since, until } = periodOf(search);
    const range = { from: this.#firstNoSince(since), to: this.#firstNoSince(until) };
    const statement = order === 'newest' ? this.#sql.ofService : this.#sql.ofServiceOldest;
    return statement.iterate({ service, ...range, after: after.at, no: after.no, since, until });
  }

  /** Returns the number of the first version that was recorded at or after a time. */
  #firstNoSince(at: number): number {
    const newest = this.#sql.newest.get() ?? 0;
    let [low, high] = [0, newest + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const cameAt = this.#sql.cameAt.get(middle);
      if (cameAt !== undefined && cameAt < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #sources(source: string | undefined): string[] {
    if (source !== undefined) return [source];
    return this.#db.prepare<[], string>('SELECT source FROM _sources').pluck().all();
  }
}

/** `c` is the present version of the lead. `f` is the version by which the list is sorted. */
const COLUMNS = `c.source, CAST(c.id AS TEXT) AS lead, c.service_slug AS service, c.version, c.created_at AS createdAt,
  c.first_seen_at AS firstSeenAt, c.valid_from AS changedAt, l.last_listed_at AS lastListedAt,
  iif(l.last_listed_at IS NULL, NULL, (SELECT g.noted_at FROM _presence g WHERE g.source = l.source AND g.id = l.id)) AS goneAt`;
const PRESENT =
  'CROSS JOIN _leads l ON l.source = f.source AND l.id = f.id CROSS JOIN _versions c ON c.version_no = l.version_no';

const FIRST_VERSIONS = inEachOrder(
  ({
    follows,
    sorted,
  }) => `SELECT ${COLUMNS}, f.valid_from AS at, f.version_no AS no FROM _versions f INDEXED BY _versions_first ${PRESENT}
  WHERE f.version = 1 AND f.source = :source AND (f.valid_from, f.version_no) ${follows} (:at, :no)
  AND f.valid_from >= :since AND f.valid_from < :until ORDER BY f.valid_from ${sorted}, f.version_no ${sorted}`,
);

/** Sorted by `presence_no` instead of by time, so that a clock that was set back does not change the order. */
const GONE = inEachOrder(
  ({
    follows,
    sorted,
  }) => `SELECT ${COLUMNS}, 0 AS at, p.presence_no AS no FROM _presence p INDEXED BY _presence_gone
  CROSS JOIN _leads l ON l.source = p.source AND l.id = p.id CROSS JOIN _versions c ON c.version_no = l.version_no
  WHERE p.source = :source AND p.last_listed_at IS NOT NULL AND p.presence_no ${follows} :no AND l.erased_no IS NULL
  ORDER BY p.presence_no ${sorted}`,
);

/** A lead that left a service and returned to it is listed by its first version in that service. */
const OF_SERVICE = inEachOrder(
  ({
    follows,
    sorted,
  }) => `SELECT ${COLUMNS}, f.version_no AS at, 1 AS no FROM _versions f INDEXED BY _versions_by_service ${PRESENT}
  WHERE f.service_slug = :service AND f.version_no >= :from AND f.version_no < :to AND (f.version_no, 1) ${follows} (:after, :no)
  AND f.valid_from >= :since AND f.valid_from < :until AND c.service_slug = f.service_slug
  AND (f.version = 1 OR NOT EXISTS (SELECT 1 FROM _versions e WHERE e.source = f.source AND e.id = f.id
    AND e.version < f.version AND e.service_slug = f.service_slug))
  ORDER BY f.version_no ${sorted}`,
);

const IN_SERVICE = `_versions INDEXED BY _versions_by_service
  WHERE service_slug = :service AND version_no >= :from AND version_no < :to ORDER BY version_no DESC`;
/** Reads the rows of `_versions` only of leads that changed, and if there is a period. The indexes and `_leads` are much smaller. */
const COUNT_OF_SERVICE = `SELECT count(*) FROM (SELECT 1 FROM (SELECT version_no FROM ${IN_SERVICE} LIMIT ${MAX_READ_FOR_COUNT}) listed
  CROSS JOIN _versions n INDEXED BY _versions_facts ON n.version_no = listed.version_no
  CROSS JOIN _leads l ON l.source = n.source AND l.id = n.id
  WHERE (:source IS NULL OR n.source = :source)
  AND (:period = 0 OR EXISTS (SELECT 1 FROM _versions p WHERE p.version_no = listed.version_no AND p.valid_from >= :since AND p.valid_from < :until))
  AND (l.version_no = listed.version_no OR :service = (SELECT c.service_slug FROM _versions c WHERE c.version_no = l.version_no))
  AND (l.first_no = listed.version_no OR NOT EXISTS (SELECT 1 FROM _versions e WHERE e.source = n.source AND e.id = n.id
    AND e.version_no < listed.version_no AND e.service_slug = :service))
  LIMIT :most)`;
const HAS_MORE_OF_SERVICE = `SELECT 1 FROM ${IN_SERVICE} LIMIT 1 OFFSET ${MAX_READ_FOR_COUNT}`;

function prepare(db: Database.Database) {
  return {
    one: db.prepare<[string, bigint], Row>(
      `SELECT ${COLUMNS}, c.first_seen_at AS at, l.first_no AS no FROM _leads l JOIN _versions c ON c.version_no = l.version_no
       WHERE l.source = ? AND l.id = ?`,
    ),
    ofService: db.prepare<[ServiceRange], Row>(OF_SERVICE.newest),
    ofServiceOldest: db.prepare<[ServiceRange], Row>(OF_SERVICE.oldest),
    countOfService: db.prepare<[ServiceCount], number>(COUNT_OF_SERVICE).pluck(),
    hasMoreOfService: db.prepare<[ServiceNumbers], { 1: 1 }>(HAS_MORE_OF_SERVICE),
    count: db
      .prepare<[Period & { source: string; most: number }], number>(
        `SELECT count(*) FROM (SELECT 1 FROM _versions INDEXED BY _versions_first WHERE version = 1 AND source = :source
         AND valid_from >= :since AND valid_from < :until LIMIT :most)`,
      )
      .pluck(),
    // SQLite takes the bare column `state` from the row with the maximum.
    progress: db.prepare<[string, bigint], Progress>(
      `SELECT count(*) AS owedSinks, coalesce(sum(state = 'delivered'), 0) AS deliveredSinks,
         coalesce(sum(state = 'dead'), 0) AS deadSinks FROM (
         SELECT d.state, max(d.delivery_no) FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
         WHERE v.source = ? AND v.id = ? GROUP BY d.sink_no) WHERE state <> 'skipped'`,
    ),
    newest: db.prepare<[], number>('SELECT max(version_no) FROM _versions').pluck(),
    cameAt: db
      .prepare<[number], number>(
        'SELECT valid_from FROM _versions WHERE version_no >= ? ORDER BY version_no LIMIT 1',
      )
      .pluck(),
  };
}

/** Whether a lead meets the conditions that the SQL of the lists does not check. */
function fits(row: Row, search: LeadSearch): boolean {
  const { source, lead, service, listing } = search;
  if (source !== undefined && row.source !== source) return false;
  const isGone = row.lastListedAt !== null;
  if (listing !== undefined && isGone !== (listing === 'gone')) return false;
  if (lead === undefined && listing !== 'gone') return true;
  const { since, until } = periodOf(search);
  const at = listing === 'gone' ? (row.goneAt ?? 0) : row.firstSeenAt;
  return since <= at && at < until && (service === undefined || row.service === service);
}
