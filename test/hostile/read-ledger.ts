import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Scene } from '../support/scene/scene.ts';

/** What a query of the ledger's public views gives: an array of values for each row, with integers as they are. */
export function readLedger({ dataDir }: Pick<Scene, 'dataDir'>, sql: string): unknown[] {
  const ledger = new Database(join(dataDir, 'ledger.db'), { readonly: true });
  try {
    return ledger.prepare(sql).raw().all();
  } finally {
    ledger.close();
  }
}
