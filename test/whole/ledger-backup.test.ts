import { copyFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { aScene } from '../support/scene/a-scene.ts';
import { until } from '../support/time/until.ts';

const LEADS = 5;

test('a backup made while leadsync runs is recognised when it is restored, and nothing is lost', async () => {
  const scene = await aScene('in-process', { stub: { leads: LEADS } });
  const file = join(scene.dataDir, 'ledger.db');
  const backup = `${scene.configFile}.backup`;
  const received = () => scene.receiver.received.length;
  const first = await scene.start();
  await until('the first are delivered', () => received() >= LEADS);
  expect(await scene.run('ledger', 'backup', backup)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Wrote .*\.backup, \d+(?:\.\d)? [kM]B\. It holds personal data\.\n$/),
  });
  expect(statSync(backup).mode & 0o777).toBe(0o600);
  scene.stub.addLeads(3);
  await until('the others are delivered', () => received() >= LEADS + 3);
  await first.kill();

  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  copyFileSync(backup, file);
  const second = await scene.start();
  await until('leadsync reports the restore', () =>
    second.log.some(({ event }) => event === 'ledger-restored'),
  );
  expect((await scene.run('status')).stdout).toMatch(/restored from a backup/);
  await until('what came since is delivered again', () => received() >= LEADS + 6);
});

test('a backup overwrites nothing, and a failed one leaves nothing behind', async () => {
  const scene = await aScene('in-process', { stub: { leads: LEADS } });
  const backup = `${scene.configFile}.backup`;
  expect(await scene.run('ledger', 'backup', backup)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no ledger at'),
  });
  await scene.run('sync');
  writeFileSync(backup, 'kept');
  expect(await scene.run('ledger', 'backup', backup)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is there already'),
  });
  expect(statSync(backup).size).toBe(4);
  expect(await scene.run('ledger', 'backup', join(dirname(backup), 'none', 'file'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Create its parent folder'),
  });
  expect(await scene.run('ledger', 'backup')).toMatchObject({ code: 2 });
  const left = readdirSync(dirname(backup)).filter((name) => name.includes('.tmp'));
  expect(left).toEqual([]);
});
