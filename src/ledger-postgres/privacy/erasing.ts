import type { DeliveryState } from '../../leads/delivery.ts';
import type {
  ErasureCounts,
  FormerDestination,
  LeadKey,
  Person,
  SinkErasure,
  UnfinishedErasure,
} from '../../leads/person.ts';
import { ERASED, ERASURE } from '../../ledger/rules/delivering/delivery-id.ts';
import {
  type ErasureRow,
  type FormerRow,
  formerOf,
  progressOf,
} from '../../ledger/rules/privacy/erasure-progress.ts';
import { ALLOW_BITMAPS } from '../database/settings.ts';
import { texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { lockDeliveries } from '../delivering/lock-deliveries.ts';
import { END_EMPTY, SKIP } from '../delivering/superseding.ts';
import { erasingSql } from './erasing-sql.ts';

const sql = erasingSql;

/**
 * Records which leads an erasure affects, and removes the text of rejected leads. From then on, no poll records these leads, and another
 * process can continue the erasure if this process is killed. Returns how many rejected leads still had their text.
 */
export async function beginErasure(tx: Transaction, { leads, rejected }: Person): Promise<number> {
  tx.requireOwingLock();
  for (const { source, leadId } of leads) {
    await knowFromNowOn(tx, { source, leadId });
    await tx.run(sql.NOTE, [source, leadId, tx.now]);
    await tx.run(sql.MARK, [source, leadId]);
  }
  if (rejected.length === 0) return 0;
  const asked = [texts(rejected.map(({ source }) => source)), texts(rejected.map(({ hash }) => hash))];
  return tx.run(sql.CLEAR_REJECTED, asked);
}

/**
 * Adds a lead without content if the ledger does not know the lead, so that polls ignore it. Such a lead was rejected in every listing,
 * or was first listed after the backup from which this ledger was restored.
 */
async function knowFromNowOn(tx: Transaction, { source, leadId }: LeadKey): Promise<void> {
  const added =
    (await tx.first(sql.ADD_VERSION, [source, leadId, tx.now])) ??
    (await tx.first(sql.ADD_UNLISTED, [source, leadId, tx.now]));
  if (!added) return;
  await tx.run(sql.ADD_LEAD, [tx.now, added.version_no]);
  await tx.run(sql.COUNT_LEAD, [source]);
}

/**
 * Erases a lead, and records a delivery of the event `erased` as owed to each of `notifySinks` that may have the lead. The caller may repeat
 * the call to erase what was recorded since.
 */
export async function eraseLead(
  tx: Transaction,
  { source, leadId }: LeadKey,
  notifySinks: readonly string[],
): Promise<ErasureCounts> {
  tx.requireOwingLock();
  const lead = [source, leadId] as const;
  await lockDeliveries(
    tx,
    (await tx.rows(sql.UNSETTLED, lead)).map(({ delivery_no }) => delivery_no),
  );
  await tx.run(sql.DROP_KEY, lead);
  tx.later(ALLOW_BITMAPS);
  const counts = {
    versions: await tx.run(sql.CLEAR_VERSIONS, lead),
    rejected: await tx.run(sql.CLEAR_REJECTED_OF, lead),
    attempts: (await tx.run(sql.CLEAR_ATTEMPTS, lead)) + (await tx.run(sql.CLEAR_BATCH_MATES, lead)),
  };
  // Before the batches end, because membership in a batch may be the only sign that an attempt was made.
  for (const { sink_no } of await tx.rows(sql.NOTIFY, [...lead, tx.now, ERASURE, texts(notifySinks)]))
    tx.count(sink_no, 'pending', 1);
  await tx.run(sql.CLEAR_NOTES, [...lead, ERASED, tx.now]);
  const owed = await tx.rows(sql.OWED, lead);
  const waiting = owed.filter((row) => row.holder === null || (row.leased_until ?? 0) <= tx.now);
  await skipErased(tx, waiting);
  return { ...counts, skipped: waiting.length, underWay: owed.length - waiting.length };
}

async function skipErased(
  tx: Transaction,
  waiting: readonly {
    readonly delivery_no: number;
    readonly sink_no: number;
    readonly state: DeliveryState;
    readonly batch_no: number | null;
  }[],
): Promise<void> {
  if (waiting.length === 0) return;
  await tx.run(SKIP, [ERASED, tx.now, waiting.map(({ delivery_no }) => delivery_no)]);
  for (const { sink_no, state } of waiting) {
    tx.count(sink_no, state, -1);
    tx.count(sink_no, 'skipped', 1);
  }
  const batches = waiting.flatMap(({ batch_no }) => batch_no ?? []);
  if (batches.length === 0) return;
  // If a lost attempt ends after all, its lease must be invalid, because its batch had one more delivery than now.
  const fenced = await tx.rows(sql.FENCE, [batches, tx.now]);
  await tx.run(sql.MARK_MAYBE_ARRIVED, [tx.now, fenced.map(({ batch_no }) => batch_no)]);
  await tx.run(END_EMPTY, [batches]);
}

/** Returns the progress of the erasure at each sink that may have some of these leads. */
export async function progress(tx: Transaction, leads: readonly LeadKey[]): Promise<SinkErasure[]> {
  const rows: ErasureRow[] = [];
  for (const { source, leadId } of leads) rows.push(...(await tx.rows(sql.PROGRESS, [source, leadId])));
  return progressOf(rows);
}

/** Returns the former destinations of sinks that may have received some of these leads but did not receive the event `erased`. */
export async function formerDestinations(
  tx: Transaction,
  leads: readonly LeadKey[],
): Promise<FormerDestination[]> {
  const rows: FormerRow[] = [];
  for (const { source, leadId } of leads) rows.push(...(await tx.rows(sql.FORMER, [source, leadId])));
  return formerOf(rows);
}

/** Returns the leads whose erasure has not been finished. */
export async function unfinished(tx: Transaction): Promise<UnfinishedErasure[]> {
  return (await tx.rows(sql.UNFINISHED)).map(({ source, id, erased_at }) => ({
    source,
    leadId: BigInt(id),
    erasedAt: new Date(erased_at),
  }));
}

/** Returns the leads whose erasure has begun. */
export async function erasedLeads(tx: Transaction): Promise<LeadKey[]> {
  return (await tx.rows(sql.ERASED)).map(({ source, id }) => ({ source, leadId: BigInt(id) }));
}

/** Records that these leads are erased at every destination. */
export async function finishErasing(tx: Transaction, leads: readonly LeadKey[]): Promise<void> {
  await tx.run(sql.FINISH, [
    tx.now,
    texts(leads.map(({ source }) => source)),
    leads.map(({ leadId }) => leadId),
  ]);
}
