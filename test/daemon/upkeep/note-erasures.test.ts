import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { noteErasuresOfOthers } from '../../../src/daemon/upkeep/note-erasures.ts';
import type { LeadKey } from '../../../src/leads/person.ts';
import { ERASURES } from '../../../src/operations/erasure/erasure-journal.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';

test('a machine notes within a minute whom another one has erased, each once', async () => {
  const [dataDir, clock, stop] = [tempDir(), new HeldClock(), new AbortController()];
  onTestFinished(() => stop.abort());
  const erased: LeadKey[] = [{ source: 'main', leadId: 1n }];
  const noting = noteErasuresOfOthers({ erasedLeads: async () => [...erased] }, dataDir, clock, stop.signal);
  const noted = () => {
    const file = join(dataDir, ERASURES);
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split(/\n+/) : [];
  };
  // The loop may still be writing its file when a minute has passed.
  const notes = async (count: number) => {
    await clock.pass(60_000);
    return noted().length === count;
  };
  await until('the first is noted', () => notes(1));
  erased.push({ source: 'main', leadId: 2n });
  await until('the second is noted', () => notes(2));
  expect(noted()).toEqual(['{"source":"main","lead":"1"}', '{"source":"main","lead":"2"}']);
  stop.abort();
  await noting;
});
