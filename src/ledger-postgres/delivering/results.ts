import { mayHaveArrived, type Outcome } from '../../leads/outcome.ts';
import { safeRaw, storable } from '../../leads/storable-text.ts';
import type { Attempt } from '../../ledger/contract/ledger-delivering.ts';
import { boundBy, isUncounted, type Result } from '../../ledger/rules/delivering/results.ts';
import { statement, texts, type Value } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { KEEPS_MAPPING } from '../schema/delivery-sql.ts';
import { activityOf } from './sink-activity.ts';

/** The attempt of a batch, its results, and whether the batch is kept after it. */
export interface BatchSettlement {
  readonly attempt: Attempt;
  readonly sinkNo: number;
  readonly batchNo: number;
  /** The mapping of the attempt; null if the leads were sent as received. */
  readonly mappingNo: number | null;
  /** Whether the batch is kept, to be attempted again as the same batch. */
  readonly kept: boolean;
  /** Whether the batch is kept and some of its deliveries may have arrived, so that all of them count as possibly arrived. */
  readonly keptUnsure: boolean;
  readonly results: readonly Result[];
}

/** A result, and the settlement that it belongs to. */
interface BatchResult extends Result {
  readonly of: BatchSettlement;
}

/** A result with an outcome of these kinds. */
type OfKind<Kind extends Outcome['kind']> = BatchResult & {
  readonly outcome: Extract<Outcome, { kind: Kind }>;
};

/** A result of a lead that the sink was given. */
type Tried = OfKind<Exclude<Outcome['kind'], 'untried' | 'left-out'>>;

/** Writes the results of all deliveries of batches, with their attempts and the activity of their sinks. */
export async function writeResults(tx: Transaction, settlements: readonly BatchSettlement[]): Promise<void> {
  const results: BatchResult[] = settlements
    .flatMap((of) => of.results.map((result) => ({ ...result, of })))
    .sort((one, other) => one.deliveryNo - other.deliveryNo);
  leaveUntried(tx, results);
  leaveOut(tx, results);
  const tried = results.filter(
    (result): result is Tried => !isOf(result, 'untried') && !isOf(result, 'left-out'),
  );
  if (tried.length === 0) return;
  settle(tx, tried);
  const { fromAt, sinks, sums } = activityOf(
    tx.now,
    settlements.map(({ sinkNo, attempt }) => ({ sinkNo, ...attempt })),
  );
  const added = await withoutRepeated(tx, tried);
  tx.later(ADD_ATTEMPTS, [...attemptColumns(added), added.map(({ of }) => of.sinkNo), fromAt, sinks, sums]);
}

function isOf<Kind extends Outcome['kind']>(result: BatchResult, kind: Kind): result is OfKind<Kind> {
  return result.outcome.kind === kind;
}

function leaveUntried(tx: Transaction, results: readonly BatchResult[]): void {
  const untried = results.filter((result) => isOf(result, 'untried'));
  if (untried.length === 0) return;
  tx.later(LEAVE, [
    numbersOf(untried),
    untried.map(startOf),
    untried.map(({ of }) => of.mappingNo),
    untried.map(({ verdict }) => verdict.nextAttemptAt?.getTime() ?? null),
    untried.map(({ outcome }) => (mayHaveArrived(outcome) ? tx.now : null)),
  ]);
}

function leaveOut(tx: Transaction, results: readonly BatchResult[]): void {
  const out = results.filter((result) => isOf(result, 'left-out'));
  if (out.length === 0) return;
  const reasons = out.map(({ outcome }) => storable(outcome.reason));
  tx.later(LEAVE_OUT, [tx.now, numbersOf(out), texts(reasons)]);
}

/** Returns the attempts that get rows of their own. Consecutive attempts of a batch that fail in the same way share one row. */
async function withoutRepeated(tx: Transaction, tried: readonly Tried[]): Promise<readonly Tried[]> {
  const repeatable = tried.filter(isUncounted);
  if (repeatable.length === 0) return tried;
  const rows = await tx.rows(REPEAT_ATTEMPTS, attemptColumns(repeatable));
  const repeated = new Set(rows.map((row) => row.delivery_no));
  return tried.filter(({ deliveryNo }) => !repeated.has(deliveryNo));
}

function attemptColumns(tried: readonly Tried[]): Value[] {
  return [
    numbersOf(tried),
    tried.map(({ of }) => of.batchNo),
    tried.map(startOf),
    tried.map(({ of }) => Math.round(of.attempt.durationMs)),
    texts(tried.map(({ outcome }) => outcome.kind)),
    tried.map(({ outcome }) => outcome.httpStatus ?? null),
    texts(tried.map(({ outcome }) => (outcome.kind === 'delivered' ? null : storable(outcome.reason)))),
    texts(tried.map(({ outcome }) => (outcome.answer === undefined ? null : storable(outcome.answer)))),
  ];
}

