import type { ListingMarker } from '../../leads/listing-marker.ts';
import type { PollEnd } from '../../ledger/contract/ledger-polling.ts';
import { DAYS_COMPARED, dayOf } from '../../ledger/database/listing-size-days.ts';
import type { Transaction } from '../database/transaction.ts';
import { pollsSql } from './polls-sql.ts';
import type { FencedPoll } from './recording.ts';

const { CLOSE_POLL, COMPLETE, DELETE_SIZES, RECORD_SIZE, STILL_COMPLETE } = pollsSql;

/** Records how a poll ended. `status` is `unchanged` also if a complete listing was the same as the one before. */
export async function endPoll(
  tx: Transaction,
  poll: FencedPoll,
  end: PollEnd,
  { status, listed }: { readonly status: PollEnd['status']; readonly listed: number },
): Promise<void> {
  const mark = 'mark' in end ? end.mark : undefined;
  if (status === 'success') await complete(tx, poll, mark);
  else if (status === 'unchanged') await confirm(tx, poll, mark);
  await tx.run(CLOSE_POLL, [
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

async function complete(tx: Transaction, poll: FencedPoll, mark: ListingMarker | undefined): Promise<void> {
  const kept = mark === undefined ? null : JSON.stringify(mark);
  // An empty first listing has recorded nothing, and every lead after it is new.
  await tx.run(COMPLETE, [poll.source, kept, tx.now, poll.id, poll.seen.size, poll.rejected]);
  // The previous listing counts for today as well, because it was valid until now.
  await recordSize(tx, poll.source, Math.max(poll.seen.size, poll.listedBefore));
}

async function confirm(tx: Transaction, poll: FencedPoll, mark: ListingMarker | undefined): Promise<void> {
  await tx.run(STILL_COMPLETE, [poll.source, tx.now, mark ? JSON.stringify(mark) : null]);
  await recordSize(tx, poll.source, poll.listedBefore);
}

async function recordSize(tx: Transaction, source: string, most: number): Promise<void> {
  const day = dayOf(tx.now);
  await tx.run(RECORD_SIZE, [source, day, most]);
  await tx.run(DELETE_SIZES, [source, day - DAYS_COMPARED]);
}
