import type { BatchRef } from '../../leads/delivery.ts';
import { batchNumber } from '../../ledger/rules/delivering/batching.ts';
import type { Asked } from '../database/flight.ts';
import { askSinks, lockSink, type RawSink, toSink } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import { numberOf } from './ended-attempts.ts';
import { type LoadedBatch, loadBatches } from './loading.ts';
import { type LockedBatch, settlingSql } from './settling-sql.ts';

const { ATTEMPTING, BEGIN, LOCK_BATCHES, PUT_BACK, UNDO_BEGIN } = settlingSql;

/** An attempt that is to begin, and how long its lease lasts then. */
export interface BeginRequest {
  readonly ref: BatchRef;
  readonly leaseMs: number;
}

/** The statements that the beginning of attempts begins with: they lock the batches, and then read their sinks. */
export interface BeginQuestions {
  readonly batches: Asked<LockedBatch>;
  readonly sinks: Asked<RawSink>;
}

/** Returns the statements that the beginning of attempts begins with. */
export function askToBegin(requests: readonly BeginRequest[]): BeginQuestions {
  const known = requests.filter(({ ref }) => !Number.isNaN(numberOf(ref)));
  const numbers = known.map(({ ref }) => numberOf(ref));
  return {
    batches: { sql: LOCK_BATCHES, values: [numbers, known.map(({ ref }) => ref.lease)] },
    sinks: askSinks(numbers),
  };
}

/** Begins the attempts of batches. Returns undefined for each batch of which there is nothing to attempt. */
export async function begin(
  tx: Transaction,
  requests: readonly BeginRequest[],
  { holder, asked }: { readonly holder: string; readonly asked: BeginQuestions },
): Promise<(LoadedBatch | undefined)[]> {
  const locked = await lockRequested(tx, requests, asked);
  const sinks = new Map((await tx.answer(asked.sinks)).map((row) => [row.sink_no, row]));
  const beginning = new Map<BeginRequest, LockedBatch>();
  // In the order of their numbers, so that no two transactions wait for each other.
  for (const [sinkNo, some] of [...Map.groupBy(locked, ([, batch]) => batch.sink_no)].sort(byNumber))
    for (const [request, batch] of await withoutPutBack(tx, sinks.get(sinkNo) as RawSink, some))
      beginning.set(request, batch);
  const begun = [...beginning];
  if (begun.length === 0) return requests.map(() => undefined);
  const numbers = begun.map(([, { batch_no }]) => batch_no);
  tx.later(BEGIN, [numbers, holder, begun.map(([{ leaseMs }]) => tx.now + leaseMs)]);
  const loaded = await loadBatches(tx, numbers);
  const byId = new Map(loaded.map((one) => [batchNumber(one.batch.id), one]));
  return requests.map((request) => {
    const batch = beginning.get(request);
    return batch && byId.get(batch.batch_no);
  });
}

type Requested = readonly [BeginRequest, LockedBatch];

function byNumber([one]: readonly [number, unknown], [other]: readonly [number, unknown]): number {
  return one - other;
}

/** Locks the batches, and returns those that no attempt has begun under their leases, each once. */
async function lockRequested(
  tx: Transaction,
  requests: readonly BeginRequest[],
  asked: BeginQuestions,
): Promise<Requested[]> {
  // The fence: each lease allows one attempt, and no attempt after the lease has expired.
  const batches = new Map((await tx.answer(asked.batches)).map((batch) => [batch.batch_no, batch]));
  return requests.flatMap((request) => {
    const batch = batches.get(numberOf(request.ref));
    if (batch?.lease !== request.ref.lease || batch.holder !== null) return [];
    batches.delete(batch.batch_no);
    return [[request, batch] as const];
  });
}

/**
 * Returns the batches of a sink whose attempts may begin. Puts the others back if the sink was paused or held while they were in a queue. Of a held
 * sink, one batch may begin: the probe.
 */
async function withoutPutBack(tx: Transaction, row: RawSink, batches: readonly Requested[]) {
  const seen = toSink(row);
  const { sinkNo, health } = seen.health.heldSince ? await lockSink(tx, seen.sinkNo) : seen;
  const { pausedSince, heldSince, probeAt } = health;
  const until = Math.max(probeAt?.getTime() ?? tx.now, tx.now);
  const isProbed =
    heldSince !== undefined && (await tx.first(ATTEMPTING, [sinkNo, tx.now]))?.attempting === true;
  const room = pausedSince || until > tx.now || isProbed ? 0 : heldSince ? 1 : batches.length;
  const current = batches.filter(([, { leased_until }]) => leased_until > tx.now);
  const back = room === 0 ? batches : current.slice(room);
  if (back.length > 0) tx.later(PUT_BACK, [back.map(([, { batch_no }]) => batch_no), until]);
  return current.slice(0, room);
}

/** Records that begun attempts were never made, so that they can begin again under the same leases. */
export async function undoBegin(
  tx: Transaction,
  refs: readonly Pick<BatchRef, 'batch' | 'lease'>[],
): Promise<void> {
  await tx.run(UNDO_BEGIN, [refs.map(({ batch }) => batchNumber(batch)), refs.map(({ lease }) => lease)]);
}
