import { isDeepStrictEqual } from 'node:util';
import type { BatchRef } from '../../leads/delivery.ts';
import type { AttemptedDelivery, Judge, Judgement, Verdict } from '../../leads/judgement.ts';
import { mayHaveArrived, type Outcome } from '../../leads/outcome.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { Attempt, Settlement } from '../../ledger/contract/ledger-delivering.ts';
import { attemptedDeliveries } from '../../ledger/rules/attempted-deliveries.ts';
import { batchNumber } from '../../ledger/rules/batching.ts';
import { isApart, keepsBatch } from '../../ledger/rules/results.ts';
import { reach } from '../../platform/process/failpoint.ts';
import { getSink, lockSink, type Sink, writeHealth } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import { claimingSql } from './claiming-sql.ts';
import { type LoadedBatch, loadBatches } from './loading.ts';
import { writeResults } from './results.ts';
import { settlingSql } from './settling-sql.ts';
import { addActivity, recordHolds } from './sink-activity.ts';
import { NewestContent } from './superseding.ts';

const {
  ATTEMPTING,
  BEGIN,
  END_BATCHES,
  END_LEASES,
  HOLDERS,
  KEEP,
  LOCK_BATCH,
  OUTDATED,
  PENDING,
  PUT_BACK,
  RELEASE,
  REVIVE,
  SET_APART,
  UNDO_BEGIN,
} = settlingSql;

const { ASSIGN, MARK_MAYBE_ARRIVED } = claimingSql;

/** How old the judge's knowledge of when a lead was last delivered may be, in ms. */
const LAST_DELIVERED_MS = 1_000;

/** Returns the number of a claimed batch. */
export function numberOf({ batch }: BatchRef): number {
  return batchNumber(batch);
}

/** Begins the attempt of a batch. Returns undefined if there is nothing to attempt. */
export async function begin(
  tx: Transaction,
  ref: BatchRef,
  leaseMs: number,
  holder: string,
): Promise<LoadedBatch | undefined> {
  const batchNo = batchNumber(ref.batch);
  // The fence: each lease allows one attempt, and no attempt after the lease has expired.
  const locked = Number.isNaN(batchNo) ? undefined : await tx.first(LOCK_BATCH, [batchNo, ref.lease]);
  if (!locked || locked.holder !== null) return undefined;
  const until = await putBackUntil(tx, locked.sink_no);
  if (until !== undefined) {
    await tx.run(PUT_BACK, [batchNo, until]);
    return undefined;
  }
  if (locked.leased_until <= tx.now) return undefined;
  await tx.run(BEGIN, [batchNo, holder, tx.now + leaseMs]);
  return (await loadBatches(tx, [batchNo]))[0];
}

/**
 * Returns until when a batch is put back if its sink was paused or held while the batch was in a queue and the batch cannot be the probe;
 * undefined if the attempt may begin.
 */
async function putBackUntil(tx: Transaction, sinkNo: number): Promise<number | undefined> {
  const found = await getSink(tx, sinkNo);
  const { health } = found.health.heldSince ? await lockSink(tx, sinkNo) : found;
  const { pausedSince, heldSince, probeAt } = health;
  const until = Math.max(probeAt?.getTime() ?? tx.now, tx.now);
  const isProbed =
    heldSince !== undefined && (await tx.first(ATTEMPTING, [sinkNo, tx.now]))?.attempting === true;
  return !pausedSince && until === tx.now && !isProbed ? undefined : until;
}

/** Records that begun attempts were never made, so that they can begin again under the same leases. */
export async function undoBegin(
  tx: Transaction,
  refs: readonly Pick<BatchRef, 'batch' | 'lease'>[],
): Promise<void> {
  await tx.run(UNDO_BEGIN, [refs.map(({ batch }) => batchNumber(batch)), refs.map(({ lease }) => lease)]);
}

