import type { DeliveryFilter, ResultFilter } from '../../ledger/contract/ledger-queries.ts';
import type { DeliveryRow } from '../../ledger/contract/status-rows.ts';
import { parseDeliveryId } from '../../ledger/rules/delivery-id.ts';
import { toDeliveryRow } from '../../ledger/rules/delivery-rows.ts';
import { periodOf } from '../../ledger/rules/period.ts';
import { resultParameters } from '../../ledger/rules/result-parameters.ts';
import { listedStates } from '../../ledger/rules/selecting.ts';
import { MAX_SEARCHED, sentUnder } from '../../ledger/rules/webhook-batch.ts';
import { isBatchWebhookId } from '../../platform/text/webhook-id.ts';
import { texts, type Value } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { COUNT_DUE, DELIVERIES, LISTED, type ListPosition, OF_LEAD, SENT } from './deliveries-sql.ts';

/** An upper bound of how many times a delivery got a new id. */
const MAX_REISSUED = 2_147_483_647;
/** The position before the newest delivery. */
export const FROM_NEWEST: ListPosition = { at: Number.MAX_SAFE_INTEGER, no: Number.MAX_SAFE_INTEGER };

/** Returns deliveries, newest first. `before` is the id of the last delivery of the previous page. */
export async function newestDeliveries(
  tx: Transaction,
  filter: DeliveryFilter,
  { limit, before }: { readonly limit: number; readonly before?: string | undefined },
): Promise<DeliveryRow[]> {
  const [after] =
    before === undefined ? [FROM_NEWEST] : await deliveryNumbers(tx, { delivery: before }, FROM_NEWEST, 1);
  const listed = after ? await deliveryNumbers(tx, filter, after, limit) : [];
  if (listed.length === 0) return [];
  const rows = await tx.rows(DELIVERIES, [listed.map(({ no }) => no)]);
  return rows.map((row) => toDeliveryRow(row, row));
}

/** Returns the numbers of deliveries after a position, newest first, with their positions. */
export async function deliveryNumbers(
  tx: Transaction,
  filter: DeliveryFilter,
  after: ListPosition,
  limit: number,
): Promise<readonly ListPosition[]> {
  const { webhookId } = filter;
  if (webhookId !== undefined && isBatchWebhookId(webhookId))
    return ofBatch(tx, webhookId, filter, { after, limit });
  if ((filter.lead ?? filter.delivery ?? webhookId) !== undefined) return ofLead(tx, filter, after, limit);
  const { since, until } = periodOf(filter);
  const values = [filter.sink ?? null, filter.source ?? null, since, until, ...resultValues(filter)];
  const found: ListPosition[] = [];
  for (const state of listedStates(filter))
    found.push(...(await tx.rows(LISTED[state], [...values, after.at, after.no, limit])));
  return firstOf(found, limit);
}

function firstOf(found: readonly ListPosition[], limit: number): ListPosition[] {
  return found.toSorted((one, other) => other.at - one.at || other.no - one.no).slice(0, limit);
}

/** Returns the deliveries that were sent as a batch. */
async function ofBatch(
  tx: Transaction,
  webhookId: string,
  filter: DeliveryFilter,
  { after, limit }: { readonly after: ListPosition; readonly limit: number },
): Promise<ListPosition[]> {
  const found: ListPosition[] = [];
  for (const id of sentUnder(webhookId, await tx.rows(SENT, [filter.sink ?? null, MAX_SEARCHED])))
    found.push(...(await ofLead(tx, { ...filter, webhookId: id }, after, limit)));
  return firstOf(found, limit);
}

/** Returns how many deliveries of a sink are due and in no batch. Stops at `most`. */
export async function countDue(tx: Transaction, sink: string, now: Date, most: number): Promise<number> {
  return (await tx.first(COUNT_DUE, [sink, now.getTime(), most]))?.due ?? 0;
}

async function ofLead(
  tx: Transaction,
  filter: DeliveryFilter,
  after: ListPosition,
  limit: number,
): Promise<readonly ListPosition[]> {
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

function resultValues(filter: ResultFilter): Value[] {
  const { reason, httpStatus, deliveredSince, deliveredUntil } = resultParameters(filter);
  return [reason, httpStatus, deliveredSince, deliveredUntil];
}
