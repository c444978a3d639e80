import type { SinkHealth } from '../../leads/sink-health.ts';
import type { ClaimRequest } from '../../ledger/contract/claim.ts';
import {
  capacityOf,
  earliest,
  MAX_BLOCKED,
  NEWER_BY_MS,
  newerThan,
  turnsOfNewest,
} from '../../ledger/rules/delivering/batching.ts';
import { toBatches, withoutPartialBatch } from '../../ledger/rules/delivering/divide-into-batches.ts';
import type { Asked } from '../database/flight.ts';
import type { Sink } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import { type Floor, START } from './claim-floors.ts';
import { claimingSql, type DueRow, type LookedAt } from './claiming-sql.ts';

const { DUE, DUE_AT_HEALTH, LEASED, LOOK, NEWEST, NEWEST_DUE, NEXT_DUE } = claimingSql;

/** What a process remembers about a sink between two claims. */
export interface Memory {
  floor: Floor | undefined;
  /** The number of batches claimed from a backlog since the last turn of the newest leads. */
  turns: number;
  /** The health of the sink, and its text in the ledger; undefined before the first claim. */
  known: { readonly health: SinkHealth; readonly stored: string } | undefined;
}

/** What a claim begins with: what the process remembers of the sink, and the statements that are sent with the beginning of the transaction. */
export interface ClaimQuestions {
  readonly memory: Readonly<Memory>;
  readonly look: Asked<LookedAt>;
  /** Finds deliveries if the health of the sink is still the known one. Undefined if it is not known, or allows no deliveries. */
  readonly due?: Asked<DueRow> | undefined;
  /** Finds whether the backlog has newer leads. Undefined if there was no backlog. */
  readonly newest?: Asked<{ readonly at: number }> | undefined;
}

/** Returns what a claim of a sink begins with. */
export function askToClaim(request: ClaimRequest, holder: string | null, memory: Memory): ClaimQuestions {
  const { sink, max, most } = request;
  const look = { sql: LOOK, values: [sink, holder] };
  const { known, floor } = memory;
  if (!known || known.health.heldSince || known.health.pausedSince) return { memory, look };
  const capacity = capacityOf(known, request);
  const due = [
    sink,
    known.stored,
    capacity,
    most ?? null,
    max,
    ...(floor?.place ?? START),
    countedOf(known.health, holder),
  ];
  return {
    memory,
    look,
    due: { sql: DUE_AT_HEALTH, values: due },
    newest: floor && { sql: NEWEST_DUE, values: [sink] },
  };
}

/** Returns the statements that are sent with the beginning of a claim. */
export function firstOf({ look, due, newest }: ClaimQuestions): Asked<unknown>[] {
  return [look, due, newest].filter((asked) => asked !== undefined);
}

/**
 * Finds due deliveries from the floor of the sink or, if those are too few, from the start.
 * @param found what was found from the floor already
 */
export async function findDue(
  tx: Transaction,
  { sinkNo }: Sink,
  {
    memory,
    most,
    found,
  }: { readonly memory: Memory; readonly most: number; readonly found: readonly DueRow[] | undefined },
): Promise<readonly DueRow[]> {
  const due = found ?? (await tx.rows(DUE, [sinkNo, tx.now, most, ...(memory.floor?.place ?? START)]));
  if (due.length >= most || memory.floor === undefined) return due;
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
    asked,
  }: {
    readonly room: number;
    readonly since: number;
    readonly request: ClaimRequest;
    readonly memory: Memory;
    readonly asked: ClaimQuestions;
  },
): Promise<DueRow[][]> {
  const { window, max } = request;
  const { turns, next } = turnsOfNewest(memory.turns, room, window);
  memory.turns = next;
  if (turns === 0) return [];
  const from = since + NEWER_BY_MS;
  if (asked.newest && ((await tx.answer(asked.newest))[0]?.at ?? since) < from) return [];
  const most = turns * max;
  const rows = await tx.rows(NEWEST, [sinkNo, tx.now, most + MAX_BLOCKED, most, from]);
  return toBatches(withoutPartialBatch(newerThan(rows, since), request, tx.now), max).slice(0, turns);
}

/** Returns how many batches of a sink are under a lease, of all processes. */
export async function leasedOf(tx: Transaction, { sinkNo }: Sink): Promise<number> {
  return (await tx.first(LEASED, [sinkNo, tx.now]))?.leased ?? 0;
}

/** What a claim needs to know of the leases of a sink. */
export type Leases = Pick<LookedAt, 'leased' | 'own' | 'lease_end'>;

/** What a claim is limited by: what is asked for, and the process that attempts the batches itself, or null. */
interface Limits {
  readonly request: ClaimRequest;
  readonly holder: string | null;
}

/**
 * Returns how many batches a claim may return; zero or negative if none. If `holder` attempts them itself, only its own count, unless the sink is held,
 * which has one probe at a time, or allows fewer than are configured, which is for all processes together.
 */
export function roomFor(sink: Sink, { request, holder }: Limits, { leased, own }: Leases): number {
  const counted = countedOf(sink.health, holder) === null ? leased : own;
  return Math.min(capacityOf(sink, request) - counted, request.most ?? Number.POSITIVE_INFINITY);
}

/** Returns the process whose batches count; null if those of all do. */
function countedOf({ heldSince, places }: SinkHealth, holder: string | null): string | null {
  return heldSince || places !== undefined ? null : holder;
}

/**
 * Returns when the next claim may return a batch, in ms since 1970. If the window is full, that is when the first lease expires. An attempt
 * that ends earlier triggers a claim itself.
 */
export async function nextClaimAt(
  tx: Transaction,
  sink: Sink,
  { request, holder, memory, leases }: Limits & { readonly memory: Memory; readonly leases: Leases },
): Promise<number | undefined> {
  const { heldSince, probeAt } = sink.health;
  if (heldSince && probeAt && probeAt.getTime() > tx.now) return probeAt.getTime();
  if (roomFor(sink, { request, holder }, leases) <= 0) return leases.lease_end ?? undefined;
  const [waitMs, floor] = [heldSince ? 0 : request.waitMs, memory.floor?.place ?? START];
  const due = await tx.first(NEXT_DUE, [sink.sinkNo, waitMs, ...floor]);
  return earliest(leases.lease_end, due?.at);
}
