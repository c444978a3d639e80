import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { inspectFile } from '../../src/ledger/database/inspect-file.ts';
import { Install } from '../cli/an-install.ts';
import { tempDir } from '../support/files/temp-dir.ts';

test.each(['quick', 'whole'] as const)(
  'an older copy of the ledger beside the log of the newer one is undamaged to SQLite, and reported as damaged by the %s check',
  async (how) => {
    const file = await olderLedgerWithNewerLog();
    const db = new Database(file);
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    db.close();
    const damage = await inspectFile(file, how, new AbortController().signal);
    expect(damage?.code).toBe('damaged');
    expect(damage?.message).toContain(
      'is damaged: 1 row violates the rule that each source’s counts are those of its leads',
    );
    expect(damage?.hint).toContain('`leadsync recover`');
  },
);

/** Returns a ledger that was restored while the log of its successor was left in place, as after a kill. */
async function olderLedgerWithNewerLog(): Promise<string> {
  const install = new Install();
  const original = join(install.folder, 'data', 'ledger.db');
  const mixed = join(tempDir(), 'ledger.db');
  const ledger = await install.listed(1, 2, 3);
  emptyLog(original);
  copyFileSync(original, mixed);
  await install.listed(1, 2, 3, 4, 5, 6);
  emptyLog(original); // the rows of 4, 5 and 6 are in the newer file, not in its log
  await install.listed(1, 2, 3, 4, 5, 6);
  copyFileSync(`${original}-wal`, `${mixed}-wal`);
  await ledger.close();
  return mixed;
}

function emptyLog(file: string): void {
  const db = new Database(file);
  const [{ busy }] = db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
  if (busy !== 0) throw new Error('the log could not be emptied');
  db.close();
}
