import type { ListingMarker } from '../../leads/listing-marker.ts';
import type { PollEnd } from '../../ledger/contract/ledger-polling.ts';
import { DAYS_COMPARED, dayOf } from '../../ledger/database/listing-size-days.ts';
import type { Transaction } from '../database/transaction.ts';
import { pollsSql } from './polls-sql.ts';
import type { FencedPoll } from './recording.ts';

const { CLOSE_POLL, COMPLETE, DELETE_SIZES, RECORD_SIZE, STILL_COMPLETE } = pollsSql;

/** Records, with the commit, how a poll ended. `status` is `unchanged` also if a complete listing was the same as the one before. */
export function endPoll(
  tx: Transaction,
  poll: FencedPoll,
  end: PollEnd,
  { status, listed }: { readonly status: PollEnd['status']; readonly listed: number },
): void {
  const mark = 'mark' in end ? end.mark : undefined;
  if (status === 'success') complete(tx, poll, mark);
  else if (status === 'unchanged') confirm(tx, poll, mark);
  tx.later(CLOSE_POLL, [
    poll.id,
    tx.now,
    status,
    listed,
    poll.new,
    poll.changed,
    poll.rejected,
    'bytes' in end ? end.bytes : 0,
    end.httpStatus ?? null,
    'error' in end ? end.error : null,
  ]);
}

function complete(tx: Transaction, poll: FencedPoll, mark: ListingMarker | undefined): void {
  const kept = mark === undefined ? null : JSON.stringify(mark);
  // An empty first listing has recorded nothing, and every lead after it is new.
  tx.later(COMPLETE, [poll.source, kept, tx.now, poll.id, poll.seen.size, poll.rejected]);
  // The previous listing counts for today as well, because it was valid until now.
  recordSize(tx, poll.source, Math.max(poll.seen.size, poll.listedBefore));
}

function confirm(tx: Transaction, poll: FencedPoll, mark: ListingMarker | undefined): void {
  tx.later(STILL_COMPLETE, [poll.source, tx.now, mark ? JSON.stringify(mark) : null]);
  recordSize(tx, poll.source, poll.listedBefore);
}

function recordSize(tx: Transaction, source: string, most: number): void {
  const day = dayOf(tx.now);
  tx.later(RECORD_SIZE, [source, day, most]);
  tx.later(DELETE_SIZES, [source, day - DAYS_COMPARED]);
}
