import type { Ledger } from '../ledger/contract/ledger.ts';
import { LedgerError } from '../ledger/contract/ledger-error.ts';

/** The methods that a ledger in PostgreSQL does not have yet. */
const MISSING = [
  'isReplaced',
  'changedElsewhere',
  'nextWrite',
  'scrub',
  'sinkActivity',
  'findLeads',
  'rejected',
  'rejectedText',
  'polledHours',
  'upcoming',
  'newestContents',
  'sentPending',
  'feedCursor',
  'feed',
  'recentAttempts',
  'lastPolls',
  'databaseStats',
  'historyAfter',
  'historyNow',
  'broughtBack',
  'overview',
  'leadsAtSink',
  'deliveredLeads',
  'computeClientKeys',
  'removeOld',
  'findPerson',
  'personRecord',
  'erase',
  'sinkErasures',
  'formerDestinations',
  'unfinishedErasures',
  'finishErasing',
] as const satisfies readonly (keyof Ledger)[];

type Missing = Record<(typeof MISSING)[number], () => Promise<never>>;

/** Methods that throw `LedgerError`. No configuration offers a ledger in PostgreSQL before it has all of them. */
export const notYet = Object.fromEntries(
  MISSING.map((method) => [
    method,
    async () => {
      throw new LedgerError(
        'unexpected',
        `A ledger in PostgreSQL does not support ${method} yet.`,
        'Use a ledger in SQLite.',
      );
    },
  ]),
) as Missing;
