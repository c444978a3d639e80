import type { ClaimRequest } from '../../ledger/contract/claim.ts';
import {
  capacityOf,
  earliest,
  MAX_BLOCKED,
  newerThan,
  turnsOfNewest,
} from '../../ledger/rules/delivering/batching.ts';
import { toBatches, withoutPartialBatch } from '../../ledger/rules/delivering/divide-into-batches.ts';
import type { Sink } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import { type Floor, type Place, START } from './claim-floors.ts';
import { claimingSql, type DueRow } from './claiming-sql.ts';

const { DUE, LEASED, NEWEST, NEXT_DUE, NEXT_LEASE_END } = claimingSql;

/** What a process remembers about a sink between two claims. */
export interface Memory {
  floor: Floor | undefined;
  /** The number of batches claimed from a backlog since the last turn of the newest leads. */
  turns: number;
}

/** Finds due deliveries from the floor of the sink or, if those are too few, from the start. */
export async function findDue(
  tx: Transaction,
  { sinkNo }: Sink,
  memory: Memory,
  most: number,
): Promise<DueRow[]> {
  const found = await tx.rows(DUE, [sinkNo, tx.now, most, ...(memory.floor?.place ?? START)]);
  if (found.length === most || memory.floor === undefined) return found;
  memory.floor = undefined;
  return tx.rows(DUE, [sinkNo, tx.now, most, ...START]);
}

/**
 * Returns batches of the newest due leads, so that a backlog, whose oldest delivery became due at `since`, does not delay them. Leads that do
 * not fill a batch wait as usual.
 */
export async function newestOf(
  tx: Transaction,
  { sinkNo }: Sink,
  {
    room,
    since,
    request,
    memory,
  }: {
    readonly room: number;
    readonly since: number;
    readonly request: ClaimRequest;
    readonly memory: Memory;
  },
): Promise<DueRow[][]> {
  const { window, max } = request;
  const { turns, next } = turnsOfNewest(memory.turns, room, window);
  memory.turns = next;
  if (turns === 0) return [];
  const most = turns * max;
  const rows = await tx.rows(NEWEST, [sinkNo, tx.now, most + MAX_BLOCKED, most]);
  return toBatches(withoutPartialBatch(newerThan(rows, since), request, tx.now), max).slice(0, turns);
}

/** Returns how many batches of a sink are under a lease: those of one process, or of all. */
export async function leasedOf(tx: Transaction, { sinkNo }: Sink, holder?: string | null): Promise<number> {
  return (await tx.first(LEASED, [sinkNo, tx.now, holder ?? null]))?.leased ?? 0;
}

/**
 * Returns how many batches a claim may return; zero or negative if none. If `holder` attempts them itself, only its own count, unless the sink is held,
 * which has one probe at a time, or allows fewer than are configured, which is for all processes together.
 */
export async function roomFor(
  tx: Transaction,
  sink: Sink,
  request: ClaimRequest,
  holder: string | null,
): Promise<number> {
  const { heldSince, places } = sink.health;
  const counted = heldSince || places !== undefined ? null : holder;
  return Math.min(
    capacityOf(sink, request) - (await leasedOf(tx, sink, counted)),
    request.most ?? Number.POSITIVE_INFINITY,
  );
}

/**
 * Returns when the next claim may return a batch, in ms since 1970. If the window is full, that is when the first lease expires. An attempt
 * that ends earlier triggers a claim itself.
 */
export async function nextClaimAt(
  tx: Transaction,
  sink: Sink,
  { request, holder }: { readonly request: ClaimRequest; readonly holder: string | null },
  floor: Place,
): Promise<number | undefined> {
  const { heldSince, probeAt } = sink.health;
  if (heldSince && probeAt && probeAt.getTime() > tx.now) return probeAt.getTime();
  const leaseEnd = (await tx.first(NEXT_LEASE_END, [sink.sinkNo, tx.now]))?.at;
  if ((await roomFor(tx, sink, request, holder)) <= 0) return leaseEnd ?? undefined;
  const due = await tx.first(NEXT_DUE, [sink.sinkNo, heldSince ? 0 : request.waitMs, ...floor]);
  return earliest(leaseEnd, due?.at);
}
