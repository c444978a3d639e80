import type Database from 'better-sqlite3';
import type { RetainedKind } from '../../leads/retention.ts';

/** Maximum number of rows read in one chunk. */
const CHUNK_ROWS = 500;

/** Whether the ledger still stores the current content of the lead `l`. A lead without content cannot be sent. */
export const HAS_CONTENT = `(SELECT c.raw <> json_object('id', c.id) FROM _versions c WHERE c.version_no = l.version_no)`;

/** A chunk of rows: the number of its last row, and the rows to remove. `next` is undefined if there are no more rows. */
interface OldRows {
  readonly next: number | undefined;
  readonly rows: readonly number[];
}

interface Sql {
  readonly end: Database.Statement<[number, number], number | null>;
  readonly old: Database.Statement<[{ after: number; end: number; before: number; time: string }], number>;
  /** The statements that remove or empty rows. Each takes the numbers of the same rows, as a JSON array. */
  readonly remove: readonly Database.Statement<[string]>[];
}

/**
 * Removes data past its retention. Goes through each table in small chunks, by row number, so that other writers wait only briefly. A lead
 * keeps its row, its id and its hash. It keeps its content while a delivery of that content is pending or dead.
 */
export class Retaining {
  readonly #sql: Readonly<Record<RetainedKind, Sql>>;

  constructor(db: Database.Database) {
    this.#sql = prepare(db);
  }

  /** Finds the rows to remove in the chunk after the row number `after`. Only reads. */
  find(kind: RetainedKind, before: Date, after: number): OldRows {
    const { end, old } = this.#sql[kind];
    const last = end.get(after, CHUNK_ROWS) ?? undefined;
    if (last === undefined) return { next: undefined, rows: [] };
    const rows = old.all({ after, end: last, before: before.getTime(), time: before.toISOString() });
    return { next: last, rows };
  }

  /**
   * Removes rows, inside the caller's transaction. Keeps content if one of its deliveries has become pending or dead since `find`. Returns how
   * many rows it removed or emptied.
   */
  remove(kind: RetainedKind, rows: readonly number[]): number {
    const given = JSON.stringify(rows);
    return this.#sql[kind].remove.reduce((sum, sql) => sum + sql.run(given).changes, 0);
  }
}

/** Whether the version `v` has a pending delivery, or a dead delivery, which an operator may retry. */
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
      // The last attempt stays, without its answer and error, because SQLite would reuse its number and a mirror would confuse the two attempts.
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
      // Keeps rejected leads that are still listed, and those that were erased. Otherwise, the next poll would record them again, including the
      // text of erased ones.
      old: old(
        `SELECT r.rejected_id FROM rejected_leads r WHERE r.rejected_id > :after AND r.rejected_id <= :end AND r.raw <> ''
         AND r.rejected_id < (SELECT max(rejected_id) FROM rejected_leads)
         AND (r.resolved_at < :time OR r.resolved_at IS NULL
           AND r.last_poll_id < (SELECT s.complete_poll FROM _sources s WHERE s.source = r.source)
           AND (SELECT p.started_at FROM polls p WHERE p.poll_id = r.last_poll_id) < :time)`,
      ),
      remove: [
        db.prepare<[string]>(
          "DELETE FROM rejected_leads WHERE rejected_id IN (SELECT value FROM json_each(?)) AND raw <> ''",
        ),
      ],
    },
  };
}
