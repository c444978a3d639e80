import type { ClientBase } from 'pg';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

/** How long a ledger stays held by a process that no longer shows that it is alive, in ms. */
const LEASE_MS = 30_000;

/** A process that polls and dispatches with a ledger. */
export interface LedgerHolder {
  /** The name under which the ledger records the leases of the process. */
  readonly holder: string;
  /** The host name of its machine. */
  readonly machine: string;
  /** Its process id on that machine. */
  readonly pid: number;
}

/** The holder as the ledger knows it. */
interface HolderRow extends LedgerHolder {
  /** Since when it has held the ledger, in ms since 1970, by the clock of the server. */
  readonly since: number;
}

/** Returns the name of the process that holds the ledger; undefined if none does. */
export async function holderOf(tx: Transaction): Promise<string | undefined> {
  return (await tx.first(HOLDER, [LEASE_MS]))?.holder;
}

/**
 * Takes the ledger for a process, or shows that the process that holds it is alive. `dead` is a holder that is known to be dead, so that its lease
 * need not end first. Returns a description of the process that holds the ledger; undefined if it was taken.
 */
export async function takeLedger(
  tx: Transaction,
  { holder, machine, pid }: LedgerHolder,
  dead?: string,
): Promise<string | undefined> {
  if ((await tx.run(TAKE, [holder, machine, pid, LEASE_MS, dead ?? null])) > 0) return undefined;
  const other = await tx.first(HOLDER, [LEASE_MS]);
  return other ? printHolder(other) : 'a process that has ended since';
}

/** Gives the ledger up, if the process holds it. */
export async function giveLedgerUp(tx: Transaction, holder: string): Promise<void> {
  await tx.run(RELEASE, [holder]);
}

/**
 * Returns a description of the process that holds the ledger of this connection; undefined if none does, or if that process is known to be dead. The
 * ledger may be of an older leadsync.
 */
export async function holderIn(
  client: ClientBase,
  isDead: (holder: string) => Promise<boolean> = async () => false,
): Promise<string | undefined> {
  const { rows: known } = await client.query("SELECT to_regclass('_duties') IS NOT NULL AS known");
  if (!(known[0] as { known: boolean }).known) return undefined;
  const { rows } = await client.query<HolderRow>(HOLDER.text, [LEASE_MS]);
  const [row] = rows;
  return row && !(await isDead(row.holder)) ? printHolder(row) : undefined;
}

/** Returns the error that another process holds the ledger. */
export function heldError(where: string, schema: string, holder: string): LedgerError {
  return new LedgerError(
    'held',
    `Another leadsync works with the ledger in the schema ${schema} of ${where}: ${holder}.`,
    `Stop it first, or give this one a schema of its own. If that process no longer exists, its lock ends within ${LEASE_MS / 1_000} seconds. To deliver with more processes, start \`leadsync worker\`.`,
  );
}

function printHolder({ machine, pid, since }: HolderRow): string {
  return `process ${pid} on ${machine}, since ${new Date(since).toISOString().replace(/\.\d+Z$/, 'Z')}`;
}

// A lease that lasts for longer than any lease does is from before the clock of the server was set back.
const IS_FREE = '(d.held_until <= _now() OR d.held_until > _now() + $4::bigint)';
const TAKE = statement(
  'take-duty',
  `INSERT INTO _duties AS d (duty, holder, machine, pid, since, held_until) VALUES ('everything', $1, $2, $3::int, _now(), _now() + $4::bigint)
   ON CONFLICT (duty) DO UPDATE SET holder = excluded.holder, machine = excluded.machine, pid = excluded.pid, held_until = excluded.held_until,
     since = CASE WHEN d.holder = excluded.holder THEN d.since ELSE excluded.since END
   WHERE d.holder IN (excluded.holder, $5::text) OR ${IS_FREE}`,
);
const HOLDER = statement<HolderRow>(
  'duty-holder',
  `SELECT holder, machine, pid, since FROM _duties WHERE duty = 'everything' AND held_until > _now() AND held_until <= _now() + $1::bigint`,
);
const RELEASE = statement('release-duty', "DELETE FROM _duties WHERE duty = 'everything' AND holder = $1");