/**
 * Returns an attempt with its start by the ledger's clock: as long ago as the machine's clock shows, whose time itself may be a different one.
 * If that clock was set in the meantime, rather too early than too late, so that no destination that the leads have reached is forgotten.
 */
export function byLedgerClock(tx: Transaction, attempt: Attempt, machineTime: Date): Attempt {
  const agoMs = Math.max(attempt.durationMs, machineTime.getTime() - attempt.startedAt.getTime());
  return { ...attempt, startedAt: new Date(tx.now - Math.round(agoMs)) };
}

/** Records the outcomes of an attempt whose start is by the ledger's clock. Returns undefined if the lease is no longer current. */
export async function settle(
  tx: Transaction,
  judge: Judge,
  ref: BatchRef,
  attempt: Attempt,
): Promise<Settlement | undefined> {
  const batchNo = batchNumber(ref.batch);
  // The fence: an outdated lease finds no batch. The process with the newer lease settles it.
  const batch = Number.isNaN(batchNo) ? undefined : await tx.first(LOCK_BATCH, [batchNo, ref.lease]);
  const pending = batch ? await tx.rows(PENDING, [batchNo]) : [];
  if (!batch || pending.length === 0) return undefined;
  const attempted = attemptedDeliveries(pending, attempt, tx.now);
  const { sink, judgement, after, changes } = await judgeFor(tx, judge, batch.sink_no, {
    attempt,
    attempted,
  });
  const { verdicts } = judgement;
  const { whole: kept, dueAt } = keepsBatch(attempted, verdicts);
  if (kept) await tx.run(KEEP, [batchNo, dueAt]);
  else await tx.run(END_BATCHES, [[batchNo]]);
  const results = pending.map((row, index) => ({
    deliveryNo: row.delivery_no,
    outcome: attempt.outcomes[index] as Outcome,
    verdict: verdicts[index] as Verdict,
    attemptsBefore: row.attempts,
  }));
  const keptUnsure = kept && attempt.outcomes.some(mayHaveArrived);
  const settlement = { attempt, batchNo, mappingNo: batch.mapping_no, kept, keptUnsure };
  const rows = await writeResults(tx, results, settlement);
  await setApart(tx, sink, results);
  if (changes) await writeHealth(tx, sink.sinkNo, after);
  await addActivity(tx, sink.sinkNo, { outcomes: attempt.outcomes, durationMs: attempt.durationMs, rows });
  await recordHolds(tx, sink.sinkNo, sink.health, after);
  countVerdicts(tx, sink, verdicts);
  await oweNewestOfFailed(
    tx,
    sink,
    results.filter(({ verdict }) => verdict.state !== 'delivered').map(({ deliveryNo }) => deliveryNo),
  );
  const revived = judgement.reviveSince ? await revive(tx, sink, judgement) : 0;
  reach('settling');
  return { sink: sink.name, verdicts, before: sink.health, after, revived };
}

/**
 * Judges an attempt. Locks the sink's row only if the attempt changes the sink's health: if all leads got through at a sink that works, the row
 * stays as it is for a second, and many processes settle at once. It is then as if the attempt had ended before whatever changes the row at the same time.
 */
async function judgeFor(
  tx: Transaction,
  judge: Judge,
  sinkNo: number,
  { attempt, attempted }: { readonly attempt: Attempt; readonly attempted: readonly AttemptedDelivery[] },
) {
  const judged = (sink: Sink) => {
    const judgement: Judgement = judge(sink.name, sink.health, attempted, new Date(tx.now));
    const after = attempt.quota ? { ...judgement.health, quota: attempt.quota } : judgement.health;
    const changes = judgement.reviveSince !== undefined || !isSameHealth(sink.health, after);
    return { sink, judgement, after, changes };
  };
  const first = judged(await getSink(tx, sinkNo));
  return first.changes ? judged(await lockSink(tx, sinkNo)) : first;
}

