import type Database from 'better-sqlite3';
import type { Judge } from '../leads/judge.ts';
import type { Clock, Random } from '../platform/clock.ts';
import type { BegunAttempts } from './begun-attempts.ts';
import { Claiming } from './claiming.ts';
import type { Ledger } from './ledger.ts';
import type { LedgerAccess } from './ledger-access.ts';
import type { LedgerDelivering } from './ledger-delivering.ts';
import type { Owing } from './owing.ts';
import { Settling } from './settling.ts';
import type { SinkRows } from './sink-rows.ts';

interface DeliveringParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly judge: Judge;
  readonly rows: SinkRows;
  readonly begun: BegunAttempts;
  readonly owing: Owing;
  /** The process that attempts. */
  readonly holder: string;
}

/** What dispatch and attempts ask: to claim what is due, to begin, and to settle. */
export function deliveringOf(
  db: Database.Database,
  access: LedgerAccess,
  { clock, random, judge, rows, begun, owing, holder }: DeliveringParts,
) {
  const claiming = new Claiming(db, clock, random, rows);
  const settling = new Settling(db, clock, rows, judge, owing.newest);
  return {
    claim: async (request) => {
      const begins = request.beginForMs !== undefined;
      const { claimed, started } = await access.write(() => {
        const claimed = claiming.claim(request, begins ? holder : null);
        return { claimed, started: begins ? claimed.refs.flatMap((ref) => settling.begun(ref) ?? []) : [] };
      });
      begun.keep(started, claimed.refs);
      return claimed;
    },

    begin: (ref, leaseMs) => {
      const taken = begun.take(ref, clock.now().getTime());
      // Whoever comes too late finds that the lease is no longer his, and asks the ledger like everybody else.
      return taken ? Promise.resolve(taken) : access.write(() => settling.begin(ref, leaseMs, holder));
    },

    waiting: (sink) => access.read(() => claiming.waiting(sink)),
    activity: (sink) => access.read(() => claiming.activity(sink)),
    settle: (ref, attempt) => access.recorded(() => access.commit(() => settling.settle(ref, attempt))),
    holders: () => access.read(() => settling.holders()),
    release: (ref, mayHaveArrived) => access.write(() => settling.release(ref, holder, mayHaveArrived)),
    endLeasesOf: (dead) => access.write(() => settling.endLeasesOf(dead)),

    close: async () => {
      const unused = begun.takeAll();
      try {
        // What was begun and not attempted is not to count as lost. When it cannot be told, it does: that harms little.
        if (unused.length > 0)
          void access.commit(() => unused.map((one) => settling.giveBack(one))).catch(() => undefined);
        const flushed = access.flush();
        if (flushed) await flushed; // without anything to write, the file is closed at once
      } finally {
        db.close();
      }
    },
  } satisfies LedgerDelivering & Pick<Ledger, 'close'>;
}
