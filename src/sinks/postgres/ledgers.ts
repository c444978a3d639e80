import type { ClientBase } from 'pg';
import { quoted } from './identifier.ts';

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

/** The number of a lost ledger that can take the last rows of one, beginning at a number: none of its own has such a number. */
export async function lostNumber(
  client: ClientBase,
  schema: string,
  firstNumber: string,
  values: readonly unknown[],
): Promise<number> {
  const [ledgers, deliveries] = [`${quoted(schema)}._ledgers`, `${quoted(schema)}._deliveries`];
  const { rows } = await client.query(
    `SELECT g.ledger_no FROM ${ledgers} g WHERE g.ledger = $1::text || '-lost' AND g.lost AND NOT EXISTS (
      SELECT FROM ${deliveries} d WHERE d.ledger_no = g.ledger_no AND d.no >= (${firstNumber})
        AND d.no <= (SELECT max(no) FROM ${deliveries} WHERE ledger_no = (SELECT ledger_no FROM ${ledgers} WHERE ledger = $1 AND NOT lost)))
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
