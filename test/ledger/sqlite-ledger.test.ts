import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { until } from '../support/time/until.ts';
import { ledgerContract } from './contract.ts';
import { ids, LedgerUnderTest } from './ledger-under-test.ts';
import { askedStore, SqliteFile } from './sqlite-store.ts';

// By messages, as in a daemon; requests within this thread take the same path from there on.
ledgerContract('the ledger in SQLite', () => askedStore());

it('several connections write to SQLite at once: one records, two deliver, and each lead is attempted once', async () => {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  const threads = [1, 2].map(
    () =>
      new Worker(new URL('./delivering-thread.ts', import.meta.url), {
        workerData: { file: disk.file, sink: 'crm' },
      }),
  );
  const results = threads.map((thread) => once(thread, 'message'));
  // If a thread holds the write lock, this ledger waits by its own clock, which moves only here.
  let recording = true;
  const passing = (async () => {
    while (recording) await on.clock.pass(1);
  })();
  try {
    for (const end of [200, 400, 600, 800, 1000]) await on.list(ids(1, end));
  } finally {
    recording = false;
    await passing;
  }
  await until('everything is delivered', async () => (await on.ledger.backlog())[0]?.pending === 0, 15_000);
  for (const thread of threads) thread.postMessage('stop');
  const attempted = (await Promise.all(results)).flatMap(([leads]) => leads as string[]);
  expect(attempted).toHaveLength(1000);
  expect(new Set(attempted).size).toBe(1000);
});