function settle(tx: Transaction, tried: readonly Tried[]): void {
  const isSent = ({ outcome }: Tried) => !(outcome.kind === 'refused' && outcome.unsent);
  const isUnsure = (one: Tried) =>
    isSent(one) && (one.of.keptUnsure || (one.outcome.kind !== 'delivered' && mayHaveArrived(one.outcome)));
  const reasons = tried.map(({ verdict }) =>
    verdict.reason === undefined ? null : storable(verdict.reason),
  );
  tx.later(SETTLE, [
    numbersOf(tried),
    tried.map(startOf),
    tried.map(({ of }) => of.mappingNo),
    texts(tried.map(({ verdict }) => verdict.state)),
    texts(reasons),
    tried.map(({ verdict }) => verdict.attempts),
    tried.map(({ verdict }) => verdict.excused),
    tried.map(({ verdict }) => verdict.nextAttemptAt?.getTime() ?? null),
    tried.map(({ verdict }) => (verdict.state === 'pending' ? null : tx.now)),
    tried.map((one) => (isSent(one) ? startOf(one) : null)),
    tried.map(({ outcome }) => (outcome.kind === 'refused' ? tx.now : null)),
    tried.map((one) => (isUnsure(one) ? tx.now : null)),
    tried.map(({ outcome }) => boundBy(outcome)),
    tried.map((one) => (one.of.kept && isSent(one) ? one.of.batchNo : null)),
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

/** Returns when the attempt began, in ms since 1970. */
function startOf({ of }: BatchResult): number {
  return of.attempt.startedAt.getTime();
}

function numbersOf(results: readonly { readonly deliveryNo: number }[]): number[] {
  return results.map(({ deliveryNo }) => deliveryNo);
}

// The destination refused a request that contained these deliveries, so it knows their ids and contents, and may even have accepted them.
const LEAVE = statement(
  'leave-untried',
  `UPDATE _deliveries d SET next_attempt_at = g.next_attempt_at, first_attempt_at = coalesce(d.first_attempt_at, g.started_at),
     mapping_no = CASE WHEN ${KEEPS_MAPPING} THEN d.mapping_no ELSE g.mapping_no END, bound = CASE WHEN d.bound = 0 THEN 2 ELSE d.bound END,
     unsure_at = coalesce(d.unsure_at, g.unsure_at), batch_no = NULL
   FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS g (delivery_no, started_at, mapping_no, next_attempt_at, unsure_at)
   WHERE d.delivery_no = g.delivery_no`,
);

const LEAVE_OUT = statement(
  'leave-out',
  `UPDATE _deliveries d SET state = 'skipped', reason = g.reason, settled_at = $1, next_attempt_at = NULL, batch_no = NULL
   FROM unnest($2::bigint[], $3::text[]) AS g (delivery_no, reason) WHERE d.delivery_no = g.delivery_no`,
);

const GIVEN = `unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::text[], $6::int[], $7::text[], $8::text[]) WITH ORDINALITY
  AS g (delivery_no, batch_no, started_at, duration_ms, outcome, http_status, error, answer, position)`;

/**
 * Adds attempts, each of the sink at its place of $9, and what they add to the activity of sinks: $12 are the sums of each of the sinks $11 as JSON, to
 * which the numbers of the sink's first and last attempt are appended; null if none was added.
 */
const ADD_ATTEMPTS = statement(
  'add-attempts',
  `WITH added AS (INSERT INTO _attempts (delivery_no, batch_no, started_at, duration_ms, outcome, http_status, error, answer)
     SELECT g.delivery_no, g.batch_no, g.started_at, g.duration_ms, g.outcome, g.http_status, g.error, g.answer
     FROM ${GIVEN} ORDER BY g.position RETURNING attempt_no),
   placed AS (SELECT attempt_no, ($9::int[])[row_number() OVER (ORDER BY attempt_no)] AS sink_no FROM added),
   ends AS (SELECT sink_no, min(attempt_no) AS first, max(attempt_no) AS last FROM placed GROUP BY sink_no)
   INSERT INTO _sink_activity (sink_no, from_at, sums)
   SELECT s.sink_no, $10, left(s.sums, -1) || ',"first":' || coalesce(e.first::text, 'null') || ',"last":' || coalesce(e.last::text, 'null') || '}'
   FROM unnest($11::int[], $12::text[]) AS s (sink_no, sums) LEFT JOIN ends e ON e.sink_no = s.sink_no`,
);

const REPEAT_ATTEMPTS = statement<{ delivery_no: number }>(
  'repeat-attempts',
  `UPDATE _attempts a SET times = a.times + 1, last_at = g.started_at, duration_ms = g.duration_ms, answer = g.answer
   FROM ${GIVEN} CROSS JOIN LATERAL (SELECT y.attempt_no FROM _attempts y
       WHERE y.attempt_no = (SELECT max(l.attempt_no) FROM _attempts l WHERE l.delivery_no = g.delivery_no) AND y.batch_no = g.batch_no AND y.outcome = g.outcome
         AND y.http_status IS NOT DISTINCT FROM g.http_status AND y.error IS NOT DISTINCT FROM g.error OFFSET 0) f
   WHERE a.attempt_no = f.attempt_no RETURNING a.delivery_no`,
);

const SETTLE = statement(
  'settle',
  `UPDATE _deliveries d SET state = g.state, reason = g.reason, attempts = g.attempts, excused = g.excused, next_attempt_at = g.next_attempt_at,
     settled_at = g.settled_at, first_attempt_at = coalesce(d.first_attempt_at, g.sent_at), last_attempt_at = g.started_at,
     refused_at = coalesce(d.refused_at, g.refused_at), unsure_at = coalesce(d.unsure_at, g.unsure_at),
     mapping_no = CASE WHEN ${KEEPS_MAPPING} THEN d.mapping_no ELSE g.mapping_no END, bound = CASE WHEN g.bound = 0 THEN d.bound ELSE g.bound END,
     batch_no = g.batch_no, ref = g.ref
   FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::int[], $7::int[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::int[], $14::bigint[], $15::text[])
     AS g (delivery_no, started_at, mapping_no, state, reason, attempts, excused, next_attempt_at, settled_at, sent_at, refused_at, unsure_at, bound, batch_no, ref)
   WHERE d.delivery_no = g.delivery_no`,
);
