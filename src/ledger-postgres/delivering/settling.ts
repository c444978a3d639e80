import type { BatchRef } from '../../leads/delivery.ts';
import type { Judge, Judgement, Verdict } from '../../leads/judgement.ts';
import { mayHaveArrived, type Outcome } from '../../leads/outcome.ts';
import type { Attempt, Settlement } from '../../ledger/contract/ledger-delivering.ts';
import { attemptedDeliveries } from '../../ledger/rules/delivering/attempted-deliveries.ts';
import { batchNumber } from '../../ledger/rules/delivering/batching.ts';
import { isApart, keepsBatch } from '../../ledger/rules/delivering/results.ts';
import { reach } from '../../platform/process/failpoint.ts';
import { type Sink, toSink, writeHealth } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import { claimingSql } from './claiming-sql.ts';
import { type EndedAttempt, lockEnded, type SettleQuestions } from './ended-attempts.ts';
import { type JudgedBatch, judgeBatches } from './judging.ts';
import { type BatchSettlement, writeResults } from './results.ts';
import { settlingSql } from './settling-sql.ts';
import { recordHolds } from './sink-activity.ts';
import { NewestContent } from './superseding.ts';

const { END_BATCHES, END_LEASES, HOLDERS, KEEP, OUTDATED, RELEASE, REVIVE, SET_APART } = settlingSql;

const { ASSIGN, MARK_MAYBE_ARRIVED } = claimingSql;

/**
 * Returns an attempt with its start converted to the ledger's clock, from the time that has passed since then on the clock of this machine. If that
 * clock was set in the meantime, the result may be too early but never too late: a late start would hide a destination that the leads have already
 * reached.
 */
export function byLedgerClock(tx: Transaction, attempt: Attempt, machineTime: Date): Attempt {
  const agoMs = Math.max(attempt.durationMs, machineTime.getTime() - attempt.startedAt.getTime());
  return { ...attempt, startedAt: new Date(tx.now - Math.round(agoMs)) };
}

/**
 * Records the outcomes of attempts one after the other, in order. The starts of the attempts are by the ledger's clock. Returns undefined for each
 * attempt whose lease is no longer current.
 */
export async function settle(
  tx: Transaction,
  judge: Judge,
  { ended, asked }: { readonly ended: readonly EndedAttempt[]; readonly asked: SettleQuestions },
): Promise<(Settlement | undefined)[]> {
  const batches = await lockEnded(tx, ended, asked);
  const sinkOf = new Map((await tx.answer(asked.sinks)).map((row) => [row.sink_no, toSink(row)]));
  const settlements = new Map<EndedAttempt, Settlement>();
  const bySink = [...Map.groupBy(batches, ([, { batch }]) => batch.sink_no)];
  const sinks = [];
  // In the order of their numbers, so that no two transactions wait for each other.
  for (const [sinkNo, some] of bySink.sort(([one], [other]) => one - other)) {
    const ends = some.map(([, batch]) => batch);
    sinks.push({ some, ...(await judgeBatches(tx, judge, sinkOf.get(sinkNo) as Sink, ends)) });
  }
  const judged = sinks.flatMap((sink) => sink.judged);
  await writeBatches(tx, judged);
  for (const { some, judged, changes } of sinks) {
    const revived = await writeSink(tx, judged, changes);
    for (const [index, [attempt]] of some.entries()) {
      const { sink, judgement, before, after } = judged[index] as JudgedBatch;
      const { verdicts } = judgement;
      settlements.set(attempt, { sink: sink.name, verdicts, before, after, revived: revived[index] ?? 0 });
    }
  }
  reach('settling');
  return ended.map((attempt) => settlements.get(attempt));
}

/** Ends or keeps the batches, and writes the results of their deliveries. */
async function writeBatches(tx: Transaction, judged: readonly JudgedBatch[]): Promise<void> {
  if (judged.length === 0) return;
  const settlements = judged.map((one) => settlementOf(one, tx.now));
  const [kept, ended] = [settlements.filter((one) => one.kept), settlements.filter((one) => !one.kept)];
  const numbersOf = (some: readonly BatchSettlement[]) => some.map(({ batchNo }) => batchNo);
  if (kept.length > 0) tx.later(KEEP, [numbersOf(kept), kept.map(({ dueAt }) => dueAt)]);
  if (ended.length > 0) tx.later(END_BATCHES, [numbersOf(ended)]);
  await writeResults(tx, settlements);
  for (const [index, { sink }] of judged.entries())
    await setApart(tx, sink, settlements[index]?.results ?? []);
}

function settlementOf(
  { batchNo, batch, pending, attempt, sink, judgement }: JudgedBatch,
  now: number,
): BatchSettlement & { readonly dueAt: number } {
  const { verdicts } = judgement;
  const { whole: kept, dueAt } = keepsBatch(attemptedDeliveries(pending, attempt, now), verdicts);
  const results = pending.map((row, index) => ({
    deliveryNo: row.delivery_no,
    outcome: attempt.outcomes[index] as Outcome,
    verdict: verdicts[index] as Verdict,
    attemptsBefore: row.attempts,
  }));
  const keptUnsure = kept && attempt.outcomes.some(mayHaveArrived);
  const { sinkNo } = sink;
  return { attempt, sinkNo, batchNo, mappingNo: batch.mapping_no, kept, keptUnsure, dueAt, results };
}

/** Writes what the judged batches of a sink mean for it. Returns the number of deliveries that each has revived. */
async function writeSink(
  tx: Transaction,
  judged: readonly JudgedBatch[],
  changes: boolean,
): Promise<readonly number[]> {
  const last = judged.at(-1);
  if (!last) return [];
  const { sink } = last;
  if (changes) await writeHealth(tx, sink.sinkNo, last.after);
  for (const { before, after } of judged) await recordHolds(tx, sink.sinkNo, before, after);
  for (const { judgement } of judged) countVerdicts(tx, sink, judgement.verdicts);
  await oweNewestOfFailed(tx, sink, judged.flatMap(failedOf));
  const revived = [];
  for (const [index, { judgement }] of judged.entries())
    revived.push(judgement.reviveSince ? await revive(tx, sink, judgement, judged.slice(index + 1)) : 0);
  return revived;
}

function failedOf({ pending, judgement }: JudgedBatch): number[] {
  return pending
    .filter((_, index) => judgement.verdicts[index]?.state !== 'delivered')
    .map(({ delivery_no }) => delivery_no);
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
  tx.later(ASSIGN, [apart, apart.map(() => added?.batch_no ?? 0)]);
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

/** Makes dead deliveries pending again. Those of the `later` batches were judged with this in mind, and stay as they are. */
async function revive(
  tx: Transaction,
  { sinkNo }: Sink,
  { reviveSince, health }: Judgement,
  later: readonly JudgedBatch[],
): Promise<number> {
  // Whether a later delivery has overtaken one is decided by what is owed.
  tx.requireOwingLock();
  const dueAt = health.probeAt?.getTime() ?? tx.now;
  const since = reviveSince?.getTime() ?? tx.now;
  const revived = await tx.run(REVIVE, [sinkNo, dueAt, since, later.flatMap(failedOf)]);
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

/** Ends the leases of a process that is dead and that the ledger no longer knows as a process. Returns how many. */
export function reclaimLeases(tx: Transaction, dead: string): Promise<number> {
  return tx.run(END_LEASES, [dead]);
}
