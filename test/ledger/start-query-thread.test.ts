import { expect, onTestFinished, test } from 'vitest';
import type { LedgerError } from '../../src/ledger/contract/ledger-error.ts';
import { QueryThread } from '../../src/ledger/queries/start-query-thread.ts';
import { until } from '../support/time/until.ts';
import { leadPagesContract } from './contract/lead-pages.ts';
import { listPagesContract } from './contract/list-pages.ts';
import { reasonsContract } from './contract/reasons.ts';
import { ids, LedgerUnderTest } from './ledger-under-test.ts';
import type { PagedStore } from './paged-store.ts';
import { PageMap } from './recovery/damage.ts';
import { SqliteFile } from './sqlite-store.ts';

type Options = ConstructorParameters<typeof QueryThread>[1];

async function opened(options: Options = {}, ...sinks: string[]) {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, ...(sinks.length > 0 ? sinks : ['crm']));
  // A busy machine must not fail these tests.
  const queries = new QueryThread(disk.file, { timeoutMs: 60_000, ...options });
  onTestFinished(() => queries.close());
  return { disk, on, queries };
}

/** Opens a ledger and readers for its pages on one file, which is removed with the running test. */
function pagedFile(): PagedStore {
  const { file, open } = new SqliteFile();
  return { open, openReader: () => new QueryThread(file, { timeoutMs: 60_000 }) };
}

leadPagesContract(pagedFile);
listPagesContract(pagedFile);
reasonsContract(pagedFile);

test('the ledger records damage that only a page of the UI finds', async () => {
  const { disk, on, queries: sound } = await opened();
  await on.list(ids(1, 200));
  await sound.close();
  disk.other((db) => db.pragma('wal_checkpoint(TRUNCATE)'));
  const map = new PageMap(disk.file);
  map.overwrite(map.of('_versions', 'leaf').map(({ pageno }) => pageno));
  const onDamage = (damage: LedgerError) => on.ledger.reportDamage(damage);
  const queries = new QueryThread(disk.file, { timeoutMs: 60_000, onDamage });
  onTestFinished(() => queries.close());
  expect(on.ledger.failing()).toBeUndefined();
  await expect(queries.ask('leads', {}, { limit: 100 })).rejects.toMatchObject({ code: 'damaged' });
  expect(on.ledger.failing()).toMatchObject({
    code: 'damaged',
    hint: expect.stringContaining('leadsync recover'),
  });
});

test('the thread ends when it is idle, and starts again for the next query', async () => {
  const { queries } = await opened({ idleMs: 20 });
  expect(queries.awake).toBe(false);
  await queries.ask('status');
  expect(queries.awake).toBe(true);
  await until('the thread has ended', () => !queries.awake);
  expect((await queries.ask('status')).sinks).toHaveLength(1);
});

test('a query that takes too long is rejected, and the next one is answered', async () => {
  const { queries } = await opened({ timeoutMs: 1 });
  const asked = queries.ask('status'); // starting the thread takes longer than that
  await expect(asked).rejects.toMatchObject({ name: 'LedgerBusy', hint: expect.stringContaining('Narrow') });
  await until('a question is answered', async () =>
    queries.ask('status').then(
      () => true,
      () => !queries.awake,
    ),
  );
});

test('a few hundred queries may wait at most', async () => {
  const { queries } = await opened();
  const asked = Array.from({ length: 201 }, () =>
    queries.ask('status').then(
      () => 'answered',
      (error) => error.name,
    ),
  );
  expect((await Promise.all(asked)).filter((outcome) => outcome === 'LedgerBusy')).toHaveLength(1);
});

test('the query thread cannot write', async () => {
  const { disk, queries } = await opened();
  const before = disk.contents();
  await queries.ask('status');
  expect(disk.contents()).toEqual(before);
});

test('while a query runs, the process continues with other work', async () => {
  const { on, queries } = await opened();
  for (const start of [1, 501, 1001, 1501]) await on.list(ids(1, start + 499));
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await Promise.all(Array.from({ length: 20 }, () => queries.ask('speed', new Date(0))));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(10);
});
