import type Database from 'better-sqlite3';
import { mayHaveArrived, type Outcome } from '../../leads/outcome.ts';
import type { Attempt } from '../contract/ledger-delivering.ts';
import { boundBy, isLike, isUncounted, type Result } from '../rules/delivering/results.ts';
import { KEEPS_MAPPING } from '../schema/views.ts';

/** The attempt of a batch, and whether the batch is kept after it. */
export interface BatchSettlement {
  readonly attempt: Attempt;
  readonly now: number;
  readonly batchNo: number;
  /** The mapping of the attempt; null if the leads were sent as received. */
  readonly mappingNo: number | null;
  /** Whether the batch is kept, to be attempted again as the same batch. */
  readonly kept: boolean;
  /** Whether the batch is kept and some of its deliveries may have arrived, in which case all of them count as possibly arrived. */
  readonly keptUnsure: boolean;
}

type WriteSql = ReturnType<typeof prepareWrite>;

/** Writes the results of deliveries and their attempts. Runs inside its caller's transaction. */
export class Results {
  readonly #oneDelivery: WriteSql;
  readonly #wholeBatch: WriteSql;

  constructor(db: Database.Database) {
    this.#oneDelivery = prepareWrite(db, 'delivery_no');
    this.#wholeBatch = prepareWrite(db, 'batch_no');
  }

