import type { Batch } from '../../leads/delivery.ts';
import { batchId } from '../../ledger/rules/delivering/batching.ts';
import { ERASED } from '../../ledger/rules/delivering/delivery-id.ts';
import { type DeliveryRow, LOST_MAPPING, toDelivery } from '../../ledger/rules/delivering/loaded-delivery.ts';
import { getSink } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import { claimingSql } from './claiming-sql.ts';
import { type LoadedRow, settlingSql } from './settling-sql.ts';
import { NewestContent, SKIP } from './superseding.ts';

const { END_BATCHES, LOAD, MAPPINGS, REISSUE } = settlingSql;

const { ASSIGN } = claimingSql;

/** A batch whose attempt has begun. */
export interface LoadedBatch {
  readonly batch: Batch;
  readonly lease: number;
  /** How long the lease lasts, in ms from the time of the transaction. */
  readonly leasedForMs: number;
}

/**
 * Reads batches whose attempts begin. Each delivery gets the newest version of its lead, unless it may have arrived with an older version: a lead
 * may have changed while its sink was unavailable or the batch was in a queue. Skips deliveries of leads that have been erased in the meantime,
 * and ends batches of which none is left.
 * @param loaded what is in the batches, if it was read already
 */
export async function loadBatches(
  tx: Transaction,
  batches: readonly number[],
  loaded?: readonly LoadedRow[],
): Promise<LoadedBatch[]> {
  if (batches.length === 0) return [];
  const found = loaded ?? (await tx.rows(LOAD, [batches]));
  const rows = await withNewIds(tx, await withNewestContent(tx, found, batches), batches);
  const gone = rows.filter((row) => row.gone === 1);
  if (gone.length > 0) await tx.run(SKIP, [ERASED, tx.now, gone.map(({ delivery_no }) => delivery_no)]);
  for (const { sink_no } of gone) {
    tx.count(sink_no, 'pending', -1);
    tx.count(sink_no, 'skipped', 1);
  }
  const left = Map.groupBy(
    rows.filter((row) => row.gone === 0),
    (row) => row.batch_no,
  );
  const empty = batches.filter((batch) => !left.has(batch));
  if (empty.length > 0) await tx.run(END_BATCHES, [empty]);
  const mappingOf = await mappingsOf(tx, rows);
  return [...left.values()].map((some) => toBatch(some, tx.now, mappingOf));
}

type MappingOf = (mappingNo: number | null) => string | null;

function toBatch(rows: readonly LoadedRow[], now: number, mappingOf: MappingOf): LoadedBatch {
  const { batch_no, sink, created_at, lease, leased_until, batch_mapping_no } = rows[0] as LoadedRow;
  const deliveries = rows.map((row) => {
    const delivery = toDelivery(row);
    return row.mapping_no === row.batch_mapping_no
      ? delivery
      : { ...delivery, formerMapping: mappingOf(row.mapping_no) };
  });
  const mapping = mappingOf(batch_mapping_no) ?? undefined;
  const batch = { id: batchId(batch_no), sink, createdAt: new Date(created_at), mapping, deliveries };
  return { batch, lease, leasedForMs: leased_until - now };
}

async function withNewestContent(
  tx: Transaction,
  rows: readonly LoadedRow[],
  batches: readonly number[],
): Promise<readonly LoadedRow[]> {
  const outdated = rows.filter(({ newest }) => newest !== null);
  if (outdated.length === 0) return rows;
  tx.requireOwingLock();
  for (const [sinkNo, some] of Map.groupBy(outdated, ({ sink_no }) => sink_no)) {
    const sink = await getSink(tx, sinkNo);
    const leads = some.map(({ newest, source, id, batch_no }) => ({
      versionNo: newest as number,
      source,
      id: BigInt(id),
      batch: batch_no,
    }));
    const content = await NewestContent.of(tx, leads, [sink]);
    // Two deliveries of the same lead may be in the batches: a replay beside an earlier one.
    const distinct = new Map(leads.map((lead) => [lead.versionNo, lead]));
    for (const lead of distinct.values()) content.oweNewest(sink, lead, lead.batch);
    const added = await content.write(tx, new Set(batches));
    const joined = added.flatMap(({ delivery_no, version_no }) => {
      const batch = distinct.get(version_no)?.batch;
      return batch === undefined ? [] : [{ delivery_no, batch }];
    });
    if (joined.length > 0)
      await tx.run(ASSIGN, [joined.map(({ delivery_no }) => delivery_no), joined.map(({ batch }) => batch)]);
  }
  return tx.rows(LOAD, [batches]);
}

/** Gives a new id to each delivery that was sent with another mapping, so that no two messages have the same id. */
async function withNewIds(
  tx: Transaction,
  rows: readonly LoadedRow[],
  batches: readonly number[],
): Promise<readonly LoadedRow[]> {
  if (rows.every((row) => row.needs_new_id === 0)) return rows;
  await tx.run(REISSUE, [batches]);
  return tx.rows(LOAD, [batches]);
}

/** Returns the texts of mappings; null for no mapping. If damage removed a text, returns text that is not a valid mapping. */
async function mappingsOf(tx: Transaction, rows: readonly DeliveryRow[]): Promise<MappingOf> {
  const numbers = new Set(
    rows.flatMap(({ mapping_no, batch_mapping_no }) => [mapping_no ?? [], batch_mapping_no ?? []].flat()),
  );
  const stored = numbers.size > 0 ? await tx.rows(MAPPINGS, [[...numbers]]) : [];
  const texts = new Map(stored.map(({ mapping_no, text }) => [mapping_no, text]));
  return (mappingNo) => (mappingNo === null ? null : (texts.get(mappingNo) ?? LOST_MAPPING));
}
