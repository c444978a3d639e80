import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Install } from '../cli/an-install.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { parquetRows } from './read-parquet.ts';
import { aStorage, type Storage } from './storage.ts';

/** More than a part of an upload holds. */
const MANY = 6_000;
const PART_BYTES = 8 * 1024 * 1024;

function withExport(storage: Storage, options: Readonly<Record<string, unknown>> = {}): Install {
  return new Install({ sinks: {}, exports: { nightly: { ...storage.options, every: '1d', ...options } } });
}

async function made(install: Install): Promise<string> {
  const { code, stdout, stderr } = await install.run(['export', '--name', 'nightly']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

test('an export is an object under the prefix, and nothing of it stays on this machine', async () => {
  const storage = await aStorage();
  const install = withExport(storage, { prefix: 'leadsync/' });
  await install.listed(1, 2);
  expect(await made(install)).toBe('2 rows\nWrote s3://exports/leadsync/nightly-20261120T100000Z.parquet\n');
  expect(storage.keys()).toEqual(['leadsync/nightly-20261120T100000Z.parquet']);
  const copy = join(install.folder, 'copy.parquet');
  copyFileSync(storage.fileOf('leadsync/nightly-20261120T100000Z.parquet'), copy);
  expect((await parquetRows(copy)).map(({ id }) => id)).toEqual([1n, 2n]);
  const left = readdirSync(join(install.folder, 'data', 'exports')).sort();
  expect(left).toEqual(['nightly.json', 'nightly.lock', 'nightly.run.lock']);
});

test('a large one travels in parts, and arrives to the last byte', async () => {
  const storage = await aStorage();
  const install = withExport(storage, { format: 'jsonl' });
  await install.recorded(Array.from({ length: MANY }, (_, at) => aListedLead({ id: at + 1 }, at)));
  await made(install);
  const file = storage.fileOf('nightly-20261120T100000Z.jsonl');
  expect(statSync(file).size).toBeGreaterThan(PART_BYTES);
  const ids = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).id);
  expect(ids).toEqual(Array.from({ length: MANY }, (_, at) => at + 1));
});

test('one of several tables is complete with its mark; a part that a killed run has left is removed', async () => {
  const storage = await aStorage();
  storage.put('nightly-20261119T100000Z/leads.csv', 'id');
  storage.put('nightly-notes/leads.csv', 'id');
  const install = withExport(storage, { tables: ['leads', 'polls'], format: 'csv' });
  await install.listed(1);
  await made(install);
  const run = 'nightly-20261120T100000Z';
  const files = ['_SUCCESS', 'leads.csv', 'polls.csv'].map((name) => `${run}/${name}`);
  expect(storage.keys()).toEqual([...files, 'nightly-notes/leads.csv'].sort());
});

test('keeps as many files as `keep` allows', async () => {
  const storage = await aStorage();
  const install = withExport(storage, { keep: 2, tables: ['leads', 'polls'], format: 'csv' });
  await install.listed(1);
  for (let at = 0; at < 3; at += 1) {
    await made(install);
    install.clock.jump(3_600_000);
  }
  const runs = new Set(storage.keys().map((key) => key.split('/')[0]));
  expect([...runs]).toEqual(['nightly-20261120T110000Z', 'nightly-20261120T120000Z']);
});

test('a second export of the same second leaves the first as it is', async () => {
  const storage = await aStorage();
  const install = withExport(storage, { rows: 'new', format: 'csv' });
  const ledger = await install.listed(1);
  await made(install);
  const before = storage.read('nightly-20261120T100000Z.csv');
  await install.listed(1, 2);
  const again = await install.run(['export', '--name', 'nightly']);
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toContain(
    's3://exports/nightly-20261120T100000Z.csv already exists and was left as it is.',
  );
  expect(storage.read('nightly-20261120T100000Z.csv')).toBe(before);
  install.clock.jump(1000);
  await made(install);
  await ledger.close();
});

test('check proves that it can write there, and leaves nothing', async () => {
  const storage = await aStorage();
  const install = withExport(storage);
  expect((await install.run(['check'])).stdout).toContain(
    'ok      export nightly: Files can be written there.',
  );
  expect(storage.keys()).toEqual([]);
});

test.each([
  [{ bucket: 'nobodys' }, 'The bucket nobodys at 127.0.0.1:', 'does not exist (NoSuchBucket).'],
  [{ access_key_id: 'canary-id' }, 'does not know the access key', 'access_key_id'],
  [{ secret_access_key: 'canary-key' }, 'does not accept the secret key', 'secret_access_key'],
  [{ endpoint: 'http://127.0.0.1:9' }, 'The bucket exports at 127.0.0.1:9', 'ECONNREFUSED'],
])('with %j it fails, says why, and shows no key', async (options, what, more) => {
  const install = withExport(await aStorage(), options);
  await install.listed(1);
  const said = await install.run(['export', '--name', 'nightly']);
  expect(said).toMatchObject({ code: 1, stdout: '' });
  expect(said.stderr).toContain(what);
  expect(said.stderr).toContain(more);
  const kept = readFileSync(join(install.folder, 'data', 'exports', 'nightly.json'), 'utf8');
  expect(said.stderr + kept).not.toMatch(/canary-(id|key)|S3RVER/);
  expect((await install.run(['status'])).stdout).toContain('Export nightly failed');
});

test('without a region, of AWS, it says what to set', async () => {
  const install = new Install({ exports: { nightly: { type: 's3', bucket: 'leads', every: '1d' } } });
  await install.listed(1);
  const { stdout } = await install.run(['check']);
  expect(stdout).toContain(
    'FAILED  export nightly: The bucket leads has no known region (NoRegion). Set `region`',
  );
});

test('erase lists the objects that hold the person', async () => {
  const storage = await aStorage();
  const install = withExport(storage, { tables: ['leads', 'lead_versions'] });
  await install.recorded([aListedLead({ id: 1, client_email: 'ada@example.com' })]);
  await made(install);
  const said = await install.run(['erase', 'ada@example.com', '--yes']);
  expect(said.code).toBe(1);
  expect(said.stdout).toContain('NOT REACHED  nightly (export to s3): Its files are left as they are;');
  expect(said.stdout).toContain('               s3://exports/nightly-20261120T100000Z\n');
  install.clock.jump(1000);
  await made(install);
  const again = await install.run(['erase', '1', '--yes']);
  expect(again.stdout.match(/nightly-\d+T\d+Z/g)).toEqual(['nightly-20261120T100000Z']);
  expect(readdirSync(join(install.folder, 'data', 'exports')).sort()).toEqual([
    'nightly.json',
    'nightly.lock',
    'nightly.run.lock',
  ]);
});
