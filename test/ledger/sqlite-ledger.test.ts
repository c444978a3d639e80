import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { Retaining } from '../../src/ledger/privacy/retaining.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';
import { ledgerContract } from './contract.ts';
import { HOUR, ids, LedgerUnderTest } from './ledger-under-test.ts';
import { askedStore, SqliteFile } from './sqlite-store.ts';

// By messages, as in a daemon; requests within this thread take the same path from there on.
ledgerContract('the ledger in SQLite', () => askedStore());

it('several connections write to SQLite at the same time: one records, two deliver, and each lead is attempted once', async () => {
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

it('its connection keeps 4 MB of the file', async () => {
  const disk = new SqliteFile();
  await LedgerUnderTest.with(disk.open, 'crm');
  expect(disk.connection.pragma('cache_size', { simple: true })).toBe(-4_000);
});

it('a rejected lead that is erased between the two steps of retention stays known as erased', async () => {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  const set = { ...aListedLead({ id: 7 }), kind: 'rejected', reason: 'It is wrong.', path: '' } as const;
  await on.list([set, 1]);
  await on.list([{ ...set, hash: 'another', id: 8n }, 1]);
  on.clock.jump(48 * HOUR);
  const person = await on.ledger.findPerson({ kind: 'lead', lead: 7n });
  const retaining = new Retaining(disk.connection);
  const { rows } = retaining.find('rejected_leads', on.clock.in(-24 * HOUR), 0);
  expect(rows).toHaveLength(1);
  await on.ledger.erase(person, []);
  expect(retaining.remove('rejected_leads', rows)).toBe(0);
  await on.list([set, 1]);
  const found = await on.ledger.personRecord(await on.ledger.findPerson({ kind: 'lead', lead: 7n }));
  expect(found['rejected_leads']).toMatchObject([{ raw: '' }]);
});
