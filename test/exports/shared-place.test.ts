import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Install } from '../cli/an-install.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { isObject } from '../support/servers/storage-server.ts';
import { anAnsweringStorage } from './answering-storage.ts';
import { aStorage } from './storage.ts';

const HOUR_MS = 3_600_000;

async function anInstall(backup: object): Promise<Install> {
  const install = new Install({ sinks: {}, backups: { nightly: { every: '1d', keep: 1, ...backup } } });
  const ledger = await install.listed(1, 2);
  await ledger.recordProgress();
  await ledger.close();
  return install;
}

/** The places that two installations may share: what a configuration says of one, and the backups in it. */
const PLACES = {
  folder: async () => {
    const directory = tempDir();
    const list = () => readdirSync(directory);
    return { options: { type: 'directory', directory }, list };
  },
  bucket: async () => {
    const { options, keys } = await aStorage();
    return { options, list: keys };
  },
} as const;

test.each(['folder', 'bucket'] as const)(
  'a second installation neither adds to the backups of the first in one %s nor removes them',
  async (kind) => {
    const { options, list } = await PLACES[kind]();
    const [first, second] = [await anInstall(options), await anInstall(options)];
    expect(await first.run(['backup'])).toMatchObject({ code: 0, stderr: '' });
    const before = list();
    expect(before).toEqual(['nightly-20261120T100000Z.db.gz']);
    second.clock.jump(HOUR_MS);
    expect(await second.run(['backup'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /nightly-20261120T100000Z\.db\.gz is a backup of another installation.*\nGive the backup of this installation another name/,
      ),
    });
    expect(list()).toEqual(before);
    first.clock.jump(2 * HOUR_MS);
    expect(await first.run(['backup'])).toMatchObject({ code: 0, stderr: '' });
    expect(list()).toEqual(['nightly-20261120T120000Z.db.gz']);
  },
);

test('an installation continues with its backups after one of them was restored, and with those of earlier versions', async () => {
  const { options, list } = await PLACES.folder();
  const install = await anInstall(options);
  await install.run(['backup']);
  const backup = join(options.directory, list()[0] ?? '');
  expect(await install.run(['restore', backup, '--yes', '--replace'])).toMatchObject({ code: 0 });
  await (await install.ledger()).close(); // takes an id of its own
  install.clock.jump(HOUR_MS);
  expect(await install.run(['backup'])).toMatchObject({ code: 0, stderr: '' });
  const newest = join(options.directory, list()[0] ?? '');
  writeFileSync(newest, gzipSync(gunzipSync(readFileSync(newest)))); // as earlier versions wrote it
  const other = await anInstall(options);
  other.clock.jump(2 * HOUR_MS);
  expect(await other.run(['backup'])).toMatchObject({ code: 0, stderr: '' });
  expect(list()).toEqual(['nightly-20261120T120000Z.db.gz']);
});

test('backups are written to a storage service that lets leadsync read no object', async () => {
  const { options, objects } = await anAnsweringStorage((asked) =>
    isObject(asked) ? [403, '<Error><Code>AccessDenied</Code></Error>'] : undefined,
  );
  const install = await anInstall(options);
  for (let at = 0; at < 2; at += 1) {
    expect(await install.run(['backup'])).toMatchObject({ code: 0, stderr: '' });
    install.clock.jump(HOUR_MS);
  }
  expect([...objects.keys()]).toEqual(['nightly-20261120T110000Z.db.gz']);
});
