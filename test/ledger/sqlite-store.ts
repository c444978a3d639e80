import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { OpenLedger } from './ledger-under-test.ts';

/** Opens ledgers on one SQLite file, which goes with the running test. */
export function sqliteStore(file = join(tempDir(), 'ledger.db')): OpenLedger {
  return (parts) => {
    const ledger = openLedger({ ...parts, file, create: true });
    onTestFinished(() => ledger.close());
    return ledger;
  };
}
