import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { deliverBySink, Install } from '../an-install.ts';

async function withFiles() {
  const install = new Install();
  const nasty = aListedLead({ id: 2, client_name: '=1,"2"\r\nleads', client_address: null }, 1);
  const ledger = await install.recorded([
    aListedLead({ id: 1 }),
    nasty,
    aListedLead({ id: 2n ** 63n - 1n }, 2),
  ]);
  await deliverBySink(install, ledger, 'drop');
  const folder = join(install.folder, 'drop');
  return { install, ledger, file: join(folder, readdirSync(folder)[0] ?? '') };
}

test('reports that no lead is missing, for leads with any content', async () => {
  const { install } = await withFiles();
  const { code, stdout } = await install.run(['reconcile', '--sink', 'drop']);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: 'drop: 3 leads delivered, 3 held, 0 missing, 0 foreign.\n',
  });
});

test('lists the missing and the foreign leads, and owes the missing again, once', async () => {
  const { install, ledger, file } = await withFiles();
  const [header = '', first = ''] = readFileSync(file, 'utf8').split('\r\n');
  writeFileSync(file, `${header}\r\n${first}\r\n`);
  appendFileSync(file, `${first.replace(/^1,/, '77,')}\r\n`);
  const said = await install.run(['reconcile', '--sink', 'drop']);
  expect(said.code).toBe(1);
  expect(said.stdout.split('\n')).toEqual([
    `foreign  main 77: The ledger does not know it. (${file})`,
    'missing  main 2: Version 1 was delivered.',
    'missing  main 9223372036854775807: Version 1 was delivered.',
    'drop: 3 leads delivered, 2 held, 2 missing, 1 foreign.',
    '',
  ]);
  const repaired = await install.run(['reconcile', '--sink', 'drop', '--repair']);
  expect(repaired.stdout).toContain('missing  main 2: Version 1 was delivered. It will be delivered again.');
  install.clock.jump(1000);
  await install.run(['reconcile', '--sink', 'drop', '--repair']);
  expect(await ledger.deliveries({ sink: 'drop', states: ['pending'] }, { limit: 10 })).toHaveLength(2);
  await deliverBySink(install, ledger, 'drop');
  const { missing } = JSON.parse((await install.run(['reconcile', '--sink', 'drop', '--json'])).stdout);
  expect(missing).toEqual([]);
});

test('on a terminal, asks before it owes the missing leads again, with their number', async () => {
  const { install, ledger, file } = await withFiles();
  const [header = '', first = ''] = readFileSync(file, 'utf8').split('\r\n');
  writeFileSync(file, `${header}\r\n${first}\r\n`);
  const repair = (line: string, ...more: string[]) =>
    install.run(['reconcile', '--sink', 'drop', '--repair', ...more], {
      stdin: Object.assign(Readable.from([line]), { isTTY: true }),
    });
  const pending = async () =>
    (await ledger.deliveries({ sink: 'drop', states: ['pending'] }, { limit: 9 })).length;
  const no = await repair('n\n');
  expect(no.code).toBe(1);
  expect(no.stderr).toContain('This delivers 2 missing leads to drop again. Continue? [y/N] ');
  expect(await pending()).toBe(0);
  expect((await repair('y\n')).stdout).toContain(
    'missing  main 2: Version 1 was delivered. It will be delivered again.',
  );
  expect(await pending()).toBe(2);
  expect((await repair('', '--yes')).stderr).toBe('');
});

test('a replayed lead has two rows in files, and does not count as a duplicate', async () => {
  const { install, ledger } = await withFiles();
  install.clock.jump(1000);
  await install.run(['replay', '--sink', 'drop', '--lead', '2']);
  await deliverBySink(install, ledger, 'drop');
  expect(await install.run(['reconcile', '--sink', 'drop'])).toMatchObject({
    code: 0,
    stdout: 'drop: 3 leads delivered, 4 held, 0 missing, 0 foreign.\n',
  });
});

test('leads that were delivered before the clock was set back are compared as well', async () => {
  const { install, file } = await withFiles();
  rmSync(file);
  install.clock.setBack(3_600_000);
  expect((await install.run(['reconcile', '--sink', 'drop'])).stdout).toContain(
    '3 leads delivered, 0 held, 3 missing',
  );
});

test('finds a lead with a text of 20 MB, and the one after it', async () => {
  const install = new Install();
  const long = 'a "long" story, '.repeat(1_250_000);
  const leads = [aListedLead({ id: 1, all_details_one_liner: long }), aListedLead({ id: 2 }, 1)];
  await deliverBySink(install, await install.recorded(leads), 'drop');
  expect(await install.run(['reconcile', '--sink', 'drop'])).toEqual({
    code: 0,
    stdout: 'drop: 2 leads delivered, 2 held, 0 missing, 0 foreign.\n',
    stderr: '',
  });
});

test('reconcile names a truncated CSV file, and erase does not certify that its person is gone', async () => {
  const { install, file } = await withFiles();
  const content = readFileSync(file, 'utf8');
  writeFileSync(file, content.slice(0, content.indexOf('leads"')));
  const asked = await install.run(['reconcile', '--sink', 'drop']);
  expect(asked).toMatchObject({ code: 69, stdout: '' });
  expect(asked.stderr).toContain(`${file} cannot be read as CSV.`);
  const { code, stdout } = await install.run(['erase', '1', '--yes']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/NOT REACHED {2}drop \(csv\): \S+ cannot be read as CSV\./);
});

test('every lead is missing if the folder is gone', async () => {
  const { install, file } = await withFiles();
  rmSync(join(file, '..'), { recursive: true });
  expect((await install.run(['reconcile', '--sink', 'drop'])).stdout).toContain('0 held, 3 missing');
});

test('a row of an erased lead is foreign', async () => {
  const { install } = await withFiles();
  await install.run(['erase', '1', '--yes']);
  expect((await install.run(['reconcile', '--sink', 'drop'])).stdout).toMatch(
    /^foreign {2}main 1: It was erased\. /,
  );
});

test.each([
  ['crm', 2, 'crm is a webhook sink, whose content leadsync cannot read.'],
  ['dorp', 2, 'There is no sink "dorp": did you mean "drop"?'],
])('reports that it cannot compare %s', async (sink, code, message) => {
  const install = new Install();
  await install.listed(1);
  const said = await install.run(['reconcile', '--sink', sink]);
  expect(said).toMatchObject({ code, stdout: '' });
  expect(said.stderr).toContain(message);
});

test('reports a sink that cannot be reached, and counts nothing as missing', async () => {
  const warehouse = { type: 'postgres', url: 'postgresql://nobody@127.0.0.1:9/none', timeout: '2s' };
  const install = new Install({ sinks: { warehouse } });
  const ledger = await install.listed(1);
  await ledger.declareSinks([{ name: 'warehouse', events: ['created'], backfill: true }]);
  const said = await install.run(['reconcile', '--sink', 'warehouse', '--repair']);
  expect(said).toMatchObject({ code: 69, stdout: '' });
  expect(said.stderr).toMatch(/^Sink warehouse could not be read: PostgreSQL at 127\.0\.0\.1:9 /);
});
