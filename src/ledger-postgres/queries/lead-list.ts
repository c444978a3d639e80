import type { Count, LeadRow, LeadSearch, Order, Rows } from '../../ledger/contract/page-rows.ts';
import {
  type Cursor,
  countOf,
  FROM_NEWEST,
  rowsAfter,
  startingAt,
} from '../../ledger/rules/queries/keyset-page.ts';
import { type Period, periodOf } from '../../ledger/rules/queries/period.ts';
import type { Value } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { readPage } from './keyset-page.ts';
import {
  CAME_AT,
  COUNT_LEADS,
  GONE_LEADS,
  LEADS,
  type ListedLead,
  NAMED_LEADS,
  NEWEST,
  SERVICE_LEADS,
} from './lead-list-sql.ts';
import { leadRows } from './lead-rows.ts';

/** Maximum number of leads that are read for one page if the deliveries of each have to be read, too. */
const MAX_WITH_PROGRESS = 5_000;
const ANY_TIME: Period = periodOf({});
const fits = (row: ListedLead): boolean => row.fits;

/** Returns a page of the leads that match a filter, in the order in which they were first seen, or for `gone`, in which they vanished. */
export async function leadsPage(
  tx: Transaction,
  search: LeadSearch,
  limit: number,
  after: Cursor,
  order: Order,
): Promise<Rows<LeadRow>> {
  const most = search.delivered === undefined ? {} : { most: MAX_WITH_PROGRESS };
  const read = await listOf(tx, search, order);
  const { rows, next } = await readPage(read, { limit, after, fits, ...most });
  return { rows: await leadRows(tx, rows), next };
}

/** Counts leads, up to `most`. Stops earlier if it would have to read too many that do not match. */
export async function countLeads(tx: Transaction, search: LeadSearch, most: number): Promise<Count> {
  const { source, lead, service, listing, delivered } = search;
  if ((lead ?? service ?? listing ?? delivered) === undefined) {
    const { since, until } = periodOf(search);
    return countOf((await tx.first(COUNT_LEADS, [source ?? null, since, until, most]))?.leads ?? 0, most);
  }
  const read = await listOf(tx, search, 'newest');
  const { rows, next } = await readPage(read, { limit: most, after: FROM_NEWEST, fits });
  return countOf(rows.length, most, next !== null);
}

type ReadLeads = (after: Cursor, rows: number) => Promise<readonly ListedLead[]>;

/** Returns the function that reads the list in which the leads of a filter are. */
async function listOf(tx: Transaction, search: LeadSearch, order: Order): Promise<ReadLeads> {
  const { lead, service, listing } = search;
  if (lead !== undefined) {
    const found = await tx.rows(NAMED_LEADS, [...conditions(search, periodOf(search)), lead]);
    return async (from, most) => rowsAfter(found, from, order).slice(0, most);
  }
  if (listing === 'gone') {
    const asked = conditions(search, periodOf(search));
    return ({ no }, most) => tx.rows(GONE_LEADS[order], [...asked, no, most]);
  }
  const asked = conditions(search, ANY_TIME);
  if (service !== undefined) {
    const { since, until } = periodOf(search);
    const range = [await firstNoSince(tx, since), await firstNoSince(tx, until), since, until];
    return ({ at }, most) => tx.rows(SERVICE_LEADS[order], [...asked, at, most, ...range]);
  }
  return (from, most) => {
    const { at, no, since, until } = startingAt(from, search, order);
    return tx.rows(LEADS[order], [...asked, at, no, most, since, until]);
  };
}

/** Returns the values of the conditions of every list. */
function conditions({ source, service, listing, delivered }: LeadSearch, { since, until }: Period): Value[] {
  return [source ?? null, service ?? null, listing ?? null, delivered ?? null, since, until];
}

/** Returns the number of the first version that was recorded at or after a time, by binary search. An end of the period that is open needs none. */
async function firstNoSince(tx: Transaction, at: number): Promise<number> {
  if (at === ANY_TIME.since || at === ANY_TIME.until) return at;
  const newest = (await tx.first(NEWEST))?.no ?? 0;
  let [low, high] = [0, newest + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const cameAt = (await tx.first(CAME_AT, [middle]))?.at;
    if (cameAt !== undefined && cameAt < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
