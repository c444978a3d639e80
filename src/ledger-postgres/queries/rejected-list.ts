import type {
  FaultCount,
  Order,
  RejectedCount,
  RejectedSearch,
  RejectedText,
  Rows,
  StoredRejection,
} from '../../ledger/contract/page-rows.ts';
import {
  type Cursor,
  countOf,
  FROM_NEWEST,
  inEachOrder,
  parseCursor,
} from '../../ledger/rules/queries/keyset-page.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { readPage } from './keyset-page.ts';

/** Maximum number of rejected leads that are read for a count. */
const MAX_READ_FOR_COUNT = 50_000;
/** Maximum number of faults that a count returns. */
const MAX_FAULTS = 100;

/** Returns one page of the rejected leads, in the order in which they were first rejected, or rejected again after they had been resolved. */
export async function rejectedPage(
  tx: Transaction,
  { source, state }: RejectedSearch,
  limit: number,
  after: Cursor,
  order: Order,
): Promise<Rows<StoredRejection>> {
  const { rows, next } = await readPage((from, most) => tx.rows(LISTED[order], [from.no, most]), {
    limit,
    after,
    fits: (row) =>
      (source === undefined || row.source === source) && (state === undefined || row.state === state),
  });
  return { rows: rows.map(({ at: _, no: __, ...row }) => toRejection(row)), next };
}

/** Returns one page of the rejected leads with ids below `before`, newest first. `next` is the `before` of the next page. */
export async function rejected(
  tx: Transaction,
  search: RejectedSearch,
  { limit, before = FROM_NEWEST.no }: { readonly limit: number; readonly before?: number | undefined },
): Promise<{ readonly rows: readonly StoredRejection[]; readonly next: number | undefined }> {
  const { rows, next } = await rejectedPage(tx, search, limit, { at: 0, no: before }, 'newest');
  return { rows, next: next === null ? undefined : parseCursor(next)?.no };
}

/** Counts rejected leads and their faults, up to `most` leads, the newest first. Stops earlier if it would have to read too many. */
export async function countRejected(
  tx: Transaction,
  { source, state }: RejectedSearch,
  most: number,
): Promise<RejectedCount> {
  const groups = await tx.rows(FAULTS, [MAX_READ_FOR_COUNT, source ?? null, state ?? null, most, MAX_FAULTS]);
  const leads = groups[0]?.counted ?? 0;
  const hasMore = leads < most && (await tx.first(BEYOND, [MAX_READ_FOR_COUNT])) !== undefined;
  return { ...countOf(leads, most, hasMore), faults: groups.map(({ counted: _, ...fault }) => fault) };
}

/** Returns the text of a rejected lead; undefined if no rejected lead has this id. */
export async function rejectedText(tx: Transaction, id: number): Promise<RejectedText | undefined> {
  const row = await tx.first(TEXT, [id]);
  return row && { ...toRejection(row), raw: row.raw };
}

type Row = Omit<StoredRejection, 'rejected_at' | 'last_rejected_at' | 'resolved_at'> & {
  rejected_at: number;
  last_rejected_at: number;
  resolved_at: number | null;
};

function toRejection(row: Row): StoredRejection {
  return {
    ...row,
    rejected_at: new Date(row.rejected_at).toISOString(),
    last_rejected_at: new Date(row.last_rejected_at).toISOString(),
    resolved_at: row.resolved_at === null ? null : new Date(row.resolved_at).toISOString(),
  };
}

const COLUMNS = `r.rejected_id, r.source, r.lead_id::text AS lead_id, r.path, r.reason, r.poll_id, first.started_at AS rejected_at, r.last_poll_id,
     last.started_at AS last_rejected_at, r.resolved_at, n.state`;
const STATE = `CROSS JOIN LATERAL (SELECT CASE WHEN r.resolved_at IS NOT NULL THEN 'resolved'
     WHEN r.last_poll_id < (SELECT o.complete_poll FROM _sources o WHERE o.source = r.source) THEN 'gone' ELSE 'open' END AS state) n`;
const POLLS_AND_STATE = `JOIN _polls first ON first.poll_id = r.poll_id JOIN _polls last ON last.poll_id = r.last_poll_id
   ${STATE}`;
const LISTS = inEachOrder(
  ({ follows, sorted }) => `SELECT 0 AS at, r.rejected_id AS no, ${COLUMNS}
   FROM (SELECT rejected_id, source, lead_id, path, reason, poll_id, last_poll_id, resolved_at FROM _rejected_leads
     WHERE rejected_id ${follows} $1 ORDER BY rejected_id ${sorted} LIMIT $2) r
   ${POLLS_AND_STATE} ORDER BY r.rejected_id ${sorted}`,
);
const LISTED = {
  newest: statement<Row & Cursor>('rejected-newest', LISTS.newest),
  oldest: statement<Row & Cursor>('rejected-oldest', LISTS.oldest),
};
const FAULTS = statement<FaultCount & { counted: number }>(
  'rejected-faults',
  `SELECT source, path, reason, count(*) AS leads, (sum(count(*)) OVER ())::bigint AS counted FROM (
     SELECT r.source, r.path, r.reason FROM (SELECT rejected_id, source, path, reason, resolved_at, last_poll_id FROM _rejected_leads
       ORDER BY rejected_id DESC LIMIT $1) r ${STATE}
     WHERE ($2::text IS NULL OR r.source = $2) AND ($3::text IS NULL OR n.state = $3) ORDER BY r.rejected_id DESC LIMIT $4) f
   GROUP BY source, path, reason ORDER BY leads DESC, source COLLATE "C", path COLLATE "C", reason COLLATE "C" LIMIT $5`,
);
const BEYOND = statement<{ one: number }>(
  'rejected-beyond',
  'SELECT 1 AS one FROM _rejected_leads ORDER BY rejected_id DESC LIMIT 1 OFFSET $1',
);
const TEXT = statement<Row & { raw: string }>(
  'rejected-text',
  `SELECT ${COLUMNS}, r.raw FROM _rejected_leads r ${POLLS_AND_STATE} WHERE r.rejected_id = $1`,
);
