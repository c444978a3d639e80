import type { SinkHealth } from '../../leads/sink-health.ts';
import type { HoldKind } from '../../ledger/contract/sink-activity.ts';
import {
  type AttemptedBatch,
  type AttemptSums,
  addBatch,
  MAX_HOLDS,
  noAttempts,
  SAME_HOLD_MS,
  SLOT_MS,
} from '../../ledger/rules/delivering/attempt-sums.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** What the attempts of batches add to the activity of their sinks. */
export interface AddedActivity {
  /** When the period began, in ms since 1970. */
  readonly fromAt: number;
  readonly sinks: readonly number[];
  /** The sums of each of the sinks as JSON, without the numbers of attempts. */
  readonly sums: Buffer | string;
}

/** Returns what the attempts of batches add to the activity of their sinks. */
export function activityOf(
  now: number,
  batches: readonly (Omit<AttemptedBatch, 'rows'> & { readonly sinkNo: number })[],
): AddedActivity {
  const sumsOf = new Map<number, AttemptSums>();
  for (const batch of batches) {
    const sums = sumsOf.get(batch.sinkNo) ?? noAttempts();
    addBatch(sums, { ...batch, rows: undefined });
    sumsOf.set(batch.sinkNo, sums);
  }
  const json = [...sumsOf.values()].map(({ first, last, ...sums }) => JSON.stringify(sums));
  return { fromAt: Math.floor(now / SLOT_MS) * SLOT_MS, sinks: [...sumsOf.keys()], sums: texts(json) };
}

/** Records whether a hold or a pause began or ended between two health states of a sink, whose row is locked. */
export async function recordHolds(
  tx: Transaction,
  sinkNo: number,
  before: SinkHealth,
  after: SinkHealth,
): Promise<void> {
  await recordHold(tx, sinkNo, 'held', [before.heldSince, after.heldSince], after.heldReason);
  await recordHold(tx, sinkNo, 'paused', [before.pausedSince, after.pausedSince], after.pausedReason);
}

async function recordHold(
  tx: Transaction,
  sinkNo: number,
  kind: HoldKind,
  [before, after]: readonly [Date | undefined, Date | undefined],
  reason: string | undefined,
): Promise<void> {
  if ((before === undefined) === (after === undefined)) return;
  const last = await tx.first(LAST_HOLD, [sinkNo, kind]);
  if (after === undefined) {
    if (last?.ended_at === null) await tx.run(END_HOLD, [last.hold_no, tx.now]);
    return;
  }
  const pause = last && last.ended_at !== null ? tx.now - last.ended_at : -1;
  if (last && pause >= 0 && pause < SAME_HOLD_MS) await tx.run(CONTINUE_HOLD, [last.hold_no, reason ?? null]);
  else {
    await tx.run(BEGIN_HOLD, [sinkNo, kind, tx.now, reason ?? null]);
    await tx.run(REMOVE_HOLDS, [sinkNo, MAX_HOLDS]);
  }
}

const LAST_HOLD = statement<{ hold_no: number; ended_at: number | null }>(
  'last-hold',
  'SELECT hold_no, ended_at FROM _sink_holds WHERE sink_no = $1 AND kind = $2 ORDER BY hold_no DESC LIMIT 1',
);
const BEGIN_HOLD = statement(
  'begin-hold',
  'INSERT INTO _sink_holds (sink_no, kind, began_at, reason) VALUES ($1, $2, $3, $4)',
);
const CONTINUE_HOLD = statement(
  'continue-hold',
  'UPDATE _sink_holds SET ended_at = NULL, times = times + 1, reason = $2 WHERE hold_no = $1',
);
const END_HOLD = statement('end-hold', 'UPDATE _sink_holds SET ended_at = $2 WHERE hold_no = $1');
const REMOVE_HOLDS = statement(
  'remove-holds',
  `DELETE FROM _sink_holds WHERE sink_no = $1 AND hold_no <= (SELECT hold_no FROM _sink_holds WHERE sink_no = $1 ORDER BY hold_no DESC LIMIT 1 OFFSET $2)`,
);
