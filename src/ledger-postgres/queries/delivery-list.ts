import type { LeadId } from '../../leads/lead.ts';
import {
  type ActionFilter,
  type DeliveryFilter,
  MAX_SEARCHED_FOR_BATCH,
  type ResultFilter,
} from '../../ledger/contract/ledger-queries.ts';
import type { Count, Order, Rows } from '../../ledger/contract/page-rows.ts';
import type { DeliveryRow } from '../../ledger/contract/status-rows.ts';
import { idFilters, listedStates } from '../../ledger/rules/control/selecting.ts';
import { parseDeliveryId } from '../../ledger/rules/delivering/delivery-id.ts';
import { toDeliveryRow } from '../../ledger/rules/queries/delivery-rows.ts';
import { type Cursor, countOf, FROM_NEWEST, rowsAfter } from '../../ledger/rules/queries/keyset-page.ts';
import { periodOf } from '../../ledger/rules/queries/period.ts';
import { hasResultCondition, resultParameters } from '../../ledger/rules/queries/result-parameters.ts';
import { sentUnder } from '../../ledger/rules/queries/webhook-batch.ts';
import { isBatchWebhookId } from '../../platform/text/webhook-id.ts';
import { texts, type Value } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { COUNT_DUE, COUNT_LISTED, DELIVERIES, LISTED, OF_LEAD, SENT } from './delivery-list-sql.ts';
import { readPage } from './keyset-page.ts';

/** Maximum number of deliveries listed for one lead; the newest are listed. Hardly any lead has more. */
export const MAX_OF_ONE_LEAD = 1_000;
/** An upper bound of how many times a delivery got a new id. */
const MAX_REISSUED = 2_147_483_647;

/** Returns deliveries, newest first. `before` is the id of the last delivery of the previous page. */
export async function newestDeliveries(
  tx: Transaction,
  filter: DeliveryFilter,
  { limit, before }: { readonly limit: number; readonly before?: string | undefined },
): Promise<DeliveryRow[]> {
  const [after] =
    before === undefined ? [FROM_NEWEST] : await deliveryNumbers(tx, { delivery: before }, FROM_NEWEST, 1);
  return deliveryRows(tx, after ? await deliveryNumbers(tx, filter, after, limit) : []);
}

/** Returns a page of deliveries. Reads a limited number of rows. */
export async function deliveriesPage(
  tx: Transaction,
  filter: DeliveryFilter,
  limit: number,
  after: Cursor,
  order: Order,
): Promise<Rows<DeliveryRow>> {
  const read = namesOne(filter)
    ? await ofOne(tx, filter, order)
    : (from: Cursor, most: number) => tx.rows(LISTED[order], [...listValues(filter), from.at, from.no, most]);
  const { rows, next } = await readPage(read, { limit, after, fits: ({ fits }) => fits });
  const found = await deliveryRows(tx, rows);
  return { rows: order === 'newest' ? found : found.reverse(), next };
}

/** Counts deliveries, up to `most`, the newest first. Stops earlier if it would have to read too many that do not match. */
export async function countDeliveries(
  tx: Transaction,
  { ids, ...filter }: ActionFilter,
  most: number,
): Promise<Count> {
  if (ids) {
    const numbers = new Set<number>();
    for (const one of idFilters({ ...filter, ids }))
      for (const { no } of await named(tx, one, FROM_NEWEST, MAX_OF_ONE_LEAD)) numbers.add(no);
    return countOf(numbers.size, most);
  }
  if (namesOne(filter)) return countOf((await named(tx, filter, FROM_NEWEST, most)).length, most);
  const values = listValues(filter);
  if (filter.source === undefined && !hasResultCondition(filter))
    return countOf((await tx.first(COUNT_LISTED, [...values, most]))?.deliveries ?? 0, most);
  const { rows, next } = await readPage(
    (from, part) => tx.rows(LISTED.newest, [...values, from.at, from.no, part]),
    { limit: most, after: FROM_NEWEST, fits: ({ fits }) => fits },
  );
  return countOf(rows.length, most, next !== null);
}

/** Returns the deliveries of a lead of a source with their numbers, newest first. */
export async function deliveriesOfLead(
  tx: Transaction,
  source: string,
  lead: LeadId,
): Promise<{ readonly no: number; readonly delivery: DeliveryRow }[]> {
  const listed = await ofLead(tx, { source, lead }, FROM_NEWEST, MAX_OF_ONE_LEAD);
  const rows = await deliveryRows(tx, listed);
  return rows.map((delivery, place) => ({ no: listed[place]?.no ?? 0, delivery }));
}

