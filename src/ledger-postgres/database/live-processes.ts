import type { ClientBase } from 'pg';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { DUTY_LEASE_MS } from '../../ledger/rules/machines/lease-times.ts';

/** Whether a process is known to be dead, by the name under which the ledger records its leases. */
export type IsDead = (holder: string) => Promise<boolean>;

/** A process that was seen within a lease. */
interface LiveRow {
  readonly holder: string;
  readonly role: string;
  readonly machine: string;
  readonly started_at: number;
}

/**
 * Returns a description of the processes that work on the ledger of this connection, or were killed within a lease; undefined if there are none. Leaves
 * out those that are known to be dead. An older leadsync may have written the ledger.
 */
export async function liveProcessesIn(
  client: ClientBase,
  isDead: IsDead = async () => false,
): Promise<string | undefined> {
  if (!(await areKnown(client))) return undefined;
  const { rows } = await client.query<LiveRow>(LIVE, [DUTY_LEASE_MS]);
  const living = [];
  for (const row of rows) if (!(await isDead(row.holder))) living.push(printProcess(row));
  return living.length === 0 ? undefined : living.join(', ');
}

/** A ledger that a transaction needs for itself, and why, after "The ledger in PLACE". */
export interface NeededAlone {
  readonly where: string;
  readonly schema: string;
  readonly why: string;
  readonly isDead?: IsDead | undefined;
}

/**
 * Requires that no process works on the ledger of this connection, and lets none show that it is alive until the end of the transaction. A process whose
 * first sign of life comes after that finds what the transaction has changed. @throws LedgerError with the code `held`
 */
export async function requireNoProcess(
  client: ClientBase,
  { where, schema, why, isDead }: NeededAlone,
): Promise<void> {
  if (!(await areKnown(client))) return;
  await client.query('LOCK TABLE _processes IN SHARE ROW EXCLUSIVE MODE');
  const processes = await liveProcessesIn(client, isDead);
  if (processes === undefined) return;
  throw new LedgerError(
    'held',
    `The ledger in the schema ${schema} of ${where} ${why}, and others work on it: ${processes}.`,
    `Stop every \`leadsync run\` and \`leadsync worker\` on this ledger, then try again. A process that was killed counts for another ${DUTY_LEASE_MS / 1_000} seconds.`,
  );
}

/** Whether the ledger has the table of processes, which one of an older leadsync may lack. */
async function areKnown(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ known: boolean }>(
    "SELECT to_regclass('_processes') IS NOT NULL AS known",
  );
  return rows[0]?.known === true;
}

function printProcess({ role, machine, started_at }: LiveRow): string {
  return `leadsync ${role} on ${machine}, since ${new Date(started_at).toISOString().replace(/\.\d+Z$/, 'Z')}`;
}

const LIVE =
  'SELECT holder, role, machine, started_at FROM _processes WHERE abs(_now() - seen_at) < $1::bigint ORDER BY started_at, holder';
