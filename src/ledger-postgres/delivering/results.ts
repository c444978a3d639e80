import { mayHaveArrived } from '../../leads/outcome.ts';
import { safeRaw, storable } from '../../leads/storable-text.ts';
import type { Attempt } from '../../ledger/contract/ledger-delivering.ts';
import { boundBy, isUncounted, type Result } from '../../ledger/rules/results.ts';
import { KEEPS_MAPPING } from '../database/delivery-sql.ts';
import { statement, texts, type Value } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** The attempt of a batch, and whether the batch is kept after it. */
export interface BatchSettlement {
  readonly attempt: Attempt;
  readonly batchNo: number;
  /** The mapping of the attempt; null if the leads were sent as received. */
  readonly mappingNo: number | null;
  /** Whether the batch is kept, to be attempted again as the same batch. */
  readonly kept: boolean;
  /** Whether the batch is kept and some of its deliveries may have arrived, so that all of them count as possibly arrived. */
  readonly keptUnsure: boolean;
}

/** A result of a lead that the sink was given. */
type Tried = Result & { readonly outcome: Exclude<Result['outcome'], { kind: 'untried' | 'left-out' }> };

/**
 * Writes the results of all deliveries of a batch, and their attempts. Returns the numbers of the first and the last row that it added to
 * `_attempts`; undefined if it added none.
 */
export async function writeResults(
  tx: Transaction,
  results: readonly Result[],
  settlement: BatchSettlement,
): Promise<{ readonly first: number; readonly last: number } | undefined> {
  await leaveUntried(tx, results, settlement);
  await leaveOut(tx, results);
  const tried = results.filter(
    (result): result is Tried => !['untried', 'left-out'].includes(result.outcome.kind),
  );
  if (tried.length === 0) return undefined;
  const numbers = await addAttempts(tx, tried, settlement);
  await settle(tx, tried, settlement);
  return numbers.length > 0 ? { first: Math.min(...numbers), last: Math.max(...numbers) } : undefined;
}

async function leaveUntried(
  tx: Transaction,
  results: readonly Result[],
  { attempt, mappingNo }: BatchSettlement,
): Promise<void> {
  const untried = results.filter(({ outcome }) => outcome.kind === 'untried');
  if (untried.length === 0) return;
  await tx.run(LEAVE, [
    attempt.startedAt.getTime(),
    mappingNo,
    numbersOf(untried),
    untried.map(({ verdict }) => verdict.nextAttemptAt?.getTime() ?? null),
    untried.map(({ outcome }) => (mayHaveArrived(outcome) ? tx.now : null)),
  ]);
}

async function leaveOut(tx: Transaction, results: readonly Result[]): Promise<void> {
  const out = results.flatMap(({ deliveryNo, outcome }) =>
    outcome.kind === 'left-out' ? [{ deliveryNo, reason: outcome.reason }] : [],
  );
  if (out.length === 0) return;
  await tx.run(LEAVE_OUT, [tx.now, numbersOf(out), texts(out.map(({ reason }) => storable(reason)))]);
}

/** Records the attempts. Consecutive attempts of a batch that fail in the same way share one row. Returns the numbers of the rows that it added. */
async function addAttempts(
  tx: Transaction,
  tried: readonly Tried[],
  { attempt, batchNo }: BatchSettlement,
): Promise<number[]> {
  const common = [batchNo, attempt.startedAt.getTime(), Math.round(attempt.durationMs)];
  const repeatable = tried.filter(isUncounted);
  const repeated = new Set(
    repeatable.length === 0
      ? []
      : (await tx.rows(REPEAT_ATTEMPTS, [...common, ...attemptColumns(repeatable)])).map(
          (row) => row.delivery_no,
        ),
  );
  const others = tried.filter(({ deliveryNo }) => !repeated.has(deliveryNo));
  if (others.length === 0) return [];
  return (await tx.rows(ADD_ATTEMPTS, [...common, ...attemptColumns(others)])).map((row) => row.attempt_no);
}

function attemptColumns(tried: readonly Tried[]): Value[] {
  return [
    numbersOf(tried),
    texts(tried.map(({ outcome }) => outcome.kind)),
    tried.map(({ outcome }) => outcome.httpStatus ?? null),
    texts(tried.map(({ outcome }) => (outcome.kind === 'delivered' ? null : storable(outcome.reason)))),
    texts(tried.map(({ outcome }) => (outcome.answer === undefined ? null : storable(outcome.answer)))),
  ];
}

