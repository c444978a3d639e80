import type Database from 'better-sqlite3';
import type { Order, RejectedSearch, RejectedText, Rows, StoredRejection } from '../contract/page-rows.ts';
import { type Cursor, FROM_NEWEST, inEachOrder, mergedRows, parseCursor } from './keyset-page.ts';

/** Reads the rejected leads, in the order in which they were first rejected, or rejected again after they had been resolved. */
export class RejectedList {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = {
      newest: db.prepare<[number], StoredRejection & Cursor>(REJECTIONS.newest),
      oldest: db.prepare<[number], StoredRejection & Cursor>(REJECTIONS.oldest),
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

  /** Returns the text of a rejected lead; undefined if no rejected lead has this id. */
  text(rejected: number): RejectedText | undefined {
    return this.#sql.text.get(rejected);
  }
}

const COLUMNS = `r.rejected_id, r.source, CAST(r.lead_id AS TEXT) AS lead_id, r.path, r.reason,
    r.poll_id, first.started_at AS rejected_at, r.last_poll_id, last.started_at AS last_rejected_at, r.resolved_at,
    CASE WHEN r.resolved_at IS NOT NULL THEN 'resolved'
      WHEN r.last_poll_id < (SELECT s.complete_poll FROM _sources s WHERE s.source = r.source) THEN 'gone' ELSE 'open' END AS state`;
const ROWS =
  'rejected_leads r JOIN polls first ON first.poll_id = r.poll_id JOIN polls last ON last.poll_id = r.last_poll_id';

const REJECTIONS = inEachOrder(
  ({ follows, sorted }) => `SELECT 0 AS at, r.rejected_id AS no, ${COLUMNS} FROM ${ROWS}
  WHERE r.rejected_id ${follows} ? ORDER BY r.rejected_id ${sorted}`,
);
