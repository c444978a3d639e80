import type Database from 'better-sqlite3';
import type { Judge } from '../leads/judgement.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import type { LedgerAccess } from './database/ledger-access.ts';
import type { SinkActivity } from './database/sink-activity.ts';
import type { SinkRows } from './database/sink-rows.ts';
import { Claiming } from './delivering/claiming.ts';
import type { Owing } from './delivering/owing.ts';
import { Settling } from './delivering/settling.ts';
import type { LedgerEngine } from './engine.ts';

interface DeliveringParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly judge: Judge;
  readonly rows: SinkRows;
  readonly activity: SinkActivity;
  readonly owing: Owing;
  /** The name under which this process holds leases. */
  readonly holder: string;
}

/** Returns the SQLite implementation of the delivering methods of `LedgerEngine`, and `close`. */
export function deliveringOf(
  db: Database.Database,
  access: LedgerAccess,
  { clock, random, judge, rows, activity, owing, holder }: DeliveringParts,
) {
  const claiming = new Claiming(db, clock, random, rows);
  const settling = new Settling(db, { clock, rows, activity, judge, newest: owing.newest });
  return {
    claimAndBegin: (request) =>
      access.write(() => {
        const begins = request.beginForMs !== undefined;
        const claimed = claiming.claim(request, begins ? holder : null);
        return { claimed, begun: begins ? claimed.refs.flatMap((ref) => settling.begun(ref) ?? []) : [] };
      }),

    beginLease: (ref, leaseMs) => access.write(() => settling.begin(ref, leaseMs, holder)),
    undoBegin: (refs) =>
      access.commit(() => {
        for (const ref of refs) settling.undoBegin(ref);
      }),
    unbegunBatches: (sink) => access.read(() => claiming.unbegunBatches(sink)),
    workOf: (sink) => access.read(() => claiming.workOf(sink)),
    settle: (ref, attempt) => access.trackRecovery(() => access.commit(() => settling.settle(ref, attempt))),
    holders: () => access.read(() => settling.holders()),
    release: (ref, mayHaveArrived) => access.write(() => settling.release(ref, holder, mayHaveArrived)),
    reclaimLeases: (dead) => access.write(() => settling.reclaimLeases(dead)),

    close: async () => {
      try {
        const flushed = access.flush();
        if (flushed) await flushed; // if no work is queued, the file is closed in this turn of the event loop
      } finally {
        db.close();
      }
    },
  } satisfies Partial<LedgerEngine>;
}