async function settle(
  tx: Transaction,
  tried: readonly Tried[],
  { attempt, batchNo, mappingNo, kept, keptUnsure }: BatchSettlement,
): Promise<void> {
  const startedAt = attempt.startedAt.getTime();
  const isSent = ({ outcome }: Tried) => !(outcome.kind === 'refused' && outcome.unsent);
  const isUnsure = (one: Tried) =>
    isSent(one) && (keptUnsure || (one.outcome.kind !== 'delivered' && mayHaveArrived(one.outcome)));
  const reasons = tried.map(({ verdict }) =>
    verdict.reason === undefined ? null : storable(verdict.reason),
  );
  await tx.run(SETTLE, [
    startedAt,
    mappingNo,
    numbersOf(tried),
    texts(tried.map(({ verdict }) => verdict.state)),
    texts(reasons),
    tried.map(({ verdict }) => verdict.attempts),
    tried.map(({ verdict }) => verdict.excused),
    tried.map(({ verdict }) => verdict.nextAttemptAt?.getTime() ?? null),
    tried.map(({ verdict }) => (verdict.state === 'pending' ? null : tx.now)),
    tried.map((one) => (isSent(one) ? startedAt : null)),
    tried.map(({ outcome }) => (outcome.kind === 'refused' ? tx.now : null)),
    tried.map((one) => (isUnsure(one) ? tx.now : null)),
    tried.map(({ outcome }) => boundBy(outcome)),
    tried.map((one) => (kept && isSent(one) ? batchNo : null)),
    texts(
      tried.map(({ outcome }) =>
        outcome.kind === 'delivered' && outcome.ref ? readableJson(outcome.ref) : null,
      ),
    ),
  ]);
}

/** Returns JSON that the database's functions can read: they refuse NUL and lone surrogates. */
function readableJson(value: unknown): string {
  const json = JSON.stringify(value);
  return safeRaw(json) ?? json;
}

function numbersOf(results: readonly { readonly deliveryNo: number }[]): number[] {
  return results.map(({ deliveryNo }) => deliveryNo);
}

// The destination refused a request that contained these deliveries, so it knows their ids and contents, and may even have accepted them.
const LEAVE = statement(
  'leave-untried',
  `UPDATE _deliveries d SET next_attempt_at = g.next_attempt_at, first_attempt_at = coalesce(d.first_attempt_at, $1),
     mapping_no = CASE WHEN ${KEEPS_MAPPING} THEN d.mapping_no ELSE $2 END, bound = CASE WHEN d.bound = 0 THEN 2 ELSE d.bound END,
     unsure_at = coalesce(d.unsure_at, g.unsure_at), batch_no = NULL
   FROM unnest($3::bigint[], $4::bigint[], $5::bigint[]) AS g (delivery_no, next_attempt_at, unsure_at) WHERE d.delivery_no = g.delivery_no`,
);

const LEAVE_OUT = statement(
  'leave-out',
  `UPDATE _deliveries d SET state = 'skipped', reason = g.reason, settled_at = $1, next_attempt_at = NULL, batch_no = NULL
   FROM unnest($2::bigint[], $3::text[]) AS g (delivery_no, reason) WHERE d.delivery_no = g.delivery_no`,
);

const GIVEN = `unnest($4::bigint[], $5::text[], $6::int[], $7::text[], $8::text[]) WITH ORDINALITY
  AS g (delivery_no, outcome, http_status, error, answer, position)`;

const ADD_ATTEMPTS = statement<{ attempt_no: number }>(
  'add-attempts',
  `INSERT INTO _attempts (delivery_no, batch_no, started_at, duration_ms, outcome, http_status, error, answer)
   SELECT g.delivery_no, $1, $2, $3, g.outcome, g.http_status, g.error, g.answer FROM ${GIVEN} ORDER BY g.position RETURNING attempt_no`,
);

const REPEAT_ATTEMPTS = statement<{ delivery_no: number }>(
  'repeat-attempts',
  `UPDATE _attempts a SET times = a.times + 1, last_at = $2, duration_ms = $3, answer = g.answer
   FROM ${GIVEN} CROSS JOIN LATERAL (SELECT max(l.attempt_no) AS attempt_no FROM _attempts l WHERE l.delivery_no = g.delivery_no) l
   WHERE a.attempt_no = l.attempt_no AND a.batch_no = $1 AND a.outcome = g.outcome AND a.http_status IS NOT DISTINCT FROM g.http_status
     AND a.error IS NOT DISTINCT FROM g.error RETURNING a.delivery_no`,
);

const SETTLE = statement(
  'settle',
  `UPDATE _deliveries d SET state = g.state, reason = g.reason, attempts = g.attempts, excused = g.excused, next_attempt_at = g.next_attempt_at,
     settled_at = g.settled_at, first_attempt_at = coalesce(d.first_attempt_at, g.sent_at), last_attempt_at = $1,
     refused_at = coalesce(d.refused_at, g.refused_at), unsure_at = coalesce(d.unsure_at, g.unsure_at),
     mapping_no = CASE WHEN ${KEEPS_MAPPING} THEN d.mapping_no ELSE $2 END, bound = CASE WHEN g.bound = 0 THEN d.bound ELSE g.bound END,
     batch_no = g.batch_no, ref = g.ref
   FROM unnest($3::bigint[], $4::text[], $5::text[], $6::int[], $7::int[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::int[], $14::bigint[], $15::text[])
     AS g (delivery_no, state, reason, attempts, excused, next_attempt_at, settled_at, sent_at, refused_at, unsure_at, bound, batch_no, ref)
   WHERE d.delivery_no = g.delivery_no`,
);
