import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { Install } from '../an-install.ts';

const main = { base_url: 'http://127.0.0.1:9', client_id: 'id', client_secret: 'canary-secret' };
const drop = { type: 'csv', directory: './drop' };

/** Writes another configuration beside that of an installation, and returns its path. */
function other(install: Install, parts: object, folder = install.folder): string {
  const file = join(folder, 'other.yaml');
  writeFileSync(file, stringify({ data_dir: './data', sources: { main }, sinks: { drop }, ...parts }));
  return file;
}

test('another file is compared with the last configuration while no leadsync runs, with the number of leads', async () => {
  const install = new Install();
  await install.listed(1, 2, 3);
  const file = other(install, { sinks: { drop, second: { type: 'csv', directory: './second' } } });
  const { stdout, stderr, code } = await install.run(['plan', '-c', file]);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      'sink second is new: 3 leads listed before are owed to it',
      expect.stringMatching(/^sink crm is gone: 3 pending deliveries kept until it is back; /),
    ]),
  );
  expect(stdout).toContain('are compared only while leadsync runs with this file');
});

test.each([
  [{ sinks: { drop: { type: 'csv', directry: './drop' } } }, 'did you mean "directory"?'],
  [{ sources: { main: { ...main, client_secret: '${NO_SUCH_VARIABLE}' } } }, 'NO_SUCH_VARIABLE is not set'],
])('a file that is not valid has its faults shown, and no plan', async (parts, fault) => {
  const install = new Install();
  await install.listed(1);
  const file = other(install, parts);
  const { stdout, stderr, code } = await install.run(['plan', '-c', file]);
  expect([code, stdout]).toEqual([78, '']);
  expect(stderr).toContain(fault);
  expect(stderr).toMatch(/other\.yaml:\d+:\d+: /);
});

test('a file in another folder, whose relative data_dir has no ledger, is not taken for one that changes everything', async () => {
  const install = new Install();
  await install.listed(1, 2, 3);
  const folder = join(install.folder, 'elsewhere');
  mkdirSync(folder);
  const file = other(install, {}, folder);
  const { stdout, stderr } = await install.run(['plan', '-c', file]);
  expect(stdout).toContain('sink drop is new');
  expect(stderr).toBe(
    `There is no ledger in ${join(folder, 'data')} (data_dir), so everything counts as new. A relative data_dir begins at the folder of the configuration file.\n`,
  );
  cpSync(join(install.folder, 'data'), join(folder, 'data'), { recursive: true });
  const there = await install.run(['plan', '-c', file]);
  expect(there.stderr).toBe('');
  expect(there.stdout).not.toContain('sink drop is new');
});