/**
 * Whether the health of a sink after an attempt need not be written: it differs at most in when a lead was last delivered, and by little. Status
 * reads that time with the counts; the judge reads it here.
 */
function isSameHealth(one: SinkHealth, other: SinkHealth): boolean {
  const laterMs = (other.lastDeliveredAt?.getTime() ?? 0) - (one.lastDeliveredAt?.getTime() ?? 0);
  if (laterMs >= LAST_DELIVERED_MS) return false;
  const without = ({ lastDeliveredAt, ...health }: SinkHealth) =>
    JSON.parse(JSON.stringify(health)) as unknown;
  return isDeepStrictEqual(without(one), without(other));
}

/** Puts the untried deliveries that are marked `apart` into a batch of their own, which is due now. */
async function setApart(
  tx: Transaction,
  { sinkNo }: Sink,
  results: readonly { readonly deliveryNo: number; readonly outcome: Outcome }[],
): Promise<void> {
  const apart = results.filter(({ outcome }) => isApart(outcome)).map(({ deliveryNo }) => deliveryNo);
  if (apart.length === 0) return;
  const added = await tx.first(SET_APART, [sinkNo, tx.now]);
  await tx.run(ASSIGN, [apart, apart.map(() => added?.batch_no ?? 0)]);
}

function countVerdicts(tx: Transaction, { sinkNo }: Sink, verdicts: readonly Verdict[]): void {
  for (const { state } of verdicts) {
    if (state === 'pending') continue;
    tx.count(sinkNo, state, 1);
    tx.count(sinkNo, 'pending', -1);
    if (state === 'delivered') tx.countDelivered(sinkNo);
  }
}

/** Owes the newest versions of leads whose deliveries failed and are now pending again or dead. */
async function oweNewestOfFailed(tx: Transaction, sink: Sink, failed: readonly number[]): Promise<void> {
  if (failed.length === 0) return;
  const outdated = await tx.rows(OUTDATED, [failed]);
  if (outdated.length === 0) return;
  tx.requireOwingLock();
  const leads = outdated.map(({ version_no, source, id }) => ({
    versionNo: version_no,
    source,
    id: BigInt(id),
  }));
  const distinct = [...new Map(leads.map((lead) => [lead.versionNo, lead])).values()];
  const content = await NewestContent.of(tx, distinct, [sink]);
  for (const lead of distinct) content.oweNewest(sink, lead);
  await content.write(tx);
}

async function revive(
  tx: Transaction,
  { sinkNo }: Sink,
  { reviveSince, health }: Judgement,
): Promise<number> {
  // Whether a later delivery has overtaken one is decided by what is owed.
  tx.requireOwingLock();
  const dueAt = health.probeAt?.getTime() ?? tx.now;
  const revived = await tx.run(REVIVE, [sinkNo, dueAt, reviveSince?.getTime() ?? tx.now]);
  tx.count(sinkNo, 'dead', -revived);
  tx.count(sinkNo, 'pending', revived);
  return revived;
}

/** Returns the processes that have begun attempts and not settled them. */
export async function holders(tx: Transaction): Promise<string[]> {
  return (await tx.rows(HOLDERS)).map(({ holder }) => holder);
}

/** Gives up the lease of an attempt that was cut off. Returns false if this process does not hold it. */
export async function release(
  tx: Transaction,
  ref: BatchRef,
  holder: string,
  isUnsure: boolean,
): Promise<boolean> {
  const batchNo = batchNumber(ref.batch);
  if (Number.isNaN(batchNo) || (await tx.run(RELEASE, [batchNo, ref.lease, holder, tx.now])) === 0)
    return false;
  if (isUnsure) await tx.run(MARK_MAYBE_ARRIVED, [tx.now, [batchNo]]);
  return true;
}

/** Ends the leases of a process that is known to be dead. Returns how many. */
export function reclaimLeases(tx: Transaction, dead: string): Promise<number> {
  return tx.run(END_LEASES, [dead]);
}
