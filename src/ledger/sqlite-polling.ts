import type Database from 'better-sqlite3';
import type { Clock } from '../platform/clock.ts';
import type { LedgerAccess } from './ledger-access.ts';
import type { LedgerPolling } from './ledger-polling.ts';
import type { Owing } from './owing.ts';
import { Polls } from './polls.ts';
import { Recording } from './recording.ts';

/** What polls ask: where a source's leads come from, what its last listing was, and to record the next. */
export function pollingOf(db: Database.Database, access: LedgerAccess, clock: Clock, owing: Owing) {
  const recording = new Recording(db, access.transactions, clock, owing);
  const polls = new Polls(db, access.transactions, clock, recording);
  return {
    listingMark: (source) => access.read(() => polls.listingMark(source)),
    lastCompleteAt: (source) => access.read(() => polls.lastCompleteAt(source)),
    keepOrigin: (source, origin) => access.noted(async () => polls.keepOrigin(source, origin)),
    forgetOrigin: (source) => access.noted(async () => polls.forgetOrigin(source)),
    startPoll: (source) => access.recorded(async () => polls.start(source)),
    sift: (poll, block) => access.read(() => recording.sift(polls.underWay(poll), block)),
    record: (poll, items) => access.noted(async () => recording.record(polls.underWay(poll), items)),
    finishPoll: (poll, end) => access.noted(() => polls.finish(poll, end)),
  } satisfies LedgerPolling;
}
