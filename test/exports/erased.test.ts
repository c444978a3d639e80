import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { erase, personToErase } from '../../src/operations/erasure/erase.ts';
import { ledgerPlaceOf } from '../../src/operations/opening/configured-ledger.ts';
import { exportOnSchedule } from '../../src/operations/scheduled-exports.ts';
import { acquireLock } from '../../src/platform/files/file-lock.ts';
import { disk } from '../../src/platform/files/file-system.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { deliverBySink, Install } from '../cli/an-install.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';
import { exportStateFiles } from './export-state-files.ts';

const LARGEST = 2n ** 63n - 1n;
const people = [
  aListedLead({ id: LARGEST, client_email: 'ada@example.com', client_name: 'Ada, "the first"\nof all' }, 0),
  aListedLead({ id: LARGEST - 1n, client_name: 'Bob, id 42' }, 1),
];

async function exported(options: Readonly<Record<string, unknown>>) {
  const nightly = { type: 'directory', directory: './out', every: '1d', ...options };
  const install = new Install({ sinks: {}, exports: { nightly } });
  await install.recorded(people);
  await install.run(['export', '--name', 'nightly']);
  const [name = ''] = readdirSync(join(install.folder, 'out'));
  return { install, file: join(install.folder, 'out', name) };
}

const everyFormat = ['parquet', 'csv', 'jsonl', 'sqlite'].flatMap((format) => [
  { format, tables: ['lead_answers', 'rejected_leads', 'leads'] },
  { format, tables: ['lead_versions'] },
]);

test.each(everyFormat)(
  'erase lists the files of an export of %j that contain the person, and not later files',
  async (options) => {
    const { install, file } = await exported(options);
    const said = await install.run(['erase', 'ada@example.com', '--yes']);
    expect(said.code).toBe(1);
    expect(said.stdout).toContain(
      'NOT REACHED  nightly (export to directory): Its files are left as they are;',
    );
    expect(said.stdout).toContain(`               ${file}\n`);
    install.clock.jump(1000);
    await install.run(['export', '--name', 'nightly']);
    const again = await install.run(['erase', String(LARGEST), '--yes']);
    expect(again.stdout.match(/nightly-\d+T\d+Z/g)).toEqual(['nightly-20261120T100000Z']);
  },
);

test.each([{ tables: ['v_leads_no_pii'] }, { tables: ['deliveries', 'polls', 'attempts'], format: 'csv' }])(
  'erase finds no person in an export of %j',
  async (options) => {
    const { install } = await exported(options);
    const said = await install.run(['erase', String(LARGEST), '--yes']);
    expect(said).toMatchObject({ code: 0, stderr: '' });
    expect(said.stdout).toContain('reached      nightly (export to directory): None of its files contains');
  },
);

test('erase lists a file that it cannot read as one that may contain the person', async () => {
  const { install, file } = await exported({});
  writeFileSync(file, readFileSync(file).subarray(0, 300));
  const said = await install.run(['erase', 'ada@example.com', '--yes']);
  expect(said.code).toBe(1);
  expect(said.stdout).toContain(`${file} (cannot be read, and may contain them)\n`);
});

test('erase lists a named pipe in the place of a file as unreadable, without waiting for a writer', async () => {
  const { install, file } = await exported({ format: 'csv' });
  const pipe = file.replace('T10', 'T09');
  execFileSync('mkfifo', [pipe]);
  // Writes the export to the pipe once a reader opens it, so that an erasure that opens it fails the test instead of hanging it.
  const writer = spawn('sh', ['-c', 'cat "$0" > "$1"', file, pipe]);
  onTestFinished(() => void writer.kill());
  const said = await install.run(['erase', 'ada@example.com', '--yes']);
  expect(said.code).toBe(1);
  expect(said.stdout).toContain(`${pipe} (cannot be read, and may contain them)\n`);
});

test('erase removes the temporary files of a killed run', async () => {
  const { install } = await exported({ tables: ['polls'] });
  const leftover = join(install.folder, 'out', '.nightly-20261119T100000Z.0123456789abcdef.tmp');
  mkdirSync(leftover);
  writeFileSync(join(leftover, 'leads.csv'), 'ada@example.com');
  expect((await install.run(['erase', 'ada@example.com', '--yes'])).code).toBe(0);
  expect(readdirSync(join(install.folder, 'out'))).toEqual(['nightly-20261120T100000Z.parquet']);
});

test.each(['erase', 'run'])(
  '%s removes the files that a killed run left in the data directory if its export is no longer configured',
  async (by) => {
    const install = new Install({ sinks: {} });
    await install.recorded(people);
    const folder = join(install.folder, 'data', 'exports');
    mkdirSync(folder, { recursive: true });
    const run = 'lake-20261119T100000Z';
    const read = `.read-0123abcd-0123-4abc-8abc-0123456789ab-${run}.csv`;
    for (const name of [run, `.${run}.0123456789abcdef.tmp`, read, `busy-20261119T100000Z.csv`, 'lake.txt'])
      writeFileSync(join(folder, name), 'ada@example.com');
    const held = acquireLock(join(folder, 'busy.lock'));
    onTestFinished(() => held.release());
    if (by === 'run') await scheduled(install);
    else await install.run(['erase', 'ada@example.com', '--yes']);
    const left = readdirSync(folder).filter((name) => !name.endsWith('.lock'));
    expect(left.sort()).toEqual(['busy-20261119T100000Z.csv', 'lake.txt']);
  },
);

