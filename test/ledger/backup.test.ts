import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { backUpLedger } from '../../src/ledger/database/backup.ts';
import { SmallDisk } from '../support/files/small-disk.ts';
import { tempDir } from '../support/files/temp-dir.ts';

let file: string;
let copies: string;
let copy: string;
let writer: Database.Database;

/** Creates a file that takes several steps to copy, and another connection that writes to it. */
beforeEach(() => {
  file = join(tempDir(), 'ledger.db');
  copies = tempDir();
  copy = join(copies, 'copy.db');
  writer = new Database(file);
  writer.pragma('journal_mode = WAL');
  writer.exec(`CREATE TABLE rows (id INTEGER PRIMARY KEY, content BLOB);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
    INSERT INTO rows SELECT i, randomblob(10000) FROM n`);
  onTestFinished(() => void writer.close());
});

const never = new AbortController().signal;

test('a copy contains the ledger of one moment, however often other connections write meanwhile', async () => {
  const seen: number[] = [];
  await backUpLedger(file, copy, {
    signal: never,
    onCopied: ({ bytes }) => {
      expect(seen.length).toBeLessThan(100); // the copy ends, however often others write
      seen.push(bytes);
      writer.exec(
        'UPDATE rows SET content = randomblob(9000) WHERE id = 1; INSERT INTO rows VALUES (NULL, NULL)',
      );
    },
  });
  expect(seen.length).toBeGreaterThan(2);
  expect(seen).toEqual(seen.toSorted((one, other) => one - other)); // the copy never started over
  expect(writer.prepare('SELECT count(*) FROM rows').pluck().get()).toBe(3_000 + seen.length);
  const made = new Database(copy, { readonly: true });
  expect(made.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(made.prepare('SELECT count(*), min(length(content)) FROM rows').raw().get()).toEqual([
    3_000, 10_000,
  ]);
  made.close();
  expect(statSync(copy).mode & 0o777).toBe(0o600);
});

test('a failed copy on a full disk leaves no file behind', async (context) => {
  const disk = new SmallDisk(join(copies, 'small'), 2);
  onTestFinished(() => disk.close());
  if (!disk.own) context.skip('needs a file system of its own, which this machine does not permit mounting');
  const target = join(copies, 'small', 'copy.db');
  const copied = backUpLedger(file, target, { signal: never, onCopied: () => undefined });
  await expect(copied).rejects.toMatchObject({ code: 'SQLITE_FULL' });
  expect(readdirSync(join(copies, 'small'))).toEqual([]);
});

test('a cancelled copy ends at its next step', async () => {
  const stop = new AbortController();
  const copied = backUpLedger(file, copy, { signal: stop.signal, onCopied: () => stop.abort('SIGINT') });
  await expect(copied).rejects.toBe('SIGINT');
  expect(readdirSync(copies)).toEqual([]);
});
