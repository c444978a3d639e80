import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { aListedLead } from '../support/scene/a-lead.ts';
import { changedLead, delivered, LedgerUnderTest, refused } from './ledger-under-test.ts';
import { SqliteFile } from './sqlite-store.ts';

/** A person's traces: a text that fits in a page, one that does not, an answer, and a rejected element. */
const TRACES = ['Zaphod Short', 'Zaphod Long', 'Zaphod Answer', 'Zaphod Aside'];

function tracesIn(file: string): string[] {
  const bytes = Buffer.concat(
    ['', '-wal', '-shm']
      .map((end) => file + end)
      .map((one) => (existsSync(one) ? readFileSync(one) : Buffer.alloc(0))),
  );
  return TRACES.filter((trace) => bytes.includes(trace));
}

async function aLedgerWithZaphod() {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  const others = Array.from({ length: 400 }, (_, at) => at + 100);
  await on.list([...others, aListedLead({ id: 1, client_name: 'Zaphod Short' })]);
  await on.list([...others, changedLead(1, `Zaphod Long ${'x'.repeat(20_000)}`)]);
  const aside = changedLead(1, 'Zaphod Aside');
  await on.list([...others, { ...aside, kind: 'rejected', reason: 'It is wrong.', path: '' }]);
  const { ref, batch } = await on.take('crm', { max: 1000 });
  const outcomes = batch.deliveries.map(({ leadId }) =>
    leadId === 1n ? { ...refused, answer: 'Zaphod Answer' } : delivered,
  );
  await on.settle(ref, ...outcomes);
  await on.ledger.computeClientKeys('secret');
  return { disk, on };
}

it('an erased person is gone from the file, its write-ahead log and its index', async () => {
  const { disk, on } = await aLedgerWithZaphod();
  expect(tracesIn(disk.file)).toEqual(TRACES);
  await on.ledger.erase(await on.ledger.findPerson({ kind: 'lead', lead: 1n }), []);
  expect(await on.ledger.scrub()).toBe(true);
  expect(tracesIn(disk.file)).toEqual([]);
});

it('erase reports that the write-ahead log still contains the person while a reader uses an older state', async () => {
  const { disk, on } = await aLedgerWithZaphod();
  await on.ledger.erase(await on.ledger.findPerson({ kind: 'lead', lead: 1n }), []);
  const before = disk.other((db) => {
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM _leads').get();
    return on.ledger.scrub();
  });
  expect(await before).toBe(false);
  expect(await on.ledger.scrub()).toBe(true);
});
