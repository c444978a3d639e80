import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { ids, LedgerUnderTest, MINUTE } from '../../ledger/ledger-under-test.ts';
import { sqliteStore } from '../../ledger/sqlite-store.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { openCsv } from '../csv/open-csv.ts';

const NEVER = new AbortController().signal;
const LEADS = 54;

/** Returns the content of each file in a folder, by name. */
function filesIn(directory: string): Map<string, string> {
  return new Map(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

test('a batch whose file appeared in the first of three lost attempts is split and delivered; no file changes, and each lead is in one', async () => {
  const directory = tempDir();
  const on = await LedgerUnderTest.with(sqliteStore(), 'drop');
  await on.list(ids(1, LEADS));
  const { batch: whole } = await on.take('drop', { max: 100 });
  await openCsv({ directory }).deliver(whole, NEVER);
  const before = filesIn(directory);
  for (const _ of ['second', 'third']) {
    on.clock.jump(MINUTE);
    await on.take('drop', { max: 100 });
  }
  on.clock.jump(MINUTE);

  const sizes: number[] = [];
  for (let round = 0; round < 2; round += 1) {
    for (const ref of (await on.claim('drop', { max: 100 })).refs) {
      const { batch } = await on.begin(ref);
      sizes.push(batch.deliveries.length);
      await on.settle(ref, ...(await openCsv({ directory }).deliver(batch, NEVER)));
    }
  }
  expect(sizes).toEqual([27, 27]);
  expect(await on.owed('drop')).toEqual(ids(1, LEADS).map((id) => `${id} v1 delivered`));
  expect(filesIn(directory)).toEqual(before);
  const rows = [...before.values()].flatMap((file): { id: string }[] => parse(file, { columns: true }));
  expect(rows.map(({ id }) => Number(id))).toEqual(ids(1, LEADS));
});
