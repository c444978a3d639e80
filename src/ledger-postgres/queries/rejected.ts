import type { RejectedSearch, RejectedText, StoredRejection } from '../../ledger/contract/page-rows.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Maximum number of rows that are read for one page. */
const MAX_ROWS_READ = 50_000;

/** Returns one page of the rejected leads with ids below `before`, newest first. `next` is the `before` of the next page. */
export async function rejected(
  tx: Transaction,
  { source, state }: RejectedSearch,
  {
    limit,
    before = Number.MAX_SAFE_INTEGER,
  }: { readonly limit: number; readonly before?: number | undefined },
): Promise<{ readonly rows: readonly StoredRejection[]; readonly next: number | undefined }> {
  const found = await tx.rows(NEWEST, [before, source ?? null, state ?? null, limit + 1, MAX_ROWS_READ]);
  const rows = found.slice(0, limit).map(toRejection);
  if (found.length > limit) return { rows, next: rows.at(-1)?.rejected_id };
  return { rows, next: (await tx.first(LAST_READ, [before, MAX_ROWS_READ - 1]))?.rejected_id };
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
const POLLS_AND_STATE = `JOIN _polls first ON first.poll_id = r.poll_id JOIN _polls last ON last.poll_id = r.last_poll_id
   CROSS JOIN LATERAL (SELECT CASE WHEN r.resolved_at IS NOT NULL THEN 'resolved'
     WHEN r.last_poll_id < (SELECT o.complete_poll FROM _sources o WHERE o.source = r.source) THEN 'gone' ELSE 'open' END AS state) n`;
const NEWEST = statement<Row>(
  'rejected-before',
  `SELECT ${COLUMNS}
   FROM (SELECT rejected_id, source, lead_id, path, reason, poll_id, last_poll_id, resolved_at FROM _rejected_leads WHERE rejected_id < $1
     ORDER BY rejected_id DESC LIMIT $5) r
   ${POLLS_AND_STATE}
   WHERE ($2::text IS NULL OR r.source = $2) AND ($3::text IS NULL OR n.state = $3) ORDER BY r.rejected_id DESC LIMIT $4`,
);
/** The last row that was read, if there may be more. */
const LAST_READ = statement<{ rejected_id: number }>(
  'last-rejected-read',
  'SELECT rejected_id FROM _rejected_leads WHERE rejected_id < $1 ORDER BY rejected_id DESC OFFSET $2 LIMIT 1',
);
const TEXT = statement<Row & { raw: string }>(
  'rejected-text',
  `SELECT ${COLUMNS}, r.raw FROM _rejected_leads r ${POLLS_AND_STATE} WHERE r.rejected_id = $1`,
);
