import type { ClientBase } from 'pg';
import { mirroredTable } from '../../../catalog/mirrored.ts';
import { quoted } from '../sql/identifier.ts';
import { lostLedgerNumber } from './ledgers.ts';

/** Where the rows of a mirrored table are stored, in SQL. */
interface TableStorage {
  readonly rows: string;
  /** The same rows with the columns that are described. */
  readonly shown: string;
  /** The column with the ledger's number of the row. */
  readonly number: string;
  /** The condition that a row came from the ledger $1. */
  readonly ofLedger: string;
  /** The condition that a row may have changed since it came. */
  readonly unsettled?: string | undefined;
  /** What to set so that the rows behind a number are those of a lost ledger, where that is no name. */
  readonly assignLost?: (
    client: ClientBase,
    firstNumber: string,
    values: readonly unknown[],
  ) => Promise<string>;
}

const UNSETTLED: Readonly<Record<string, string>> = {
  polls: "status = 'running'",
  rejected_leads: 'resolved_at IS NULL',
  // One that fails alike again is the same row: also a refusal, of a sink that refuses everything.
  attempts:
    "outcome <> 'delivered' AND delivery_id IN (SELECT delivery_id FROM v_undelivered WHERE state = 'pending')",
};

/** Private tables whose ledgers are numbers, by the name that people read. */
const NUMBERED: Readonly<Record<string, { readonly rows: string; readonly unsettled?: string }>> = {
  deliveries: { rows: '_deliveries', unsettled: "state IN ('pending', 'dead')" },
  lead_versions: { rows: '_versions' },
};

/** Private tables, by the name that people read. */
const PRIVATE: Readonly<Record<string, string>> = { attempts: '_attempts' };

/** Where a mirrored table is stored. `unsettled` needs the schema as `search_path`. */
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
