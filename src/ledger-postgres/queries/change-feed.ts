import type { Outcome } from '../../leads/outcome.ts';
import type { FeedCursor, FeedPage, RecentAttempt } from '../../ledger/contract/feed-entries.ts';
import type { PollRow } from '../../ledger/contract/status-rows.ts';
import {
  type FeedAttempt,
  type FeedLead,
  type FeedRejection,
  feedEntries,
  MAX_FEED_ROWS,
} from '../../ledger/rules/queries/change-feed.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { DELIVERY_ID, IS_NEW_LEAD } from '../schema/delivery-sql.ts';
import { historyOf, requireHistoryOf } from './feed-history.ts';
import { type RawPoll, toPollRow } from './status-queries.ts';

/** Returns the cursor at the present end of the change feed. */
export async function feedCursor(tx: Transaction): Promise<FeedCursor> {
  const last = (await tx.first(LAST)) as Omit<FeedCursor, 'polls'>;
  return {
    ...last,
    ledger: await historyOf(tx),
    polls: Object.fromEntries((await tx.rows(LAST_POLLS)).map((row) => [row.source, row.poll])),
  };
}

/** Returns the page after a cursor, with up to 500 rows of each kind. `withData` adds the content of leads and the answers from destinations. */
export async function feed(tx: Transaction, cursor: FeedCursor, withData: boolean): Promise<FeedPage> {
  await requireHistoryOf(tx, cursor);
  const leads = await tx.rows(LEADS, [withData, cursor.lead, MAX_FEED_ROWS]);
  const rejections = await tx.rows(REJECTIONS, [cursor.rejection, MAX_FEED_ROWS]);
  const { attempts, after } = await attemptsAfter(tx, cursor);
  const pollsBySource: PollRow[][] = [];
  for (const { source } of await tx.rows(SOURCES))
    pollsBySource.push(
      (await tx.rows(POLLS, [source, cursor.polls[source] ?? 0, MAX_FEED_ROWS])).map(toPollRow),
    );
  const polls = pollsBySource.flat();
  return {
    entries: feedEntries({ polls, leads, rejections, attempts }, withData),
    cursor: {
      ledger: cursor.ledger,
      polls: { ...cursor.polls, ...Object.fromEntries(polls.map(({ source, poll }) => [source, poll])) },
      lead: leads.at(-1)?.no ?? cursor.lead,
      rejection: rejections.at(-1)?.no ?? cursor.rejection,
      ...after,
    },
    more: [leads, rejections, attempts, ...pollsBySource].some(({ length }) => length === MAX_FEED_ROWS),
  };
}

/** Returns the last attempts, newest first. */
export async function recentAttempts(tx: Transaction, limit: number): Promise<RecentAttempt[]> {
  return (await tx.rows(RECENT, [limit])).map(({ sink, at, outcome, speed_ms }) => ({
    sink,
    at: new Date(at),
    outcome,
    speedMs: speed_ms ?? undefined,
  }));
}

type AttemptCursor = Pick<FeedCursor, 'attempt' | 'seen' | 'reading'>;

/**
 * Returns the next attempts. Attempts are committed in another order than that of their numbers, so the cursor says which transactions the reader has
 * seen, and while their pages are read, up to which transactions.
 */
async function attemptsAfter(
  tx: Transaction,
  { attempt, seen, reading }: FeedCursor,
): Promise<{ readonly attempts: readonly FeedAttempt[]; readonly after: AttemptCursor }> {
  const now = (await tx.first(SNAPSHOT))?.now ?? '';
  const until = reading ?? now;
  const attempts = await tx.rows(ATTEMPTS, [
    seen ?? now,
    until,
    reading === undefined ? 0 : attempt,
    MAX_FEED_ROWS,
  ]);
  const last = attempts.at(-1)?.no ?? attempt;
  if (attempts.length === MAX_FEED_ROWS) return { attempts, after: { attempt: last, seen, reading: until } };
  if (attempts.length === 0 && reading === undefined) return { attempts, after: { attempt, seen } };
  return { attempts, after: { attempt: last, seen: until } };
}

