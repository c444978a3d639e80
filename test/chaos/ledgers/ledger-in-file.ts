import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { deliveryId } from '../../../src/ledger/schema/views.ts';
import { readRecord } from './ledger-record.ts';
import type { RunLedger } from './run-ledger.ts';

/** Returns the ledger in SQLite of a data directory. */
export function ledgerInFile(dataDir: string): RunLedger {
  const file = join(dataDir, 'ledger.db');
  return {
    exists: async () => existsSync(file),
    read: async () => {
      const ledger = new Database(file, { readonly: true });
      try {
        const rows = async <Row>(sql: string) => ledger.prepare<[], Row>(sql).all();
        return await readRecord({ rows, deliveryId });
      } finally {
        ledger.close();
      }
    },
    contradictions: async () => [],
    // It is in the data directory, which is kept.
    keep: async () => undefined,
  };
}
