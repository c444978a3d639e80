import type Database from 'better-sqlite3';
import type { Clock } from '../platform/time/clock.ts';
import type { LedgerAccess } from './database/ledger-access.ts';
import type { Owing } from './delivering/owing.ts';
import type { LedgerEngine } from './engine.ts';
import { beginBlock, beginKnown } from './recording/begin-blocks.ts';
import { Polls } from './recording/polls.ts';
import { Recording } from './recording/recording.ts';

/** Returns the SQLite implementation of the polling methods of `LedgerEngine`. */
export function pollingOf(db: Database.Database, access: LedgerAccess, clock: Clock, owing: Owing) {
  const recording = new Recording(db, access, clock, owing);
  const polls = new Polls(db, access.transactions, clock, recording);
  return {
    listingMark: (source) => access.read(() => polls.listingMark(source)),
    lastCompleteAt: (source) => access.read(() => polls.lastCompleteAt(source)),
    recordOrigin: (source, origin) => access.trackFailure(async () => polls.recordOrigin(source, origin)),
    forgetOrigin: (source) => access.trackFailure(async () => polls.forgetOrigin(source)),
    startPoll: (source) => access.trackRecovery(async () => polls.start(source)),
    beginKnown: (poll, blocks) => access.read(() => beginKnown(polls.get(poll), blocks)),
    beginBlock: (poll, block) => access.read(() => beginBlock(polls.get(poll), block)),
    unknownIndexes: (poll, elements) =>
      access.read(() => recording.unknownIndexes(polls.get(poll), elements)),
    record: (poll, items, block) =>
      access.trackFailure(async () => recording.record(polls.get(poll), items, block)),
    finishPoll: (poll, end) => access.trackFailure(() => polls.finish(poll, end)),
  } satisfies Partial<LedgerEngine>;
}
