import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Install } from '../cli/an-install.ts';
import { aStorage } from './storage.ts';

test('a backup goes to a bucket and comes back from it, by the access of the configuration', async () => {
  const storage = await aStorage();
  const backup = { ...storage.options, prefix: 'leadsync/', every: '1d', keep: 2 };
  const install = new Install({ sinks: {}, backups: { nightly: backup } });
  const ledger = await install.listed(1, 2);
  await ledger.close();
  for (let at = 0; at < 3; at += 1) {
    expect(await install.run(['backup'])).toMatchObject({ code: 0, stderr: '' });
    install.clock.jump(3_600_000);
  }
  const newest = 's3://exports/leadsync/nightly-20261120T120000Z.db.gz';
  expect((await install.run(['restore'])).stdout).toBe(
    `${newest}\ns3://exports/leadsync/nightly-20261120T110000Z.db.gz\n`,
  );
  rmSync(join(install.folder, 'data'), { recursive: true });
  expect(await install.run(['restore', newest, '--yes'])).toMatchObject({ code: 0, stderr: '' });
  expect((await install.run(['query', 'SELECT count(*) FROM leads'])).stdout).toContain('2');
  expect(await install.run(['restore', `${newest}x`])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/There is no backup at s3:\/\/exports\/leadsync\/nightly/),
  });
  expect(await install.run(['backup', '--to', 's3://exports/by-hand'])).toMatchObject({
    code: 0,
    stderr: '',
  });
  expect(storage.keys().filter((key) => key.startsWith('by-hand/leadsync-'))).toHaveLength(1);
});

test('a bucket that refuses a backup is named, with what to do', async () => {
  const storage = await aStorage();
  const install = new Install({
    sinks: {},
    backups: { nightly: { ...storage.options, bucket: 'elsewhere', every: '1d' } },
  });
  const ledger = await install.listed(1);
  await ledger.close();
  expect(await install.run(['backup', 'nightly'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/elsewhere.*\(NoSuchBucket\)/),
  });
  expect((await install.run(['status'])).stdout).toMatch(
    /Backup nightly failed, and it has never succeeded: .*\n.*`leadsync backup nightly.*` runs it now/,
  );
});
