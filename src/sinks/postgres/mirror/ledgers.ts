import type { ClientBase } from 'pg';
import { quoted } from '../sql/identifier.ts';

/** How the ledgers that have written to a schema are numbered there. */
export interface LedgerNumber {
  readonly ledgerNo: number;
  /** Another ledger has written there, too: its rows may have the keys of this one's. */
  readonly isOneOfSeveral: boolean;
}

/** A ledger's number in the schema that is the `search_path`; the ledger gets one when it has none. */
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
 * Makes a ledger known before its first rows come. From the first ledger on, what the row of a lead is overwritten with is kept:
 * whoever is writing leads without keeping it is waited for.
 */
export async function registerLedger(client: ClientBase, schema: string, ledger: string): Promise<void> {
  await client.query(`SET LOCAL search_path = ${quoted(schema)}`);
  const { rows } = await client.query('SELECT EXISTS (SELECT FROM _ledgers) AS known');
  if (!rows[0].known) await client.query('LOCK TABLE leads IN SHARE ROW EXCLUSIVE MODE');
  await ledgerNumber(client, ledger);
}

/** The number of a lost ledger that can take the last rows of one, beginning at a number: none of its own has such a number. */
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
