import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import { LedgerError } from '../../src/ledger/contract/ledger-error.ts';
import { startEngineThread } from '../../src/ledger/thread/start-engine-thread.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import type { TestThread } from './a-thread.ts';
import { aSink } from './ledger-under-test.ts';

const program = new URL('./a-thread.ts', import.meta.url);

async function aLedger(begin: Partial<TestThread> = {}): Promise<Ledger> {
  const file = join(tempDir(), 'ledger.db');
  const whole: TestThread = { file, create: true, ...begin };
  const { ledger } = await startEngineThread<TestThread, never>(program, whole, { file, clock: systemClock });
  onTestFinished(() => ledger.close());
  return ledger;
}

test('a ledger that cannot be opened reports the same error as without a thread', async () => {
  const file = join(tempDir(), 'ledger.db');
  writeFileSync(
    file,
    'This is no database, but a text that is long enough to be looked at as one.'.repeat(20),
  );
  await expect(aLedger({ create: false })).rejects.toMatchObject({ name: 'LedgerError', code: 'missing' });
  const foreign = await aLedger({ file }).catch((error: unknown) => error);
  expect(foreign).toBeInstanceOf(LedgerError);
  expect(foreign).toMatchObject({ code: 'foreign', hint: expect.stringContaining('data_dir') });
});

test('an error keeps its code across the thread, and reported damage stays known', async () => {
  const ledger = await aLedger();
  await expect(ledger.record(7, [])).rejects.toMatchObject({ name: 'LedgerError', code: 'unexpected' });
  expect(ledger.failing()).toBeUndefined();
  const damage = new LedgerError('damaged', 'It is damaged.', 'Recover it.');
  ledger.reportDamage(damage);
  expect(ledger.failing()).toBe(damage);
  await ledger.backlog();
  expect(ledger.failing()).toBe(damage);
});

test('concurrent requests are answered in order, once their data is on disk', async () => {
  const ledger = await aLedger();
  await ledger.declareSinks([aSink('crm')]);
  const poll = await ledger.startPoll('main');
  const [recorded, claimed, unchanged] = await Promise.all([
    ledger.record(poll, [aListedLead({ id: 2n ** 60n })]),
    ledger.claim({ sink: 'crm', window: 1, max: 1, waitMs: 0, leaseMs: 60_000, beginForMs: 60_000 }),
    ledger.record(poll, [aListedLead({ id: 2n ** 60n })]),
  ]);
  expect([recorded.new, unchanged.new]).toEqual([1, 0]);
  const [ref] = claimed.refs;
  const begun = ref && (await ledger.begin(ref, 60_000));
  expect(begun?.batch.deliveries).toMatchObject([{ leadId: 2n ** 60n, firstSeenAt: expect.any(Date) }]);
});

test('while the thread is blocked, this one continues', async () => {
  const ledger = await aLedger({ status: 'it-stands-still' });
  let turns = 0;
  const turning = setInterval(() => {
    turns += 1;
  }, 1);
  await ledger.status();
  clearInterval(turning);
  expect(turns).toBeGreaterThan(10);
});

test('closing the ledger answers every waiting request, may be repeated, and prevents later requests', async () => {
  const ledger = await aLedger({ status: 'nothing' });
  const asked = ledger.status().catch((error: unknown) => error);
  await Promise.all([ledger.close(), ledger.close()]);
  expect(await asked).toMatchObject({ message: 'The ledger is closed.' });
  await expect(ledger.backlog()).rejects.toMatchObject({ message: 'The ledger is closed.' });
});

test('a thread that dies ends its process, so that a supervisor starts another', async () => {
  const file = join(tempDir(), 'ledger.db');
  const dying = fileURLToPath(new URL('./dying-thread-process.ts', import.meta.url));
  const run = promisify(execFile)(process.execPath, [dying, file]);
  await expect(run).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('The thread dies.') });
});
