import { closeSync, existsSync, openSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { faultsOf } from '../../ledger/ledger-check.ts';
import { runLeadsync, startLeadsync } from '../../support/program/leadsync.ts';
import { aDeliveredScene, aScene } from '../../support/scene/a-scene.ts';
import { type CarrierName, type Scene, withoutRepeats } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { carriersOf } from '../over-carriers.ts';

const LEADS = 60;

const fileOf = (scene: Scene) => join(scene.dataDir, 'ledger.db');

const delivered = (carrier: CarrierName = 'in-process') => aDeliveredScene(carrier, LEADS);

/** Overwrites the first leaf page of a table with zeros. */
function damage(scene: Scene, name: string): void {
  const path = fileOf(scene);
  const db = new Database(path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  const page = Number(
    db.prepare("SELECT min(pageno) FROM dbstat WHERE name = ? AND pagetype = 'leaf'").pluck().get(name),
  );
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(size), 0, size, (page - 1) * size);
  closeSync(file);
}

const ledgers = (scene: Scene) =>
  readdirSync(scene.dataDir).filter((name) => /^ledger\.db(\.damaged-[^-]*|\.recovered)?$/.test(name));

test.each(carriersOf(1))(
  'with a recovered ledger, nothing that arrived comes again and new leads arrive (%s)',
  async (carrier) => {
    const scene = await delivered(carrier);
    for (const name of ['_versions', '_deliveries', 'polls']) damage(scene, name);
    expect(await scene.run('recover')).toMatchObject({ code: 1 });
    expect(await scene.run('recover', '--yes')).toMatchObject({ code: 0 });
    const before = await scene.held();
    scene.stub.addLeads(5);
    const daemon = await scene.start();
    await until('the new leads are everywhere', () => scene.complete(), 60_000);
    const after = await scene.held();
    for (const sink of ['crm', 'drop', 'warehouse'] as const)
      expect(after[sink].length, sink).toBe((before[sink]?.length ?? 0) + 5);
    expect(withoutRepeats(after.crm)).toHaveLength(after.crm.length);
    expect((await fetch(`${scene.adminUrl}/readyz`)).status).toBe(200);
    expect(daemon.log).not.toContainEqual(expect.objectContaining({ event: 'ledger-restored' }));
    await daemon.kill();
    expect(await scene.run('check')).toMatchObject({
      stdout: expect.stringMatching(/ok +ledger: The ledger is undamaged/),
    });
  },
);

test('recover refuses to run beside leadsync or a worker', async () => {
  const scene = await aScene('bullmq', { stub: { leads: LEADS } });
  const daemon = await scene.start({ args: ['run', '--no-deliver'] });
  expect(await scene.run('recover', '--yes')).toMatchObject({ code: 75, stdout: '' });
  const worker = startLeadsync(['worker', '-c', scene.configFile]);
  onTestFinished(() => void worker.process.kill('SIGKILL'));
  await until('every lead is everywhere', () => scene.complete(), 60_000);
  await daemon.kill();
  expect(await scene.run('recover', '--yes')).toMatchObject({
    code: 75,
    stderr: expect.stringMatching(/worker/),
  });
});

test.each(['recover-log-emptied', 'recover-kept', 'recover-exchanged'])(
  'after a kill at %s, either the old or the new ledger is in place, and recover can run again',
  async (place) => {
    const scene = await delivered();
    damage(scene, '_deliveries');
    const killed = await runLeadsync(['recover', '--yes', '-c', scene.configFile], {
      env: { LEADSYNC_FAILPOINTS: `${place}=kill` },
    });
    expect(killed.code).not.toBe(0);
    expect(existsSync(fileOf(scene))).toBe(true);
    for (const end of ['-wal', '-shm']) expect(existsSync(`${fileOf(scene)}${end}`)).toBe(false);
    expect(await scene.run('recover', '--yes')).toMatchObject({ code: 0 });
    expect(ledgers(scene)).not.toContain('ledger.db.recovered');
    expect(faultsOf(fileOf(scene))).toEqual([]);
    const before = await scene.held();
    expect(await scene.run('sync')).toMatchObject({ code: 0 });
    expect((await scene.held()).crm).toHaveLength(before.crm.length);
  },
);
