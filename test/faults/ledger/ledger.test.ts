import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { SmallDisk } from '../../support/files/small-disk.ts';
import { type Daemon, startLeadsync } from '../../support/program/leadsync.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../../support/scene/oracle.ts';
import type { Scene } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { expectCalm } from '../calm.ts';
import { logged, told } from '../telling.ts';

// Fault 34. The carrier plays no part: the broken thing is the file, to which both write in the same way.

test('34. a second leadsync on the same data directory exits with 75, and the first is unaffected', async () => {
  const scene = await aScene('in-process', { stub: { leads: 10 } });
  const daemon = await scene.start();
  for (const command of ['run', 'sync']) {
    const second = await scene.run(command);
    expect(second).toMatchObject({ code: 75, stdout: '', stderr: expect.stringContaining(scene.dataDir) });
  }
  scene.stub.addLeads(10);
  await until('every lead is everywhere', () => scene.complete(), 60_000);
  await expectCalm(daemon);
  expect(logged(daemon, 'ledger-failed')).toEqual([]);
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

test('34. leadsync refuses a file that is not a database, names the next step and leaves the file unchanged', async () => {
  const scene = await aScene('in-process');
  const text = 'a letter about leads, and no database at all. '.repeat(200);
  await expectRefusal(scene, text, /data_dir/);
});

test('34. leadsync refuses a ledger of a newer version, names the next step and leaves the file unchanged', async () => {
  const scene = await aScene('in-process', { stub: { leads: 3 } });
  expect(await scene.run('sync')).toMatchObject({ code: 0 });
  const file = ledgerOf(scene);
  const db = new Database(file);
  db.pragma('user_version = 99');
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  await expectRefusal(scene, readFileSync(file), /newer leadsync/);
});

test('34. on a full disk, every recorded lead is owed, leadsync reports it, and continues once there is space', async (context) => {
  const scene = await aScene('in-process', { stub: { leads: 10 } });
  const disk = new SmallDisk(scene.dataDir, 32);
  onTestFinished(() => disk.close());
  if (!disk.own) context.skip('needs a file system of its own, which this machine does not permit mounting');
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  disk.fill();
  scene.stub.addLeads(1_000);
  await told(daemon, 'poll-failed', { code: 'ledger-full' });
  await expectAliveAndUnready(daemon);
  disk.free();
  await until('every lead is everywhere', () => scene.complete(), 120_000);
  await expectCalm(daemon);
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

test('34. when writes to the ledger fail, every recorded lead is owed, leadsync reports it, and continues afterwards', async (context) => {
  if (!mayLimit()) context.skip('needs prlimit(1), by which writes to files are made to fail');
  const scene = await aScene('in-process', { stub: { leads: 10 } });
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  // Beyond this many bytes, every write of the process fails (EFBIG), which SQLite treats as a disk failure.
  limitFiles(daemon.process.pid, '4096');
  scene.stub.addLeads(300);
  await told(daemon, 'poll-failed', { code: 'ledger-io' });
  await expectAliveAndUnready(daemon);
  limitFiles(daemon.process.pid, 'unlimited');
  await until('every lead is everywhere', () => scene.complete(), 120_000);
  await expectCalm(daemon);
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

test('34. while a reader holds a snapshot of the ledger, leads flow; afterwards the write-ahead log shrinks', async () => {
  const scene = await aScene('in-process', { stub: { leads: 10 } });
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  const reader = new Database(ledgerOf(scene), { readonly: true });
  onTestFinished(() => void reader.close());
  reader.exec('BEGIN');
  const leads = () => reader.prepare('SELECT count(*) FROM leads').pluck().get();
  expect(leads()).toBe(10);
  for (let more = 0; more < 3; more += 1) {
    scene.stub.addLeads(1_000);
    await until('the leads are everywhere', () => scene.complete(), 120_000);
  }
  expect(leads()).toBe(10);
  const logBytes = () => statSync(`${ledgerOf(scene)}-wal`).size;
  const grown = logBytes();
  expect(grown).toBeGreaterThan(4e6);
  reader.exec('COMMIT');
  await until('the log has shrunk', () => {
    scene.stub.addLeads(1);
    return logBytes() < grown / 2;
  });
  await until('every lead is everywhere', () => scene.complete(), 120_000);
  await expectCalm(daemon);
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

function ledgerOf(scene: Scene): string {
  return join(scene.dataDir, 'ledger.db');
}

/** Replaces the ledger with this content, and expects leadsync to exit with the reason without touching the file. */
async function expectRefusal(scene: Scene, content: string | Buffer, hint: RegExp): Promise<void> {
  mkdirSync(scene.dataDir, { recursive: true });
  writeFileSync(ledgerOf(scene), content);
  const leadsync = startLeadsync(['run', '-c', scene.configFile]);
  onTestFinished(() => void leadsync.process.kill('SIGKILL'));
  const exit = await leadsync.exited;
  expect(exit).toEqual({ code: 1, signal: null });
  expect(leadsync.stderr).toMatch(hint);
  expect(leadsync.stderr).toContain(ledgerOf(scene));
  expect(readFileSync(ledgerOf(scene))).toEqual(Buffer.from(content));
  expect(scene.stub.listingRequests).toBeLessThanOrEqual(1);
}

/** Expects a daemon that answers its probes and reports itself as not ready. */
async function expectAliveAndUnready({ adminUrl }: Daemon): Promise<void> {
  expect((await fetch(`${adminUrl}/livez`)).status).toBe(200);
  await until('it is not ready', async () => {
    const answer = await fetch(`${adminUrl}/readyz`);
    const { reasons } = (await answer.json()) as { reasons: string[] };
    return answer.status === 503 && reasons.length > 0;
  });
}

function mayLimit(): boolean {
  try {
    limitFiles(process.pid, 'unlimited');
    return true;
  } catch {
    return false; // not Linux, or without util-linux
  }
}

function limitFiles(pid: number | undefined, bytes: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`], { stdio: 'ignore' });
}
