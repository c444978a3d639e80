import { LEFT_OUT } from '../../leads/outcome.ts';
import type {
  Backlog,
  DeadReason,
  LedgerStatus,
  PollRow,
  PollStatus,
  Retrying,
  SinkStatus,
  SourceStatus,
} from '../../ledger/contract/status-rows.ts';
import { DAYS_COMPARED, dayOf } from '../../ledger/database/listing-size-days.ts';
import type { SinkRow } from '../../ledger/rules/delivering/sink-row.ts';
import { dateOf } from '../../ledger/rules/queries/delivery-rows.ts';
import { countedSinks } from '../database/sinks.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { machinesStatus } from './machine-queries.ts';

/** Returns the backlog and health of every sink. */
export async function backlog(tx: Transaction): Promise<Backlog[]> {
  const found = [];
  for (const row of await countedSinks(tx)) found.push(await backlogOf(tx, row));
  return found;
}

/** Returns the status of every source and sink. */
export async function status(tx: Transaction): Promise<LedgerStatus> {
  const sinks: SinkStatus[] = [];
  for (const row of await countedSinks(tx)) sinks.push(await sinkStatus(tx, row));
  const restored = await tx.first(RESTORED);
  const serverNow = new Date(tx.now);
  const machines = await machinesStatus(tx);
  return { sources: await sourceStatuses(tx), sinks, restoredAt: dateOf(restored?.at), serverNow, machines };
}

/** Returns the status of every source. */
export async function sourceStatuses(tx: Transaction): Promise<SourceStatus[]> {
  const sources: SourceStatus[] = [];
  for (const row of await tx.rows(SOURCES)) sources.push(await sourceStatus(tx, row));
  return sources;
}

async function backlogOf(
  tx: Transaction,
  { sinkNo, name, health, active, counts }: SinkRow,
): Promise<Backlog> {
  const { pending, dead } = counts;
  const oldestOwedAt = dateOf((await tx.first(OLDEST_OWED, [sinkNo]))?.at);
  return { sink: name, pending, dead, oldestOwedAt, health, active };
}

async function sinkStatus(tx: Transaction, row: SinkRow): Promise<SinkStatus> {
  const { sinkNo, counts, health } = row;
  const deliveredAt = health.lastDeliveredAt?.getTime() ?? 0;
  return {
    ...(await backlogOf(tx, row)),
    deadReason: counts.dead > 0 ? await deadReason(tx, sinkNo) : undefined,
    ...(await deadTimes(tx, sinkNo)),
    delivered: counts.delivered,
    skipped: counts.skipped,
    leftOut: (await tx.first(LEFT_OUT_SINCE, [sinkNo, deliveredAt, LEFT_OUT]))?.leads ?? 0,
    dueSince: dateOf((await tx.first(DUE_SINCE, [sinkNo]))?.at),
    retrying: await retrying(tx, sinkNo),
    replays: (await tx.first(REPLAYS, [sinkNo]))?.deliveries ?? 0,
  };
}

/** Returns the most frequent reason among the last 1,000 dead deliveries of a sink. */
function deadReason(tx: Transaction, sinkNo: number): Promise<DeadReason | undefined> {
  return tx.first(DEAD_REASON, [sinkNo]);
}

/** Returns when the first and the most recent of the present dead deliveries of a sink became dead. */
async function deadTimes(tx: Transaction, sinkNo: number) {
  const { since, last } = (await tx.first(DEAD_TIMES, [sinkNo])) ?? {};
  return { deadSince: dateOf(since), lastDeadAt: dateOf(last) };
}

async function retrying(tx: Transaction, sinkNo: number): Promise<Retrying | undefined> {
  const next = await tx.first(NEXT_RETRY, [sinkNo]);
  if (!next) return undefined;
  const { deliveries = 0, since = null } = (await tx.first(RETRYING, [sinkNo])) ?? {};
  return {
    deliveries,
    since: new Date(since ?? next.at),
    reason: next.reason,
    nextAttemptAt: new Date(next.at),
  };
}

interface SourceRow {
  source: string;
  complete_at: number | null;
  leads: number;
  listed: number;
  rejected: number;
}

async function sourceStatus(tx: Transaction, row: SourceRow): Promise<SourceStatus> {
  const { source, complete_at, leads, listed, rejected } = row;
  const last = await tx.first(LAST_POLL, [source]);
  const lastPoll = last && toPollRow(last);
  const before = lastPoll?.status === 'running' ? await tx.first(POLL_BEFORE, [source, lastPoll.poll]) : last;
  const ended = before && toPollRow(before);
  const failure = ended?.status === 'failed' || ended?.status === 'partial' ? ended : undefined;
  const day = dayOf(complete_at ?? 0);
  return {
    source,
    leads,
    listed,
    rejected,
    listedLately: (await tx.first(MOST_LISTED, [source, day - DAYS_COMPARED, day]))?.most ?? 0,
    lastPoll,
    lastSuccessAt: dateOf(complete_at),
    failedBefore: lastPoll?.status === 'running' ? failure : undefined,
    failingSince: failure ? dateOf((await tx.first(FAILING_SINCE, [source]))?.at) : undefined,
  };
}

