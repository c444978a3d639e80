import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { recordProgress } from '../../../src/daemon/upkeep/maintain-ledger-file.ts';
import { LedgerUnderTest } from '../../ledger/ledger-under-test.ts';
import { sqliteStore } from '../../ledger/sqlite-store.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { until } from '../../support/time/until.ts';
import { SECOND } from '../joints/bench.ts';

test('the daemon writes the high-water mark of the ledger every 30 s, in case it is killed', async () => {
  const file = join(tempDir(), 'ledger.db');
  const on = await LedgerUnderTest.with(sqliteStore(file), 'crm');
  const stop = new AbortController();
  const noting = recordProgress(on.ledger, on.clock, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await noting;
  });
  const asleep = on.clock.sleeping;
  const marked = () => existsSync(`${file}.mark`) && JSON.parse(readFileSync(`${file}.mark`, 'utf8'));
  for (const polls of [1, 2]) {
    await on.list([polls]);
    await on.clock.pass(30 * SECOND);
    // It sleeps again only some time after the note can be read.
    await until('it is noted', () => marked()[on.ledger.id] === polls && on.clock.sleeping === asleep);
  }
  expect(marked()).toEqual({ [on.ledger.id]: 2 });
});
