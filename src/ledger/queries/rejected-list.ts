import type Database from 'better-sqlite3';
import type {
  FaultCount,
  Order,
  RejectedCount,
  RejectedSearch,
  RejectedText,
  Rows,
  StoredRejection,
} from '../contract/page-rows.ts';
import {
  type Cursor,
  countOf,
  FROM_NEWEST,
  inEachOrder,
  mergedRows,
  parseCursor,
} from '../rules/queries/keyset-page.ts';

/** Maximum number of rejected leads that are read for a count. */
const MAX_READ_FOR_COUNT = 50_000;

/** Maximum number of faults that a count returns. */
const MAX_FAULTS = 100;

type CountParameters = { source: string | null; state: string | null; most: number };

/** Reads the rejected leads, in the order in which they were first rejected, or rejected again after they had been resolved. */
export class RejectedList {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = {
      newest: db.prepare<[number], StoredRejection & Cursor>(REJECTIONS.newest),
      oldest: db.prepare<[number], StoredRejection & Cursor>(REJECTIONS.oldest),
      faults: db.prepare<[CountParameters], FaultCount & { counted: number }>(FAULTS),
      isLong: db.prepare<[], 1>(
        `SELECT 1 FROM rejected_leads ORDER BY rejected_id DESC LIMIT 1 OFFSET ${MAX_READ_FOR_COUNT}`,
      ),
      text: db.prepare<[number], RejectedText>(
        `SELECT ${COLUMNS}, r.raw FROM ${ROWS} WHERE r.rejected_id = ?`,
      ),
    };
  }

  page(
    { source, state }: RejectedSearch,
    limit: number,
    { no }: Cursor,
    order: Order,
  ): Rows<StoredRejection> {
    const fits = (row: StoredRejection) =>
      (source === undefined || row.source === source) && (state === undefined || row.state === state);
    const { rows, next } = mergedRows([this.#sql[order].iterate(no)], fits, { limit, order });
    return { rows: rows.map(({ at: _, no: __, ...row }) => row), next };
  }

  /** Returns one page of the rejected leads with ids below `before`, newest first. `next` is the `before` of the next page. */
  newest(search: RejectedSearch, limit: number, before: number = FROM_NEWEST.no) {
    const { rows, next } = this.page(search, limit, { at: 0, no: before }, 'newest');
    return { rows, next: next === null ? undefined : parseCursor(next)?.no };
  }

  /** Returns the number of matching rejected leads, but counts at most `most`, the newest first. */
  count({ source, state }: RejectedSearch, most: number): RejectedCount {
    const groups = this.#sql.faults.all({ source: source ?? null, state: state ?? null, most });
    const leads = groups[0]?.counted ?? 0;
    const hasMore = leads < most && this.#sql.isLong.get() !== undefined;
    return { ...countOf(leads, most, hasMore), faults: groups.map(({ counted: _, ...fault }) => fault) };
  }

  /** Returns the text of a rejected lead; undefined if no rejected lead has this id. */
  text(rejected: number): RejectedText | undefined {
    return this.#sql.text.get(rejected);
  }
}

const STATE = `CASE WHEN r.resolved_at IS NOT NULL THEN 'resolved'
      WHEN r.last_poll_id < (SELECT s.complete_poll FROM _sources s WHERE s.source = r.source) THEN 'gone' ELSE 'open' END`;
const COLUMNS = `r.rejected_id, r.source, CAST(r.lead_id AS TEXT) AS lead_id, r.path, r.reason,
    r.poll_id, first.started_at AS rejected_at, r.last_poll_id, last.started_at AS last_rejected_at, r.resolved_at,
    ${STATE} AS state`;
const ROWS =
  'rejected_leads r JOIN polls first ON first.poll_id = r.poll_id JOIN polls last ON last.poll_id = r.last_poll_id';

const FAULTS = `SELECT source, path, reason, count(*) AS leads, sum(count(*)) OVER () AS counted FROM (SELECT source, path, reason
    FROM (SELECT source, path, reason, resolved_at, last_poll_id FROM rejected_leads ORDER BY rejected_id DESC LIMIT ${MAX_READ_FOR_COUNT}) r
    WHERE (:source IS NULL OR r.source = :source) AND (:state IS NULL OR ${STATE} = :state) LIMIT :most)
  GROUP BY source, path, reason ORDER BY leads DESC, source, path, reason LIMIT ${MAX_FAULTS}`;

const REJECTIONS = inEachOrder(
  ({ follows, sorted }) => `SELECT 0 AS at, r.rejected_id AS no, ${COLUMNS} FROM ${ROWS}
  WHERE r.rejected_id ${follows} ? ORDER BY r.rejected_id ${sorted}`,
);
