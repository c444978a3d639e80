import type { RetainedKind } from '../../leads/retention.ts';
import { type Statement, statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Maximum number of rows read in one chunk. */
const CHUNK_ROWS = 500;

/** A chunk of rows: the number of its last row, and the rows to remove. `next` is undefined if there are no more rows. */
interface OldRows {
  readonly next: number | undefined;
  readonly rows: readonly number[];
}

interface KindSql {
  /** Returns the number of the last row of the chunk after a row. */
  readonly end: Statement<{ no: number | null }>;
  readonly old: Statement<{ no: number }>;
  /** The statements that remove or empty rows. Each takes the numbers of the same rows. */
  readonly remove: readonly Statement<never>[];
}

/** Finds the rows to remove in the chunk after the row number `after`. Only reads. */
export async function findOld(
  tx: Transaction,
  kind: RetainedKind,
  before: Date,
  after: number,
): Promise<OldRows> {
  const { end, old } = KINDS[kind];
  const last = (await tx.first(end, [after, CHUNK_ROWS]))?.no ?? undefined;
  if (last === undefined) return { next: undefined, rows: [] };
  const rows = await tx.rows(old, [after, last, before.getTime()]);
  return { next: last, rows: rows.map(({ no }) => no) };
}

/**
 * Removes rows. Keeps content if one of its deliveries has become pending or dead since `findOld`, and a rejected lead that was listed again or
 * erased since. Returns how many rows it removed or emptied. A
 * lead keeps its row, its id and its hash.
 */
export async function removeOld(
  tx: Transaction,
  kind: RetainedKind,
  rows: readonly number[],
): Promise<number> {
  // Otherwise a replay or a retry could owe the content at the same time.
  tx.requireOwingLock();
  let removed = 0;
  for (const sql of KINDS[kind].remove) removed += await tx.run(sql, [rows]);
  return removed;
}

/** Whether the version `v` has a pending delivery, or a dead delivery, which an operator may retry. */
const OWED = `EXISTS (SELECT 1 FROM _deliveries d WHERE d.version_no = v.version_no AND d.state IN ('pending', 'dead'))`;

const endOf = (table: string, number: string) =>
  statement<{ no: number | null }>(
    `end-of${table}`,
    `SELECT max(n.no) AS no FROM (SELECT ${number} AS no FROM ${table} WHERE ${number} > $1 ORDER BY ${number} LIMIT $2) n`,
  );

const EMPTY_VERSIONS = statement(
  'empty-versions',
  `UPDATE _versions v SET raw = '{"id":' || id || '}', readable = NULL, safe_raw = NULL WHERE version_no = ANY ($1::bigint[]) AND NOT ${OWED}`,
);

const versions = (name: string, current: string): KindSql => ({
  end: endOf('_versions', 'version_no'),
  old: statement(
    name,
    `SELECT v.version_no AS no FROM _versions v WHERE v.version_no > $1 AND v.version_no <= $2 AND v.valid_from < $3
     AND ${current} (SELECT 1 FROM _leads l WHERE l.source = v.source AND l.id = v.id AND l.version_no = v.version_no)
     AND v.raw <> '{"id":' || v.id || '}' AND NOT ${OWED}`,
  ),
  remove: [EMPTY_VERSIONS],
});

const KINDS: Readonly<Record<RetainedKind, KindSql>> = {
  leads: versions('old-leads', 'EXISTS'),
  versions: versions('old-versions', 'NOT EXISTS'),
  attempts: {
    end: endOf('_attempts', 'attempt_no'),
    // As in SQLite, the last attempt stays, without its answer and error.
    old: statement(
      'old-attempts',
      `SELECT a.attempt_no AS no FROM _attempts a JOIN _deliveries d ON d.delivery_no = a.delivery_no
       WHERE a.attempt_no > $1 AND a.attempt_no <= $2 AND coalesce(a.last_at, a.started_at) < $3 AND d.state <> 'pending'
       AND (a.attempt_no < (SELECT max(attempt_no) FROM _attempts) OR a.answer IS NOT NULL OR a.error IS NOT NULL)`,
    ),
    remove: [
      statement(
        'delete-attempts',
        'DELETE FROM _attempts WHERE attempt_no = ANY ($1::bigint[]) AND attempt_no < (SELECT max(attempt_no) FROM _attempts)',
      ),
      statement(
        'empty-attempts',
        'UPDATE _attempts SET answer = NULL, error = NULL WHERE attempt_no = ANY ($1::bigint[])',
      ),
    ],
  },
  rejected_leads: {
    end: endOf('_rejected_leads', 'rejected_id'),
    // Keeps rejected leads that are still listed, and those that were erased. Otherwise, the next poll would record them again, including the
    // text of erased ones.
    old: statement(
      'old-rejected',
      `SELECT r.rejected_id AS no FROM _rejected_leads r WHERE r.rejected_id > $1 AND r.rejected_id <= $2 AND r.raw <> ''
       AND r.rejected_id < (SELECT max(rejected_id) FROM _rejected_leads)
       AND (r.resolved_at < $3 OR r.resolved_at IS NULL
         AND r.last_poll_id < (SELECT s.complete_poll FROM _sources s WHERE s.source = r.source)
         AND (SELECT p.started_at FROM _polls p WHERE p.poll_id = r.last_poll_id) < $3)`,
    ),
    remove: [
      statement(
        'delete-rejected',
        `DELETE FROM _rejected_leads r WHERE r.rejected_id = ANY ($1::bigint[]) AND r.raw <> ''
         AND (r.resolved_at IS NOT NULL OR r.last_poll_id < (SELECT s.complete_poll FROM _sources s WHERE s.source = r.source))`,
      ),
    ],
  },
};
