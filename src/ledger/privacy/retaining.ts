import type Database from 'better-sqlite3';
import type { RetainedKind } from '../../leads/retention.ts';

/** So many rows are looked at in one part. */
const MAX_READ_PER_STEP = 500;

/** Of the lead with the row `l`: its current content has not been removed. What has no content can be sent to nobody. */
export const HAS_CONTENT = `(SELECT c.raw <> json_object('id', c.id) FROM _versions c WHERE c.version_no = l.version_no)`;

/** The next rows of a part: where it ends, and which of them are to go. */
interface Look {
  readonly next: number | undefined;
  readonly rows: readonly number[];
}

interface Sql {
  readonly end: Database.Statement<[number, number], number | null>;
  readonly old: Database.Statement<[{ after: number; end: number; before: number; time: string }], number>;
  /** Each takes the same rows. */
  readonly remove: readonly Database.Statement<[string]>[];
}

/**
 * Removes what is older than it is to be kept. It goes through a table by its numbers, a small part at a time, so that nobody
 * waits for it. A lead keeps its row, its id and its hash, and what is owed keeps its content.
 */
export class Retaining {
  readonly #sql: Readonly<Record<RetainedKind, Sql>>;

  constructor(db: Database.Database) {
    this.#sql = prepare(db);
  }

  /** Only reads. */
  look(kind: RetainedKind, before: Date, after: number): Look {
    const { end, old } = this.#sql[kind];
    const last = end.get(after, MAX_READ_PER_STEP) ?? undefined;
    if (last === undefined) return { next: undefined, rows: [] };
    const rows = old.all({ after, end: last, before: before.getTime(), time: before.toISOString() });
    return { next: last, rows };
  }

  /** Inside the caller's transaction. What came to be owed since it was looked at keeps its content. */
  remove(kind: RetainedKind, rows: readonly number[]): number {
    const given = JSON.stringify(rows);
    return this.#sql[kind].remove.reduce((sum, sql) => sum + sql.run(given).changes, 0);
  }
}

/** The version `v` is owed to somebody, or was given up and may be asked for once more. */
const OWED = `EXISTS (SELECT 1 FROM _deliveries d WHERE d.version_no = v.version_no AND d.state IN ('pending', 'dead'))`;

function prepare(db: Database.Database): Record<RetainedKind, Sql> {
  const end = (table: string, number: string) =>
    db
      .prepare<[number, number], number | null>(
        `SELECT max(n) FROM (SELECT ${number} AS n FROM ${table} WHERE ${number} > ? ORDER BY ${number} LIMIT ?)`,
      )
      .pluck();
  const old = (sql: string) =>
    db.prepare<[{ after: number; end: number; before: number; time: string }], number>(sql).pluck();
  const versions = (current: string) => ({
    end: end('_versions', 'version_no'),
    old: old(
      `SELECT v.version_no FROM _versions v WHERE v.version_no > :after AND v.version_no <= :end AND v.valid_from < :before
       AND ${current} (SELECT 1 FROM _leads l WHERE l.source = v.source AND l.id = v.id AND l.version_no = v.version_no)
       AND v.raw <> json_object('id', v.id) AND NOT ${OWED}`,
    ),
    remove: [
      db.prepare<[string]>(
        `UPDATE _versions AS v SET raw = json_object('id', id), readable = NULL, safe_raw = NULL
         WHERE version_no IN (SELECT value FROM json_each(?)) AND NOT ${OWED}`,
      ),
    ],
  });
  return {
    leads: versions('EXISTS'),
    versions: versions('NOT EXISTS'),
    attempts: {
      end: end('_attempts', 'attempt_no'),
      // The last stays, without its text: its number would be given to another, which a mirror would take for it.
      old: old(
        `SELECT a.attempt_no FROM _attempts a JOIN _deliveries d ON d.delivery_no = a.delivery_no
         WHERE a.attempt_no > :after AND a.attempt_no <= :end AND coalesce(a.last_at, a.started_at) < :before AND d.state <> 'pending'
         AND (a.attempt_no < (SELECT max(attempt_no) FROM _attempts) OR a.answer IS NOT NULL OR a.error IS NOT NULL)`,
      ),
      remove: [
        db.prepare<[string]>(
          `DELETE FROM _attempts WHERE attempt_no IN (SELECT value FROM json_each(?))
           AND attempt_no < (SELECT max(attempt_no) FROM _attempts)`,
        ),
        db.prepare<[string]>(
          'UPDATE _attempts SET answer = NULL, error = NULL WHERE attempt_no IN (SELECT value FROM json_each(?))',
        ),
      ],
    },
    rejected_leads: {
      end: end('rejected_leads', 'rejected_id'),
      // One that is still listed would come again at once; one that was erased would come again with its text.
      old: old(
        `SELECT r.rejected_id FROM rejected_leads r WHERE r.rejected_id > :after AND r.rejected_id <= :end AND r.raw <> ''
         AND r.rejected_id < (SELECT max(rejected_id) FROM rejected_leads)
         AND (r.resolved_at < :time OR r.resolved_at IS NULL
           AND r.last_poll_id < (SELECT s.complete_poll FROM _sources s WHERE s.source = r.source)
           AND (SELECT p.started_at FROM polls p WHERE p.poll_id = r.last_poll_id) < :time)`,
      ),
      remove: [
        db.prepare<[string]>(
          'DELETE FROM rejected_leads WHERE rejected_id IN (SELECT value FROM json_each(?))',
        ),
      ],
    },
  };
}
