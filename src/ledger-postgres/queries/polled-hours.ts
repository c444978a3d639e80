import type { PolledHours, PollId } from '../../ledger/contract/status-rows.ts';
import {
  MAX_POLLS,
  NOTHING_POLLED,
  polledHoursOf,
  type RawPoll,
} from '../../ledger/rules/queries/polled-hours.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Counts the new leads of each hour in up to a thousand polls of a source after a given poll or time. */
export async function polledHours(
  tx: Transaction,
  source: string,
  from: PollId | Date,
): Promise<PolledHours> {
  const first = await tx.first(FIRST_SUCCESS, [source]);
  if (first === undefined) return NOTHING_POLLED;
  const after = Math.max(first.poll_id, from instanceof Date ? await pollBefore(tx, from) : from);
  return polledHoursOf(await tx.rows(POLLS, [source, after, MAX_POLLS]));
}

/** Finds the last poll before a time by binary search, because polls are numbered in chronological order. */
async function pollBefore(tx: Transaction, time: Date): Promise<PollId> {
  let [before, from] = [0, ((await tx.first(LAST_POLL))?.poll_id ?? 0) + 1];
  while (from - before > 1) {
    const middle = Math.floor((before + from) / 2);
    const started = await tx.first(STARTED_FROM, [middle]);
    if (started !== undefined && started.started_at < time.getTime()) before = middle;
    else from = middle;
  }
  return before;
}

const FIRST_SUCCESS = statement<{ poll_id: number }>(
  'first-success',
  "SELECT poll_id FROM _polls WHERE source = $1 AND status = 'success' ORDER BY poll_id LIMIT 1",
);
const LAST_POLL = statement<{ poll_id: number | null }>(
  'last-poll-of-all',
  'SELECT max(poll_id) AS poll_id FROM _polls',
);
const STARTED_FROM = statement<{ started_at: number }>(
  'poll-started-from',
  'SELECT started_at FROM _polls WHERE poll_id >= $1 ORDER BY poll_id LIMIT 1',
);
const POLLS = statement<RawPoll>(
  'polls-after',
  'SELECT poll_id, started_at, status, leads_new FROM _polls WHERE source = $1 AND poll_id > $2 ORDER BY poll_id LIMIT $3',
);
