import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { nextWrite } from '../../src/platform/files/next-file-write.ts';
import { HeldClock } from '../support/time/held-clock.ts';

/** Never over, for the clock stands still. */
const LONG_MS = 60_000;

function aFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'ledger.db-wal');
  writeFileSync(file, 'a');
  return file;
}

test('a write ends the wait, even before the caller awaits it', async () => {
  const file = aFile();
  const written = nextWrite(file, new HeldClock(), LONG_MS, new AbortController().signal);
  appendFileSync(file, 'b');
  await written;
});

test('the time limit ends it if no write comes or the file is missing', async () => {
  const clock = new HeldClock();
  const ended: string[] = [];
  const file = aFile();
  const waits = [file, `${file}-missing`].map(async (name) => {
    await nextWrite(name, clock, LONG_MS, new AbortController().signal);
    ended.push(name);
  });
  await clock.pass(LONG_MS - 1);
  expect(ended).toEqual([]);
  await clock.pass(1);
  await Promise.all(waits);
});

test('an abort ends it, before or during the wait', async () => {
  const stop = new AbortController();
  const waiting = nextWrite(aFile(), new HeldClock(), LONG_MS, stop.signal);
  stop.abort();
  await waiting;
  await nextWrite(aFile(), new HeldClock(), LONG_MS, stop.signal);
});
