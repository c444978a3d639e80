import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { aScene } from '../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../support/scene/oracle.ts';
import { until } from '../support/time/until.ts';

test('a daemon whose ledger was removed exits with the reason instead of writing to a file that no reader will find', async () => {
  const scene = await aScene('in-process', { stub: { leads: 3 } });
  const daemon = await scene.start();
  await until('all are delivered', () => scene.complete());
  for (const name of ['ledger.db', 'ledger.db-wal', 'ledger.db-shm'])
    rmSync(join(scene.dataDir, name), { force: true });
  expect(await daemon.exited).toMatchObject({ code: 1 });
  expect(daemon.log).toContainEqual(expect.objectContaining({ event: 'ledger-replaced', level: 'error' }));
});

test('a daemon whose write-ahead log was removed exits, and the next one knows everything that it had done', async () => {
  const scene = await aScene('in-process', { stub: { leads: 3 } });
  const daemon = await scene.start();
  await until('all are delivered', () => scene.complete());
  rmSync(join(scene.dataDir, 'ledger.db-wal'));
  expect(await daemon.exited).toMatchObject({ code: 1 });
  expect(daemon.log).toContainEqual(expect.objectContaining({ event: 'ledger-replaced', level: 'error' }));
  scene.stub.addLeads(2);
  await scene.start();
  await until('the new ones are delivered', () => scene.complete());
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

test('a daemon whose ledger was replaced by a backup says what to remove, and the next one continues from the backup', async () => {
  const scene = await aScene('in-process', { stub: { leads: 3 } });
  const daemon = await scene.start();
  await until('the first are delivered', () => scene.complete());
  const file = join(scene.dataDir, 'ledger.db');
  const backup = `${file}.backup`;
  await aCopyOf(file, backup);
  scene.stub.addLeads(300);
  await until('all are delivered', () => scene.complete());
  copyFileSync(backup, `${file}.copy`);
  renameSync(`${file}.copy`, file);
  expect(await daemon.exited).toMatchObject({ code: 1 });
  const told = daemon.log.find(({ event }) => event === 'ledger-replaced');
  expect(told).toMatchObject({
    msg: expect.stringMatching(
      /If you copy a file there yourself, first remove ledger\.db-wal and ledger\.db-shm/,
    ),
  });
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  copyFileSync(backup, file);
  await scene.start();
  await until('what came since the backup is delivered again', () => scene.receiver.received.length >= 603);
  expect((await scene.run('check')).stdout).toMatch(/ok +ledger: The ledger is undamaged/);
});

test('a worker that kept running while the ledger was restored exits, and a new one delivers', async () => {
  const scene = await aScene('bullmq', { stub: { leads: 3 } });
  const work = () => scene.start({ args: ['worker', '--listen', '127.0.0.1:0'] });
  const run = await scene.start({ args: ['run', '--no-deliver'] });
  const worker = await work();
  await until('the first are delivered', () => scene.complete());
  await run.kill();
  const file = join(scene.dataDir, 'ledger.db');
  copyFileSync(file, `${file}.backup`);
  renameSync(`${file}.backup`, file);
  scene.stub.addLeads(5);
  await scene.start({ args: ['run', '--no-deliver'] });
  expect(await worker.exited).toMatchObject({ code: 1 });
  expect(worker.log).toContainEqual(expect.objectContaining({ event: 'ledger-replaced' }));
  await work();
  await until('the new ones are delivered', () => scene.complete(), 30_000);
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

/** Copies a ledger that is in use. */
async function aCopyOf(file: string, copy: string): Promise<void> {
  const ledger = new Database(file, { readonly: true });
  await ledger.backup(copy);
  ledger.close();
}
