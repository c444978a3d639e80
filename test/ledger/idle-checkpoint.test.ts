import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { it } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';
import { until } from '../support/time/until.ts';
import { ids, LedgerUnderTest } from './ledger-under-test.ts';
import { SqliteFile } from './sqlite-store.ts';

/** Returns the number of leads in the database file alone, without its write-ahead log. */
function leadsWithoutLog(file: string): number {
  const copy = join(tempDir(), 'copy.db');
  copyFileSync(file, copy);
  const db = new Database(copy);
  try {
    return db.prepare<[], number>('SELECT count(*) FROM _leads').pluck().get() ?? 0;
  } finally {
    db.close();
  }
}

it('an idle ledger copies its log into the database file, so that no commit has to', async () => {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  await until('the log with the schema is in the file', () => leadsWithoutLog(disk.file) === 0);
  await on.list(ids(1, 5));
  await until('the log is in the file', () => leadsWithoutLog(disk.file) === 5);
  await on.list(ids(1, 8));
  await until('the log is in the file again', () => leadsWithoutLog(disk.file) === 8);
});