/** Returns the numbers of deliveries after a position, newest first, with their positions. */
export async function deliveryNumbers(
  tx: Transaction,
  filter: DeliveryFilter,
  after: Cursor,
  limit: number,
): Promise<readonly Cursor[]> {
  if (namesOne(filter)) return named(tx, filter, after, limit);
  const values = listValues(filter);
  const { rows } = await readPage(
    (from, most) => tx.rows(LISTED.newest, [...values, from.at, from.no, most]),
    { limit, after, fits: ({ fits }) => fits, most: Number.POSITIVE_INFINITY },
  );
  return rows;
}

/** Returns how many deliveries of a sink are due and in no batch. Stops at `most`. */
export async function countDue(tx: Transaction, sink: string, now: Date, most: number): Promise<number> {
  return (await tx.first(COUNT_DUE, [sink, now.getTime(), most]))?.due ?? 0;
}

/** Returns deliveries by number, newest first. */
async function deliveryRows(tx: Transaction, listed: readonly Cursor[]): Promise<DeliveryRow[]> {
  if (listed.length === 0) return [];
  const rows = await tx.rows(DELIVERIES, [listed.map(({ no }) => no)]);
  return rows.map((row) => toDeliveryRow(row, row));
}

/** Returns a function that reads the few deliveries of one lead, of one batch, or with one id, as a list. */
async function ofOne(tx: Transaction, filter: DeliveryFilter, order: Order) {
  const found = await named(tx, filter, FROM_NEWEST, MAX_OF_ONE_LEAD);
  return async (from: Cursor, most: number) =>
    rowsAfter(found, from, order)
      .slice(0, most)
      .map((row) => ({ ...row, fits: true }));
}

/** Returns the deliveries of one lead, of one batch, or with one id, newest first. */
async function named(
  tx: Transaction,
  filter: DeliveryFilter,
  after: Cursor,
  limit: number,
): Promise<readonly Cursor[]> {
  const { webhookId } = filter;
  if (webhookId === undefined || !isBatchWebhookId(webhookId)) return ofLead(tx, filter, after, limit);
  const found: Cursor[] = [];
  for (const id of sentUnder(webhookId, await tx.rows(SENT, [filter.sink ?? null, MAX_SEARCHED_FOR_BATCH])))
    found.push(...(await ofLead(tx, { ...filter, webhookId: id }, after, limit)));
  return rowsAfter(found, after, 'newest').slice(0, limit);
}

async function ofLead(
  tx: Transaction,
  filter: DeliveryFilter,
  after: Cursor,
  limit: number,
): Promise<readonly Cursor[]> {
  const { sink, states, webhookId } = filter;
  if (webhookId !== undefined && filter.delivery !== undefined && webhookId !== filter.delivery) return [];
  const delivery = filter.delivery ?? webhookId;
  const id = delivery === undefined ? undefined : parseDeliveryId(delivery);
  const [source, lead] = [filter.source ?? id?.source, filter.lead ?? id?.lead];
  const isOther = id !== undefined && (id.source !== source || id.lead !== lead);
  if (lead === undefined || isOther || (delivery !== undefined && !id)) return [];
  const { since, until } = periodOf(filter);
  return tx.rows(OF_LEAD, [
    source ?? null,
    lead,
    sink ?? null,
    id?.nameInIds ?? null,
    id?.version ?? null,
    id?.hash ?? null,
    id?.replay ?? null,
    id?.reissued ?? null,
    since,
    until,
    states === undefined ? null : texts(states),
    ...resultValues(filter),
    after.at,
    after.no,
    limit,
    filter.delivery === undefined ? MAX_REISSUED : (id?.reissued ?? null),
  ]);
}

function namesOne({ lead, delivery, webhookId }: DeliveryFilter): boolean {
  return (lead ?? delivery ?? webhookId) !== undefined;
}

/** Returns the values that begin the parameters of `LISTED` and `COUNT_LISTED`. */
function listValues(filter: DeliveryFilter): Value[] {
  const { since, until } = periodOf(filter);
  const states = texts(listedStates(filter));
  return [filter.sink ?? null, filter.source ?? null, since, until, states, ...resultValues(filter)];
}

function resultValues(filter: ResultFilter): Value[] {
  const { reason, httpStatus, deliveredSince, deliveredUntil } = resultParameters(filter);
  return [reason, httpStatus, deliveredSince, deliveredUntil];
}
