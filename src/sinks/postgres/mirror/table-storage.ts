import type { ClientBase } from 'pg';
import { mirroredTable } from '../../../catalog/mirrored-tables.ts';
import { quoted } from '../../../postgres/identifier.ts';
import { lostLedgerNumber } from './ledgers.ts';

/** Where PostgreSQL stores the rows of a mirrored table. All fields are SQL. */
interface TableStorage {
  /** The table that contains the rows. */
  readonly rows: string;
  /** The table or view with the columns that the catalog describes. */
  readonly shown: string;
  /** The column with the number of the row in the ledger. */
  readonly number: string;
  /** The condition that a row is from the ledger $1. */
  readonly ofLedger: string;
  /** The condition that a row may have changed since it was written. Undefined if rows never change. */
  readonly unsettled?: string | undefined;
  /**
   * Returns the assignment, for UPDATE, that moves the rows whose number is at least `firstNumber` to a lost ledger. Undefined if the rows
   * contain the ledger's id instead of its number.
   */
  readonly assignLost?: (
    client: ClientBase,
    firstNumber: string,
    values: readonly unknown[],
  ) => Promise<string>;
}

const UNSETTLED: Readonly<Record<string, string>> = {
  polls: "status = 'running'",
  rejected_leads: 'resolved_at IS NULL',
  // A repeated failure with the same reason updates the row of the attempt. A refusal can be repeated too, if the sink refuses everything.
  attempts:
    "outcome <> 'delivered' AND delivery_id IN (SELECT delivery_id FROM v_undelivered WHERE state = 'pending')",
};

/** Private tables that refer to ledgers by number. The key is the name of the public view. */
const NUMBERED: Readonly<Record<string, { readonly rows: string; readonly unsettled?: string }>> = {
  deliveries: { rows: '_deliveries', unsettled: "state IN ('pending', 'dead')" },
  lead_versions: { rows: '_versions' },
};

/** Other private tables. The key is the name of the public view. */
const PRIVATE: Readonly<Record<string, string>> = { attempts: '_attempts' };

/** Returns the storage of a mirrored table. The SQL of `unsettled` must run with the schema as `search_path`. */
export function storageOf(schema: string, table: string): TableStorage {
  const inSchema = (name: string) => `${quoted(schema)}.${name}`;
  const numbered = NUMBERED[table];
  if (numbered)
    return {
      rows: inSchema(numbered.rows),
      shown: inSchema(table),
      number: 'no',
      ofLedger: `ledger_no = (SELECT ledger_no FROM ${inSchema('_ledgers')} WHERE ledger = $1 AND NOT lost)`,
      unsettled: numbered.unsettled,
      assignLost: async (client, first, values) =>
        `ledger_no = ${await lostLedgerNumber(client, schema, numbered.rows, first, values)}`,
    };
  const rows = inSchema(PRIVATE[table] ?? table);
  return {
    rows,
    shown: rows,
    number: mirroredTable(table).number,
    ofLedger: '_leadsync_ledger = $1',
    unsettled: UNSETTLED[table],
  };
}
