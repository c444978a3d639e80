import type { ClientBase } from 'pg';
import { quoted } from '../../../postgres/identifier.ts';

/** The number of a ledger in a schema. */
export interface LedgerNumber {
  readonly ledgerNo: number;
  /** Whether another ledger has written to the schema too: its rows may have the same keys. */
  readonly isOneOfSeveral: boolean;
}

/** Returns the number of a ledger, assigning one to a new ledger, and whether the schema has other ledgers. The `search_path` must be the schema. */
export async function ledgerNumber(client: ClientBase, ledger: string): Promise<LedgerNumber> {
  const { rows } = await client.query(
    'SELECT ledger_no, (SELECT count(*) > 1 FROM _ledgers) AS several FROM _ledgers WHERE ledger = $1 AND NOT lost',
    [ledger],
  );
  if (rows.length > 0) return { ledgerNo: rows[0].ledger_no, isOneOfSeveral: rows[0].several };
  await client.query('INSERT INTO _ledgers (ledger, lost) VALUES ($1, false) ON CONFLICT DO NOTHING', [
    ledger,
  ]);
  return ledgerNumber(client, ledger);
}

/**
 * Registers a ledger before the mirror writes its first rows. From the first registered ledger on, a trigger keeps the content that an update
 * of a lead replaces. So the first registration waits for transactions that are still writing leads without keeping the replaced content.
 */
export async function registerLedger(client: ClientBase, schema: string, ledger: string): Promise<void> {
  await client.query(`SET LOCAL search_path = ${quoted(schema)}`);
  const { rows } = await client.query('SELECT EXISTS (SELECT FROM _ledgers) AS known');
  if (!rows[0].known) await client.query('LOCK TABLE leads IN SHARE ROW EXCLUSIVE MODE');
  await ledgerNumber(client, ledger);
}

/**
 * Returns the number of a lost ledger, under which the schema keeps rows that the ledger itself has lost. Chooses a lost ledger whose row
 * numbers from `firstNumber` on are free, and adds one if there is none. `firstNumber` is SQL with the parameters `values`, of which the
 * first is the id of the ledger.
 */
export async function lostLedgerNumber(
  client: ClientBase,
  schema: string,
  table: string,
  firstNumber: string,
  values: readonly unknown[],
): Promise<number> {
  const [ledgers, stored] = [`${quoted(schema)}._ledgers`, `${quoted(schema)}.${table}`];
  const { rows } = await client.query(
    `SELECT g.ledger_no FROM ${ledgers} g WHERE g.ledger = $1::text || '-lost' AND g.lost AND NOT EXISTS (
      SELECT FROM ${stored} d WHERE d.ledger_no = g.ledger_no AND d.no >= (${firstNumber})
        AND d.no <= (SELECT max(no) FROM ${stored} WHERE ledger_no = (SELECT ledger_no FROM ${ledgers} WHERE ledger = $1 AND NOT lost)))
    ORDER BY g.ledger_no LIMIT 1`,
    [...values],
  );
  if (rows.length > 0) return rows[0].ledger_no;
  const { rows: made } = await client.query(
    `INSERT INTO ${ledgers} (ledger, lost) VALUES ($1::text || '-lost', true) RETURNING ledger_no`,
    values.slice(0, 1),
  );
  return made[0].ledger_no;
}
