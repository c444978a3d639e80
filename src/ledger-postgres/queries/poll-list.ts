import { sizeBeforeShrinking } from '../../leads/listing-shrinkage.ts';
import { dependsOnListing, hasResult, hasShrunk, statusesOf } from '../../leads/poll-result.ts';
import type { Count, Order, PollSearch, Rows, StoredPoll } from '../../ledger/contract/page-rows.ts';
import { POLL_STATUSES, type PollStatus, type SourceStatus } from '../../ledger/contract/status-rows.ts';
import { type Cursor, countOf, FROM_NEWEST, inEachOrder } from '../../ledger/rules/queries/keyset-page.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { readPage } from './keyset-page.ts';
import { sourceStatuses } from './status-queries.ts';

/** Maximum number of polls that are read to count those with a result that depends on the listing. */
const MAX_READ_FOR_COUNT = 5_000;

/** Returns a page of polls, in the order in which they started. */
export async function pollsPage(
  tx: Transaction,
  search: PollSearch,
  limit: number,
  after: Cursor,
  order: Order,
): Promise<Rows<StoredPoll>> {
  const { read, shown, fits } = await listOf(tx, search, order);
  const { rows, next } = await readPage(read, { limit, after, fits });
  return { rows: rows.map(shown), next };
}

/** Counts polls, up to `most`, the newest first. Stops earlier if it would have to read too many that do not match. */
export async function countPolls(tx: Transaction, search: PollSearch, most: number): Promise<Count> {
  if (search.result === undefined || !dependsOnListing(search.result)) {
    const values = [search.source ?? null, texts(statusesIn(search)), most] as const;
    return countOf((await tx.first(COUNT, values))?.polls ?? 0, most);
  }
  const { read, fits } = await listOf(tx, search, 'newest');
  const { rows, next } = await readPage(read, {
    limit: most,
    after: FROM_NEWEST,
    fits,
    most: MAX_READ_FOR_COUNT,
  });
  return countOf(rows.length, most, next !== null);
}

/** Returns the functions that read a list of polls, convert a row, and say whether a row matches the search. */
async function listOf(tx: Transaction, search: PollSearch, order: Order) {
  const { source, result } = search;
  const shrunkAfter = await lastBeforeShrinking(tx);
  const shown = (row: Row): StoredPoll => toPoll(row, shrunkAfter.get(row.source));
  const values = [source ?? null, texts(statusesIn(search))];
  return {
    read: (from: Cursor, most: number) => tx.rows(LISTED[order], [...values, from.no, most]),
    shown,
    fits: (row: Row) => result === undefined || hasResult(shown(row), result),
  };
}

/** Returns the statuses of the polls that may match. */
function statusesIn({ status, result }: PollSearch): PollStatus[] {
  return (result ? statusesOf(result) : POLL_STATUSES).filter(
    (one) => status === undefined || one === status,
  );
}

/** Whether a poll with this status read or confirmed a complete listing, on which its result depends. */
function isComplete(status: PollStatus): boolean {
  return status === 'success' || status === 'unchanged';
}

type Row = Omit<StoredPoll, 'is_shrunk' | 'started_at' | 'finished_at'> &
  Cursor & { readonly started_at: number; readonly finished_at: number | null };

/** Converts a row. `shrunkAfter` is the last poll of the source before its present listing shrank; undefined if it has not. */
function toPoll({ at: _, no: __, ...row }: Row, shrunkAfter = Number.POSITIVE_INFINITY): StoredPoll {
  return {
    ...row,
    started_at: new Date(row.started_at).toISOString(),
    finished_at: row.finished_at === null ? null : new Date(row.finished_at).toISOString(),
    is_shrunk: hasShrunk(row) || (isComplete(row.status) && row.poll_id > shrunkAfter),
  };
}

/**
 * Returns, for each source whose last complete listing is far smaller than those of the week before, the last poll before it shrank; 0 if no
 * such poll is known.
 */
async function lastBeforeShrinking(tx: Transaction): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const status of await sourceStatuses(tx))
    if (sizeBeforeShrinking(status) !== undefined) found.set(status.source, await lastLarge(tx, status));
  return found;
}

async function lastLarge(tx: Transaction, status: SourceStatus): Promise<number> {
  const { rows } = await readPage((from, most) => tx.rows(SIZES, [status.source, from.no, most]), {
    limit: 1,
    after: FROM_NEWEST,
    fits: ({ listed }) => sizeBeforeShrinking({ ...status, listed }) === undefined,
  });
  return rows[0]?.no ?? 0;
}

const SIZES = statement<Cursor & { listed: number }>(
  'sizes-of-listings',
  `SELECT 0 AS at, poll_id AS no, leads_listed AS listed FROM _polls WHERE source = $1 AND status = 'success' AND poll_id < $2
   ORDER BY poll_id DESC LIMIT $3`,
);

/** A complete listing before the poll `p`, newest first. */
const BEFORE = (columns: string, status: string) =>
  `(SELECT ${columns} FROM _polls b WHERE b.source = p.source AND b.status = '${status}' AND b.poll_id < p.poll_id ORDER BY b.poll_id DESC LIMIT 1)`;

const LISTS = inEachOrder(
  ({
    follows,
    sorted,
  }) => `SELECT 0 AS at, p.poll_id AS no, p.poll_id, p.source, p.started_at, p.finished_at, p.status, p.leads_listed, p.leads_new,
     p.leads_changed, p.leads_rejected, p.bytes, p.http_status, p.error,
     CASE p.status WHEN 'success' THEN (SELECT c.leads_listed FROM (${BEFORE('b.poll_id, b.leads_listed', 'success')}
       UNION ALL ${BEFORE('b.poll_id, b.leads_listed', 'unchanged')}) c ORDER BY c.poll_id DESC LIMIT 1) END AS listed_before,
     CASE p.status WHEN 'success' THEN p.leads_rejected WHEN 'unchanged' THEN coalesce(${BEFORE('b.leads_rejected', 'success')}, 0)
       ELSE 0 END AS listing_rejected
   FROM (SELECT n.* FROM _sources o CROSS JOIN unnest($2::text[]) AS t (status) CROSS JOIN LATERAL (
       SELECT * FROM _polls q WHERE q.source = o.source AND q.status = t.status AND q.poll_id ${follows} $3
       ORDER BY q.poll_id ${sorted} LIMIT $4) n
     WHERE $1::text IS NULL OR o.source = $1 ORDER BY n.poll_id ${sorted} LIMIT $4) p ORDER BY p.poll_id ${sorted}`,
);
const LISTED = {
  newest: statement<Row>('polls-newest', LISTS.newest),
  oldest: statement<Row>('polls-oldest', LISTS.oldest),
};

/** The number of polls with one of these statuses, up to a maximum. */
const COUNT = statement<{ polls: number }>(
  'count-polls',
  `SELECT count(*) AS polls FROM (SELECT 1 FROM _sources o CROSS JOIN unnest($2::text[]) AS t (status) CROSS JOIN LATERAL (
     SELECT 1 FROM _polls q WHERE q.source = o.source AND q.status = t.status LIMIT $3) n
   WHERE $1::text IS NULL OR o.source = $1 LIMIT $3) c`,
);