/** Returns the last polls of all sources, newest first. */
export async function lastPolls(tx: Transaction, limit: number): Promise<PollRow[]> {
  return (await tx.rows(LAST_POLLS, [limit])).map(toPollRow);
}

/** A row of `_polls`. */
export interface RawPoll {
  poll_id: number;
  source: string;
  started_at: number;
  finished_at: number | null;
  status: PollStatus;
  leads_listed: number;
  leads_new: number;
  leads_changed: number;
  leads_rejected: number;
  error: string | null;
}

/** Converts a row of `_polls`. */
export function toPollRow(row: RawPoll): PollRow {
  return {
    poll: row.poll_id,
    source: row.source,
    startedAt: new Date(row.started_at),
    finishedAt: dateOf(row.finished_at),
    status: row.status,
    listed: row.leads_listed,
    new: row.leads_new,
    changed: row.leads_changed,
    rejected: row.leads_rejected,
    error: row.error ?? undefined,
  };
}

const LAST_POLLS = statement<RawPoll>('last-polls', 'SELECT * FROM _polls ORDER BY poll_id DESC LIMIT $1');
const SOURCES = statement<SourceRow>(
  'sources-for-status',
  'SELECT source, complete_at, leads, listed, rejected FROM _sources ORDER BY source COLLATE "C"',
);
const RESTORED = statement<{ at: number | null }>('restored-at', 'SELECT restored_at AS at FROM _ledger');
const OLDEST_OWED = statement<{ at: number | null }>(
  'oldest-owed',
  "SELECT min(owed_at) AS at FROM _deliveries WHERE sink_no = $1 AND state = 'pending'",
);
const LEFT_OUT_SINCE = statement<{ leads: number }>(
  'left-out-since',
  `SELECT count(*) AS leads FROM (SELECT reason FROM _deliveries WHERE sink_no = $1 AND state = 'skipped' AND owed_at > $2
   ORDER BY owed_at DESC LIMIT 1000) n WHERE starts_with(reason, $3)`,
);
const DUE_SINCE = statement<{ at: number | null }>(
  'due-since',
  `SELECT least((SELECT next_attempt_at FROM _deliveries WHERE sink_no = $1 AND state = 'pending' AND batch_no IS NULL
     ORDER BY next_attempt_at, delivery_no LIMIT 1),
   (SELECT min(d.next_attempt_at) FROM _batches b JOIN _deliveries d ON d.batch_no = b.batch_no WHERE b.sink_no = $1)) AS at`,
);
const RETRYING = statement<{ deliveries: number; since: number | null }>(
  'retrying',
  `SELECT count(*) AS deliveries, min(first_attempt_at) AS since FROM _deliveries WHERE sink_no = $1 AND state = 'pending' AND reason IS NOT NULL`,
);
const NEXT_RETRY = statement<{ reason: string; at: number }>(
  'next-retry',
  `SELECT reason, next_attempt_at AS at FROM _deliveries WHERE sink_no = $1 AND state = 'pending' AND reason IS NOT NULL
   ORDER BY next_attempt_at LIMIT 1`,
);
const DEAD_REASON = statement<DeadReason>(
  'dead-reason',
  `SELECT coalesce(reason, '') AS reason, count(*) AS deliveries FROM (SELECT reason FROM _deliveries
     WHERE sink_no = $1 AND state = 'dead' ORDER BY settled_at DESC LIMIT 1000) n GROUP BY 1 ORDER BY 2 DESC, coalesce(reason, '') COLLATE "C" LIMIT 1`,
);
const DEAD_TIMES = statement<{ since: number | null; last: number | null }>(
  'dead-times',
  `SELECT (SELECT settled_at FROM _deliveries WHERE sink_no = $1 AND state = 'dead' ORDER BY settled_at LIMIT 1) AS since,
     (SELECT settled_at FROM _deliveries WHERE sink_no = $1 AND state = 'dead' ORDER BY settled_at DESC LIMIT 1) AS last`,
);
const REPLAYS = statement<{ deliveries: number }>(
  'pending-replays',
  `SELECT count(*) AS deliveries FROM _deliveries WHERE sink_no = $1 AND state = 'pending' AND replay > 0`,
);
const LAST_POLL = statement<RawPoll>(
  'last-poll',
  'SELECT * FROM _polls WHERE source = $1 ORDER BY poll_id DESC LIMIT 1',
);
const POLL_BEFORE = statement<RawPoll>(
  'poll-before',
  'SELECT * FROM _polls WHERE source = $1 AND poll_id < $2 ORDER BY poll_id DESC LIMIT 1',
);
const MOST_LISTED = statement<{ most: number | null }>(
  'most-listed',
  'SELECT max(most) AS most FROM _listing_sizes WHERE source = $1 AND day BETWEEN $2 AND $3',
);
const FAILING_SINCE = statement<{ at: number | null }>(
  'failing-since',
  `SELECT started_at AS at FROM _polls WHERE source = $1 AND poll_id > coalesce((SELECT max(q.poll_id) FROM _polls q
     WHERE q.source = $1 AND q.status IN ('success', 'unchanged')), 0) ORDER BY poll_id LIMIT 1`,
);