// All but attempts are recorded under the owing lock, or have one writer for each source, so that they are committed in the order of their numbers.
const LAST = statement<Omit<FeedCursor, 'polls'>>(
  'end-of-feed',
  `SELECT (SELECT coalesce(max(version_no), 0) FROM _versions) AS lead, (SELECT coalesce(max(rejected_id), 0) FROM _rejected_leads) AS rejection,
   (SELECT coalesce(max(attempt_no), 0) FROM _attempts) AS attempt, pg_current_snapshot()::text AS seen`,
);
const LAST_POLLS = statement<{ source: string; poll: number }>(
  'last-finished-polls',
  `SELECT o.source, coalesce((SELECT p.poll_id FROM _polls p WHERE p.source = o.source AND p.status <> 'running' ORDER BY p.poll_id DESC LIMIT 1), 0) AS poll
   FROM _sources o`,
);
const SOURCES = statement<{ source: string }>('source-names', 'SELECT source FROM _sources ORDER BY source');
const POLLS = statement<RawPoll>(
  'finished-polls-after',
  "SELECT * FROM _polls WHERE source = $1 AND poll_id > $2 AND status <> 'running' ORDER BY poll_id LIMIT $3",
);
const LEADS = statement<FeedLead>(
  'versions-after',
  `SELECT version_no AS no, source, id::text AS lead, version, valid_from AS at, changed_fields, CASE WHEN $1::boolean THEN raw END AS raw
   FROM _versions WHERE version_no > $2 ORDER BY version_no LIMIT $3`,
);
const REJECTIONS = statement<FeedRejection>(
  'rejections-after',
  `SELECT r.rejected_id AS no, r.source, r.lead_id::text AS lead, r.path, r.reason, p.started_at AS at
   FROM _rejected_leads r JOIN _polls p ON p.poll_id = r.poll_id WHERE r.rejected_id > $1 ORDER BY r.rejected_id LIMIT $2`,
);
const SNAPSHOT = statement<{ now: string }>('snapshot', 'SELECT pg_current_snapshot()::text AS now');
/** The attempts of transactions of which some condition holds, as far as they are visible in the snapshot `$2`. Each condition reads an index. */
const unseen = (condition: string) =>
  `SELECT a.attempt_no FROM _attempts a WHERE ${condition} AND pg_visible_in_snapshot(a.xact::text::xid8, $2::text::pg_snapshot)`;
// What the snapshot `$1` does not show are the transactions that began after it, and those that ran when it was taken. A transaction that has run
// for long does not make the feed read again what was committed meanwhile.
const ATTEMPTS = statement<FeedAttempt>(
  'attempts-unseen',
  `WITH unseen AS MATERIALIZED (
     ${unseen('a.xact >= pg_snapshot_xmax($1::text::pg_snapshot)::text::bigint AND a.xact < pg_snapshot_xmax($2::text::pg_snapshot)::text::bigint')}
     UNION ALL ${unseen('a.xact = ANY (ARRAY(SELECT x::text::bigint FROM pg_snapshot_xip($1::text::pg_snapshot) AS x))')})
   SELECT a.attempt_no AS no, ${DELIVERY_ID} AS delivery, s.sink, v.source, v.id::text AS lead, a.started_at, a.duration_ms, a.outcome,
     a.http_status, a.error, a.answer, d.state, d.next_attempt_at
   FROM (SELECT attempt_no FROM unseen WHERE attempt_no > $3 ORDER BY attempt_no LIMIT $4) n JOIN _attempts a ON a.attempt_no = n.attempt_no
   JOIN _deliveries d ON d.delivery_no = a.delivery_no JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no
   ORDER BY a.attempt_no`,
);
const RECENT = statement<{ sink: string; at: number; outcome: Outcome['kind']; speed_ms: number | null }>(
  'recent-attempts',
  `SELECT s.sink, coalesce(a.last_at, a.started_at) + a.duration_ms AS at, a.outcome,
   CASE WHEN a.outcome = 'delivered' AND ${IS_NEW_LEAD} THEN d.settled_at - v.first_seen_at END AS speed_ms
   FROM (SELECT * FROM _attempts ORDER BY attempt_no DESC LIMIT $1) a JOIN _deliveries d ON d.delivery_no = a.delivery_no
   JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no LEFT JOIN _sources o ON o.source = v.source
   ORDER BY a.attempt_no DESC`,
);