  /**
   * Writes the results of all deliveries of a batch, in one statement if the results are the same. Returns the numbers of the first and the
   * last row that it added to `_attempts`; undefined if it added none.
   */
  write(
    results: readonly Result[],
    settlement: BatchSettlement,
  ): { readonly first: number; readonly last: number } | undefined {
    const [first] = results;
    const added =
      first && results.length > 1 && results.every((result) => isLike(result, first))
        ? [this.#write(this.#wholeBatch, settlement.batchNo, first, settlement)]
        : results.map((result) => this.#write(this.#oneDelivery, result.deliveryNo, result, settlement));
    const rows = added.filter(({ changes }) => changes > 0);
    const [oldest, newest] = [rows[0], rows.at(-1)];
    if (!oldest || !newest) return undefined;
    return {
      first: Number(oldest.lastInsertRowid) - oldest.changes + 1,
      last: Number(newest.lastInsertRowid),
    };
  }

  /**
   * Writes one result, and its attempt, for the deliveries that `sql` finds by `key`. Returns the number of rows added to `_attempts`, and the
   * number of the last one.
   */
  #write(
    sql: WriteSql,
    key: number,
    result: Result,
    settlement: BatchSettlement,
  ): Pick<Database.RunResult, 'changes' | 'lastInsertRowid'> {
    const { attempt, now, batchNo, mappingNo, kept, keptUnsure } = settlement;
    const { outcome, verdict } = result;
    const startedAt = attempt.startedAt.getTime();
    if (outcome.kind === 'untried') {
      const unsureAt = mayHaveArrived(outcome) ? now : null;
      sql.leave.run({
        key,
        nextAttemptAt: verdict.nextAttemptAt?.getTime() ?? null,
        startedAt,
        unsureAt,
        mappingNo,
      });
      return NO_ROWS;
    }
    if (outcome.kind === 'left-out') {
      sql.leaveOut.run(outcome.reason, now, key);
      return NO_ROWS;
    }
    const failed = outcome.kind === 'delivered' ? undefined : outcome;
    const isSent = !(outcome.kind === 'refused' && outcome.unsent);
    const parameters = {
      key,
      batchNo,
      startedAt,
      durationMs: Math.round(attempt.durationMs),
      outcome: outcome.kind,
      httpStatus: outcome.httpStatus ?? null,
      error: failed?.reason ?? null,
      answer: outcome.answer ?? null,
    };
    const isRepeatable = isUncounted(result);
    if (isRepeatable) sql.repeatAttempts.run(parameters);
    const added = (isRepeatable ? sql.addOtherAttempts : sql.addAttempts).run(parameters);
    sql.settle.run(
      verdict.state,
      verdict.reason ?? null,
      verdict.attempts,
      verdict.excused,
      verdict.nextAttemptAt?.getTime() ?? null,
      verdict.state === 'pending' ? null : now,
      isSent ? startedAt : null,
      startedAt,
      outcome.kind === 'refused' ? now : null,
      isSent && (keptUnsure || (failed && mayHaveArrived(failed))) ? now : null,
      mappingNo,
      boundBy(outcome),
      boundBy(outcome),
      kept && isSent ? batchNo : null,
      outcome.kind === 'delivered' && outcome.ref ? JSON.stringify(outcome.ref) : null,
      key,
    );
    return added;
  }
}

const NO_ROWS = { changes: 0, lastInsertRowid: 0 };

/** The parameters of the statements that write an attempt, for all deliveries of a batch or for one. */
interface AttemptParameters {
  readonly key: number;
  readonly batchNo: number;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: Outcome['kind'];
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly answer: string | null;
}

function prepareWrite(db: Database.Database, key: 'delivery_no' | 'batch_no') {
  const addAttempts = (also = '') =>
    db.prepare<[AttemptParameters]>(
      `INSERT INTO _attempts (delivery_no, batch_no, started_at, duration_ms, outcome, http_status, error, answer)
       SELECT delivery_no, :batchNo, :startedAt, :durationMs, :outcome, :httpStatus, :error, :answer
       FROM _deliveries d WHERE ${key} = +:key ${also} ORDER BY delivery_no`,
    );
  return {
    addAttempts: addAttempts(),
    // Consecutive attempts of a batch that fail in the same way share one row.
    repeatAttempts: db.prepare<[AttemptParameters]>(
      `UPDATE _attempts SET times = times + 1, last_at = :startedAt, duration_ms = :durationMs, answer = :answer
       WHERE attempt_no IN (SELECT max(a.attempt_no) FROM _deliveries d JOIN _attempts a ON a.delivery_no = d.delivery_no
         WHERE d.${key} = +:key GROUP BY d.delivery_no)
       AND batch_no = :batchNo AND outcome = :outcome AND http_status IS :httpStatus AND error IS :error`,
    ),
    addOtherAttempts: addAttempts(
      'AND NOT EXISTS (SELECT 1 FROM _attempts a WHERE a.delivery_no = d.delivery_no AND a.batch_no = :batchNo AND a.last_at = :startedAt)',
    ),
    settle: db.prepare(
      `UPDATE _deliveries AS d SET state = ?, reason = ?, attempts = ?, excused = ?, next_attempt_at = ?, settled_at = ?,
       first_attempt_at = coalesce(first_attempt_at, ?), last_attempt_at = ?,
       refused_at = coalesce(refused_at, ?), unsure_at = coalesce(unsure_at, ?), mapping_no = iif(${KEEPS_MAPPING}, mapping_no, ?), bound = iif(? = 0, bound, ?),
       batch_no = ?, ref = ?
       WHERE ${key} = +?`,
    ),
    leaveOut: db.prepare(
      `UPDATE _deliveries SET state = 'skipped', reason = ?, settled_at = ?, next_attempt_at = NULL, batch_no = NULL WHERE ${key} = +?`,
    ),
    // The destination refused a request that contained this delivery, so it knows the delivery's id and content, and may even have accepted it.
    leave: db.prepare(
      `UPDATE _deliveries AS d SET next_attempt_at = :nextAttemptAt, first_attempt_at = coalesce(first_attempt_at, :startedAt),
       mapping_no = iif(${KEEPS_MAPPING}, mapping_no, :mappingNo), bound = iif(bound = 0, 2, bound),
       unsure_at = coalesce(unsure_at, :unsureAt), batch_no = NULL WHERE ${key} = +:key`,
    ),
  };
}
