import type { Ledger } from '../ledger/contract/ledger.ts';
import { LedgerError } from '../ledger/contract/ledger-error.ts';

/** The methods that a ledger in PostgreSQL does not have yet. Only mirrors need them. */
const MISSING = [
  'historyAfter',
  'historyNow',
  'broughtBack',
  'overview',
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