test('erase waits for a running export, which counts as not reached if it takes too long', async () => {
  const { install } = await exported({ tables: ['polls'] });
  const held = acquireLock(join(install.folder, 'data', 'exports', 'nightly.lock'));
  onTestFinished(() => held.release());
  const saying = install.run(['erase', 'ada@example.com', '--yes']);
  await until('it waits', () => install.clock.sleeping > 0);
  install.clock.jump(61_000);
  await install.clock.pass(1_000);
  const said = await saying;
  expect(said.code).toBe(1);
  expect(said.stdout).toContain('The export is running. Run this again when it has finished.');
  expect((await install.run(['erase'])).stderr).toContain(`This command would erase: main ${LARGEST}.`);
});

test.each(['no leadsync has run since', 'leadsync has run since'])(
  'erase names an export that is no longer configured, with the place of its last file; %s',
  async (since) => {
    const { install, file } = await exported({});
    const hourly = { type: 'directory', directory: './other', every: '1d', tables: ['polls'] };
    install.configure({ sinks: {}, exports: { hourly } });
    if (since === 'leadsync has run since') await scheduled(install);
    const said = await install.run(['erase', 'ada@example.com', '--yes']);
    const state = join(install.folder, 'data', 'exports', 'nightly.json');
    expect(said.code).toBe(1);
    expect(said.stdout).toContain(
      `NOT REACHED  nightly (export or backup, not configured): Not searched. The last run wrote ${file}. Remove all files that this export or backup wrote, also those of earlier runs, then remove ${state}.\n`,
    );
    rmSync(state);
    expect((await install.run(['erase', String(LARGEST), '--yes'])).code).toBe(0);
  },
);

test('erase names the unreadable state of an export that is no longer configured, and no start deletes it', async () => {
  const { install } = await exported({});
  install.configure({ sinks: {} });
  const folder = join(install.folder, 'data', 'exports');
  const state = join(folder, 'nightly.json');
  rmSync(state);
  mkdirSync(state);
  await scheduled(install);
  const one = await install.run(['erase', 'ada@example.com', '--yes']);
  expect(one.code).toBe(1);
  expect(one.stdout).toContain(`${state} records where the last run wrote its files, but it cannot be read.`);
  rmSync(folder, { recursive: true });
  writeFileSync(folder, '');
  await scheduled(install);
  const all = await install.run(['erase', String(LARGEST), '--yes']);
  expect(all.code).toBe(1);
  expect(all.stdout).toContain(`${folder} cannot be read (ENOTDIR), so leadsync does not know which exports`);
});

test('plan reports an export that is no longer configured until leadsync has run; erase does not, once it is configured again', async () => {
  const { install } = await exported({});
  const before = readFileSync(install.configFile);
  install.configure({ sinks: {} });
  expect((await install.run(['plan'])).stdout).toContain('nightly');
  await scheduled(install);
  expect((await install.run(['plan'])).stdout).not.toContain('nightly');
  writeFileSync(install.configFile, before);
  expect((await install.run(['plan'])).stdout).toContain('nightly');
  install.clock.jump(1000);
  await install.run(['export', '--name', 'nightly']);
  expect((await install.run(['erase', 'ada@example.com', '--yes'])).stdout).not.toContain('not configured');
});

/** Lets the daemon's part that makes exports look at them once. */
async function scheduled(install: Install): Promise<void> {
  const { exports, dataDir } = loadConfig(install.configFile, { sinkTypes, env: {} });
  const { clock } = install;
  const parts = {
    states: exportStateFiles(disk, dataDir),
    ledger: ledgerPlaceOf({ dataDir, ledgerServer: undefined }).tables,
    clock,
    random: () => 0.5,
    niceness: 0,
  };
  const stop = new AbortController();
  const ended = exportOnSchedule(
    () => exports,
    parts,
    () => undefined,
    stop.signal,
  );
  await until('it rests', () => clock.sleeping > 0, 30_000);
  stop.abort();
  await ended;
}

test('an export whose lock cannot be opened counts as not reached; erase prints the path', async () => {
  const { install } = await exported({ tables: ['polls'] });
  const lock = join(install.folder, 'data', 'exports', 'nightly.lock');
  rmSync(lock);
  mkdirSync(lock);
  const said = await install.run(['erase', 'ada@example.com', '--yes']);
  expect(said).toMatchObject({ code: 1, stderr: '' });
  expect(said.stdout).toMatch(
    /NOT REACHED {2}nightly .*exports is not writable by leadsync \(SQLITE_CANTOPEN\)\./,
  );
});

test('an erasure that is stopped during its search certifies what it reached, and the next one does the rest', async () => {
  const { install } = await exported({});
  install.configure({
    sinks: { drop: { type: 'csv', directory: './drop' } },
    exports: { nightly: { type: 'directory', directory: './out', every: '1d' } },
  });
  const ledger = await install.ledger();
  await deliverBySink(install, ledger, 'drop');
  const config = loadConfig(install.configFile, { sinkTypes, env: {} });
  const person = await personToErase(config.sinks, { kind: 'lead', lead: LARGEST }, undefined, {
    ledger,
    clock: install.clock,
    signal: new AbortController().signal,
  });
  const { places } = await erase(config, person, {
    ledger,
    clock: install.clock,
    states: exportStateFiles(disk, config.dataDir),
    signal: AbortSignal.abort(),
  });
  expect(places).toMatchObject([
    { place: 'ledger' },
    { place: 'drop', reached: false, again: true, what: expect.stringContaining('was interrupted') },
    { place: 'nightly', reached: false, again: true, what: expect.stringContaining('Stopped before') },
  ]);
  expect((await install.run(['erase'])).stderr).toContain(`This command would erase: main ${LARGEST}.`);
});
