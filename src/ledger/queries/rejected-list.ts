import type Database from 'better-sqlite3';
import type { RejectedText, Rows, StoredRejection } from '../contract/page-rows.ts';
import { type Cursor, newestRows } from './keyset-page.ts';

/** Which rejected leads a list has. */
export interface RejectedSearch {
  readonly source?: string | undefined;
  readonly state?: 'open' | 'resolved' | undefined;
}

/** Reads the leads that could not be recorded, newest first. */
export class RejectedList {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = {
      rows: db.prepare<[number], StoredRejection & Cursor>(
        `SELECT 0 AS at, r.rejected_id AS no, r.rejected_id, r.source, CAST(r.lead_id AS TEXT) AS lead_id, r.path, r.reason, r.poll_id,
           first.started_at AS rejected_at, r.last_poll_id, last.started_at AS last_rejected_at, r.resolved_at
         FROM rejected_leads r JOIN polls first ON first.poll_id = r.poll_id JOIN polls last ON last.poll_id = r.last_poll_id
         WHERE r.rejected_id < ? ORDER BY r.rejected_id DESC`,
      ),
      text: db.prepare<[number], RejectedText>(
        'SELECT rejected_id, source, raw FROM rejected_leads WHERE rejected_id = ?',
      ),
    };
  }

  page({ source, state }: RejectedSearch, limit: number, { no }: Cursor): Rows<StoredRejection> {
    const fits = (row: StoredRejection) =>
      (source === undefined || row.source === source) &&
      (state === undefined || (state === 'open') === (row.resolved_at === null));
    const { rows, next } = newestRows([this.#sql.rows.iterate(no)], limit, fits);
    return { rows: rows.map(({ at: _, no: __, ...row }) => row), next };
  }

  /** Returns the text of a rejected lead; undefined if there is none of this number. */
  text(rejected: number): RejectedText | undefined {
    return this.#sql.text.get(rejected);
  }
}
