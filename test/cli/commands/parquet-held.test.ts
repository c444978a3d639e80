import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { always } from '../../../src/catalog/relation.ts';
import { ParquetFile } from '../../../src/parquet/parquet-file.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { deliverBySink, Install } from '../an-install.ts';

const LARGEST = 2n ** 63n - 1n;
const people = [
  aListedLead({ id: 1, client_email: 'ada@example.com' }, 0),
  aListedLead({ id: 2 }, 1),
  aListedLead({ id: LARGEST }, 2),
];

async function withFiles() {
  const install = new Install({ sinks: { drop: { type: 'parquet', directory: './lake' } } });
  const ledger = await install.recorded(people);
  await deliverBySink(install, ledger, 'drop');
  const folder = join(install.folder, 'lake');
  const name = readdirSync(folder, { recursive: true }).find((one) => String(one).endsWith('.parquet'));
  return { install, ledger, folder, file: join(folder, String(name)) };
}

test('reconcile finds the delivered leads in Parquet files, to the last digit', async () => {
  const { install } = await withFiles();
  const { code, stdout } = await install.run(['reconcile', '--sink', 'drop']);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: 'drop: 3 leads delivered, 3 held, 0 missing, 0 foreign.\n',
  });
});

test('reconcile reports the leads of a removed Parquet file as missing, and --repair owes them again', async () => {
  const { install, ledger, file } = await withFiles();
  rmSync(file);
  const said = await install.run(['reconcile', '--sink', 'drop', '--repair']);
  expect(said.stdout).toContain(
    `missing  main ${LARGEST}: Version 1 was delivered. It will be delivered again.`,
  );
  expect(said.stdout).toContain('3 leads delivered, 0 held, 3 missing, 0 foreign.');
  await deliverBySink(install, ledger, 'drop');
  expect((await install.run(['reconcile', '--sink', 'drop'])).stdout).toContain('0 missing');
});

test('reconcile reports the leads of another ledger as foreign, and ignores a file with other columns', async () => {
  const { install, folder, file } = await withFiles();
  mkdirSync(join(folder, 'day=2026-11-01'));
  const columns = [always('name', 'text', '')];
  const other = new ParquetFile(columns);
  const content = Buffer.concat([other.group([['Ada']]), other.end()]);
  writeFileSync(join(folder, 'day=2026-11-01', 'leads-other.parquet'), content);
  const elsewhere = new Install({ sinks: { drop: { type: 'parquet', directory: './lake' } } });
  await deliverBySink(elsewhere, await elsewhere.recorded([aListedLead({ id: 77 })]), 'drop');
  const foreign = join(folder, 'day=2026-11-01', 'leads-foreign.parquet');
  const dropped = readdirSync(join(elsewhere.folder, 'lake'), { recursive: true }).map(String);
  const from = join(elsewhere.folder, 'lake', dropped.find((one) => one.endsWith('.parquet')) ?? '');
  writeFileSync(foreign, readFileSync(from));
  const said = await install.run(['reconcile', '--sink', 'drop']);
  expect(said.stdout.split('\n')).toEqual([
    `foreign  main 77: The ledger does not know it. (${foreign})`,
    'drop: 3 leads delivered, 4 held, 0 missing, 1 foreign.',
    '',
  ]);
  expect(said.code).toBe(1);
  expect(said.stdout).not.toContain(file);
});

test('erase certifies which Parquet files contain the person', async () => {
  const { install, file } = await withFiles();
  const { code, stdout } = await install.run(['erase', 'ada@example.com', '--yes']);
  expect(code).toBe(1);
  expect(stdout).toContain('NOT REACHED  drop (parquet): Its files are left as they are');
  expect(stdout).toContain(`               ${file}\n`);
});

test('reconcile names a truncated Parquet file, and erase does not certify that its person is gone', async () => {
  const { install, file } = await withFiles();
  writeFileSync(file, readFileSync(file).subarray(0, 400));
  const asked = await install.run(['reconcile', '--sink', 'drop']);
  expect(asked).toMatchObject({ code: 69, stdout: '' });
  expect(asked.stderr).toContain(`${file} cannot be read as Parquet.`);
  const { code, stdout } = await install.run(['erase', '1', '--yes']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/NOT REACHED {2}drop \(parquet\): \S+ cannot be read as Parquet\./);
});
