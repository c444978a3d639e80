import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runLeadsync } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import type { Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';

const LEADS = 5;

/** A scene with a backup from before three leads and an erasure; leadsync is stopped. */
async function aScenePastItsBackup(): Promise<{ scene: Scene; backup: string }> {
  const scene = await aScene('in-process', { stub: { leads: LEADS } });
  const folder = join(scene.dataDir, '..', 'backups');
  const first = await scene.start();
  const received = () => scene.receiver.received.length;
  await until('the first are delivered', () => received() >= LEADS);
  expect(await scene.run('backup', '--to', folder)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Wrote .*\.db\.gz: 5 leads, .*, verified\. It holds personal data\.\n$/),
  });
  const [name = ''] = readdirSync(folder);
  const backup = join(folder, name);
  expect(await scene.run('restore', backup, '--yes', '--replace')).toMatchObject({ code: 75 });
  scene.stub.addLeads(3);
  await until('the others are delivered', () => received() >= LEADS + 3);
  await scene.run('erase', '2', '--yes');
  await until('the webhook knows of the erasure', () => received() >= LEADS + 4);
  await first.kill();
  return { scene, backup };
}

function restore({ configFile }: Scene, args: string[], failpoint: string) {
  return runLeadsync(['restore', ...args, '-c', configFile], { env: { LEADSYNC_FAILPOINTS: failpoint } });
}

function idsOf({ receiver }: Scene, after = 0): string[] {
  const ids = receiver.received.slice(after).map(({ headers }) => String(headers['webhook-id']));
  return ids.filter((id) => !id.includes('erased')).sort();
}

test('a restored backup delivers the leads since then under their earlier ids, and no erased person', async () => {
  const { scene, backup } = await aScenePastItsBackup();
  const before = scene.receiver.received.length;
  const since = idsOf(scene, LEADS).filter((id) => /:(?:6|7|8):/.test(id));
  expect(since).toHaveLength(3);
  expect(await scene.run('restore', backup, '--yes')).toMatchObject({ code: 1 });
  expect(await scene.run('restore', backup, '--yes', '--replace')).toMatchObject({ code: 0 });
  const daemon = await scene.start();
  await until('what came since is delivered again', () => idsOf(scene, before).length >= 3);
  await until('the erasure is repeated', () => daemon.log.some(({ event }) => event === 'erased-again'));
  expect(daemon.log).toContainEqual(expect.objectContaining({ event: 'ledger-restored' }));
  expect(idsOf(scene, before)).toEqual(since);
  const { stdout } = await scene.run('query', 'SELECT id FROM leads ORDER BY id', '--format', 'jsonl');
  expect(stdout.match(/\d+/g)).toEqual(['1', '3', '4', '5', '6', '7', '8']);
});

test.each(['restore-prepared=kill', 'recover-log-emptied=kill', 'recover-kept=kill', 'restored=kill'])(
  'a restore that is killed leaves the old ledger or the restored one: %s',
  async (failpoint) => {
    const { scene, backup } = await aScenePastItsBackup();
    const killed = restore(scene, [backup, '--yes', '--replace'], failpoint);
    expect((await killed).code).not.toBe(0);
    expect((await scene.run('check')).stdout).toMatch(/ok +ledger: The ledger is undamaged/);
    const leads = await scene.run('query', 'SELECT count(*) FROM leads', '--format', 'csv');
    expect(leads.stdout).toMatch(failpoint.startsWith('restored') ? /\b5\b/ : /\b7\b/);
    expect(await scene.run('restore', backup, '--yes', '--replace')).toMatchObject({ code: 0 });
    expect(readdirSync(scene.dataDir).filter((name) => name.includes('restoring'))).toEqual([]);
  },
);

test('after a restore into an empty folder that was killed, leadsync does not take it for a new installation', async () => {
  const { scene, backup } = await aScenePastItsBackup();
  rmSync(scene.dataDir, { recursive: true });
  await restore(scene, [backup, '--yes'], 'restore-prepared=kill');
  expect(await scene.run('sync')).toMatchObject({
    code: 78,
    stderr: expect.stringContaining('ledger.db.restoring'),
  });
  expect(await scene.run('restore', backup, '--yes')).toMatchObject({ code: 0 });
});
