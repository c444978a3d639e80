import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { ledgerPlaceOf } from '../../src/operations/opening/configured-ledger.ts';
import { exportOnSchedule, reportExports } from '../../src/operations/scheduled-exports.ts';
import { acquireLock } from '../../src/platform/files/file-lock.ts';
import { disk, type Files } from '../../src/platform/files/file-system.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import type { Event } from '../../src/telemetry/events.ts';
import { Install } from '../cli/an-install.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';
import { exportStateFiles } from './export-state-files.ts';
import { parquetRows } from './read-parquet.ts';

const HOUR_MS = 3_600_000;
const nightly = { type: 'directory', directory: './out', every: '1d' };

function withExport(options: Readonly<Record<string, unknown>> = {}): Install {
  return new Install({ exports: { nightly: { ...nightly, ...options } } });
}

/** Puts another configuration of the export in the place of the former one. */
function reconfigure(install: Install, options: Readonly<Record<string, unknown>>): void {
  writeFileSync(
    install.configFile,
    readFileSync(new Install({ exports: { nightly: { ...nightly, ...options } } }).configFile),
  );
}

function filesOf(install: Install, folder = 'out'): string[] {
  return readdirSync(join(install.folder, folder)).sort();
}

async function made(install: Install): Promise<string> {
  const { code, stdout, stderr } = await install.run(['export', '--name', 'nightly']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** The daemon's part that makes exports, on the clock of the install. */
function scheduler(install: Install, files: Files = disk) {
  const events: Event[] = [];
  const stop = new AbortController();
  const config = loadConfig(install.configFile, { sinkTypes, env: {} });
  const states = exportStateFiles(files, config.dataDir);
  const { clock } = install;
  const parts = { states, ledger: ledgerPlaceOf(config).tables, clock, random: () => 0.5, niceness: 0 };
  const told = reportExports((event) => events.push(event), clock);
  const underway = new Set<string>();
  let { exports } = config;
  const ended = exportOnSchedule(() => exports, parts, told, stop.signal, underway);
  const end = async () => {
    stop.abort();
    await ended;
  };
  onTestFinished(end);
  /** Lets it do what is due now. */
  const rest = () => until('it rests', () => clock.sleeping > 0, 30_000);
  const pass = async (ms: number) => {
    await rest();
    clock.jump(ms);
    await clock.pass(2_000);
    await rest();
  };
  /** Takes the exports out of the configuration, or puts them back. */
  const configure = (isThere: boolean) => {
    exports = isThere ? config.exports : [];
  };
  return { events, pass, rest, end, underway, configure };
}

describe('leadsync export --name', () => {
  test('writes a file named after the export and the time in UTC, readable only for this user', async () => {
    const install = withExport();
    await install.listed(1, 2);
    const file = join(install.folder, 'out', 'nightly-20261120T100000Z.parquet');
    expect(await made(install)).toBe(`2 rows\nWrote ${file}\n`);
    expect((await parquetRows(file)).map(({ id }) => id)).toEqual([1n, 2n]);
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(filesOf(install, 'data/exports')).toEqual(['nightly.json', 'nightly.lock', 'nightly.run.lock']);
  });

  test.each([
    [{ tables: ['leads', 'polls'], format: 'csv' }, ['leads.csv', 'polls.csv']],
    [{ tables: ['v_leads_no_pii', 'leads'], format: 'jsonl' }, ['leads.jsonl', 'v_leads_no_pii.jsonl']],
  ])('writes a folder for several tables: %j', async (options, files) => {
    const install = withExport(options);
    await install.listed(1);
    await made(install);
    expect(filesOf(install, 'out/nightly-20261120T100000Z')).toEqual(files);
  });

  test('writes one SQLite file for all tables', async () => {
    const install = withExport({ tables: ['all'], format: 'sqlite' });
    await install.listed(1);
    await made(install);
    expect(filesOf(install)).toEqual(['nightly-20261120T100000Z.sqlite']);
  });

  test('keeps as many files as `keep` allows, and changes no file of another program', async () => {
    const install = withExport({ keep: 2 });
    await install.listed(1);
    const others = ['nightly-notes.parquet', 'nightly-b-20261119T100000Z.parquet', 'leads.parquet'];
    mkdirSync(join(install.folder, 'out'));
    for (const name of others) writeFileSync(join(install.folder, 'out', name), '');
    for (let at = 0; at < 4; at += 1) {
      const said = await made(install);
      expect(said.includes('Older exports removed: 1')).toBe(at >= 2);
      install.clock.jump(HOUR_MS);
    }
    const kept = ['nightly-20261120T120000Z.parquet', 'nightly-20261120T130000Z.parquet'];
    expect(filesOf(install)).toEqual([...others, ...kept].sort());
  });

  test('keeps the file that it has just written, even after the clock was set back', async () => {
    const install = withExport({ keep: 2 });
    await install.listed(1);
    await made(install);
    for (const ahead of [48, 1]) {
      install.clock.jump(ahead * HOUR_MS);
      await made(install);
    }
    install.clock.setBack(48 * HOUR_MS);
    expect(await made(install)).toMatch(/nightly-20261120T110000Z\.parquet\n$/);
    expect(filesOf(install)).toEqual([
      'nightly-20261120T110000Z.parquet',
      'nightly-20261122T110000Z.parquet',
    ]);
  });

  test('removes the temporary files of its killed runs, and no other file', async () => {
    const install = withExport();
    await install.listed(1);
    mkdirSync(join(install.folder, 'out', '.nightly-20261119T100000Z.0123456789abcdef.tmp'), {
      recursive: true,
    });
    const other = '.weekly-20261119T100000Z.parquet.0123456789abcdef.tmp';
    writeFileSync(join(install.folder, 'out', other), '');
    await made(install);
    expect(filesOf(install)).toEqual([other, 'nightly-20261120T100000Z.parquet']);
  });

  test('with rows: new, writes all rows first, then those since an hour before the last run, and all again for another place', async () => {
    const install = withExport({ rows: 'new', format: 'jsonl' });
    const ledger = await install.listed(1);
    install.clock.jump(2 * HOUR_MS);
    expect(await made(install)).toMatch(/^1 rows/);
    install.clock.jump(2 * HOUR_MS);
    expect(await made(install)).toMatch(/^0 rows/);
    install.clock.jump(2 * HOUR_MS);
    const poll = await ledger.startPoll('main');
    await ledger.record(poll, [aListedLead({ id: 2 })]);
    install.clock.jump(1000);
    expect(await made(install)).toMatch(/^1 rows/);
    install.clock.jump(1000);
    expect(await made(install)).toMatch(/^1 rows/); // within the hour
    reconfigure(install, { rows: 'new', format: 'jsonl', directory: './elsewhere' });
    install.clock.jump(1000);
    expect(await made(install)).toMatch(/^2 rows/);
  });

  test('gives its rows a later time than the run before, even after the clock was set back', async () => {
    const install = withExport({ format: 'jsonl' });
    await install.listed(1);
    const times: string[] = [];
    for (const back of [0, 48 * HOUR_MS, HOUR_MS]) {
      install.clock.setBack(back);
      const [, file = ''] = (await made(install)).split('Wrote ');
      times.push(JSON.parse(readFileSync(file.trim(), 'utf8'))._exported_at);
    }
    expect(times).toEqual([
      '2026-11-20T10:00:00.000Z',
      '2026-11-20T10:00:00.001Z',
      '2026-11-20T10:00:00.002Z',
    ]);
  });

  test('with rows: new, writes all rows once after a version whose rows had no time', async () => {
    const install = withExport({ rows: 'new', format: 'jsonl' });
    await install.listed(1);
    await made(install);
    const file = join(install.folder, 'data', 'exports', 'nightly.json');
    const state = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...state, done: { ...state.done, exportedAt: undefined } }));
    install.clock.jump(2 * HOUR_MS);
    expect(await made(install)).toMatch(/^1 rows/);
    install.clock.jump(2 * HOUR_MS);
    expect(await made(install)).toMatch(/^0 rows/);
  });

  test('fails while another run of the same export is in progress', async () => {
    const install = withExport();
    await install.listed(1);
    await made(install);
    const held = acquireLock(join(install.folder, 'data', 'exports', 'nightly.lock'));
    install.clock.jump(1000);
    const said = await install.run(['export', '--name', 'nightly']);
    const { stdout: meanwhile } = await install.run(['status']);
    const shown = await install.json('status');
    held.release();
    expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('is already running') });
    expect(meanwhile).toMatch(/nightly .* running /);
    expect(shown).toMatchObject({ exports: [{ export: 'nightly', running: true }] });
    expect(await install.json('status')).toMatchObject({ exports: [{ running: false }] });
    expect(filesOf(install)).toHaveLength(1);
  });

  test.each([
    [['export', '--name', 'nigthly'], 2, 'did you mean "nightly"?'],
    [['export', '--name', 'nightly', 'leads.csv'], 2, 'the configuration determines what is exported'],
    [['export', '--name', 'nightly', '--since', '1d'], 2, 'the configuration determines what is exported'],
    [['export'], 2, 'Name a file or folder'],
  ])('prints what is wrong with %j', async (args, code, message) => {
    const install = withExport();
    await install.listed(1);
    const said = await install.run(args);
    expect(said).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
  });
});

describe('an export that fails', () => {
  test('is reported with the next step, in status as well, until a run succeeds', async () => {
    const install = withExport();
    await install.listed(1);
    writeFileSync(join(install.folder, 'out'), 'no folder');
    const failed = await install.run(['export', '--name', 'nightly']);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(
      /out is not a folder, or is beneath a file \(E\w+\)\.\nThere is a file where/,
    );
    expect((await install.run(['check'])).stdout).toMatch(/FAILED {2}export nightly: .*out is not a folder/);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('Export nightly failed, and it has never succeeded: ');
    expect(stdout).toContain('export --name nightly` runs it now.');
    expect(await install.json('status')).toMatchObject({ exports: [{ export: 'nightly', failures: 1 }] });
    rmSync(join(install.folder, 'out'));
    await made(install);
    expect((await install.run(['status'])).stdout).not.toContain('failed');
  });

  test('because another user owns its lock is reported with the path', async () => {
    const install = withExport();
    await install.listed(1);
    mkdirSync(join(install.folder, 'data', 'exports', 'nightly.lock'), { recursive: true });
    const { code, stderr } = await install.run(['export', '--name', 'nightly']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/exports is not writable by leadsync \(SQLITE_CANTOPEN\)\.\nAllow the user/);
  });

  test('because its folder has vanished does not create it again, because it may be a mount point', async () => {
    const install = withExport();
    await install.listed(1);
    await made(install);
    rmSync(join(install.folder, 'out'), { recursive: true });
    install.clock.jump(1000);
    const said = await install.run(['export', '--name', 'nightly']);
    expect(said.stderr).toContain('Mount it or create it again');
    expect(existsSync(join(install.folder, 'out'))).toBe(false);
  });
});

describe('the daemon', () => {
  test('runs an export at its interval, and once for all the runs that it missed', async () => {
    const install = withExport();
    await install.listed(1);
    const first = scheduler(install);
    await first.rest();
    expect(filesOf(install)).toHaveLength(1);
    await first.pass(23 * HOUR_MS);
    expect(filesOf(install)).toHaveLength(1);
    await first.pass(HOUR_MS);
    expect(filesOf(install)).toHaveLength(2);
    await first.end();
    install.clock.jump(72 * HOUR_MS);
    const second = scheduler(install);
    await second.pass(HOUR_MS);
    expect(filesOf(install)).toHaveLength(3);
    expect(second.events).toMatchObject([{ type: 'export-made', export: 'nightly', rows: 1 }]);
  });

  test('runs an export that an operator requests before it is due, once', async () => {
    const install = withExport();
    await install.listed(1);
    const { events, pass, underway } = scheduler(install);
    await pass(HOUR_MS);
    expect(filesOf(install)).toHaveLength(1);
    underway.add('nightly');
    await pass(HOUR_MS);
    await pass(HOUR_MS);
    expect(filesOf(install)).toHaveLength(2);
    expect(events.map(({ type }) => type)).toEqual(['export-made', 'export-made']);
  });

  test('reports an export as running, so that no second run is requested', async () => {
    const install = withExport();
    await install.listed(1);
    const { pass, rest, underway } = scheduler(install);
    await until('it runs', () => underway.has('nightly'));
    await rest();
    expect([...underway]).toEqual([]);
    await pass(HOUR_MS);
    expect(filesOf(install)).toHaveLength(1);
  });

  test('drops the request for an export that the configuration no longer has', async () => {
    const install = withExport({ every: undefined, at: '03:00', timezone: 'UTC' });
    await install.listed(1);
    const { pass, underway, configure } = scheduler(install);
    await pass(HOUR_MS);
    configure(false);
    underway.add('nightly');
    await pass(HOUR_MS);
    configure(true);
    await pass(HOUR_MS);
    expect(existsSync(join(install.folder, 'out'))).toBe(false);
  });

  test('waits for the configured time of day, even after a manual run', async () => {
    const { every: _, ...rest } = nightly;
    const install = new Install({
      exports: { nightly: { ...rest, at: '03:00', timezone: 'Europe/Berlin' } },
    });
    await install.listed(1);
    const { pass, rest: settled } = scheduler(install);
    await settled();
    expect(existsSync(join(install.folder, 'out'))).toBe(false);
    await pass(HOUR_MS);
    await made(install);
    await pass(14 * HOUR_MS); // 02:00 in Berlin
    expect(filesOf(install)).toHaveLength(1);
    await pass(HOUR_MS + 1000);
    expect(filesOf(install)).toHaveLength(2);
  });

  test('does not delay its first export if the clock is set back before it', async () => {
    const { every: _, ...rest } = nightly;
    const install = new Install({ exports: { nightly: { ...rest, at: '03:00', timezone: 'UTC' } } });
    await install.listed(1);
    const { pass } = scheduler(install);
    await pass(HOUR_MS);
    expect(existsSync(join(install.folder, 'out'))).toBe(false);
    install.clock.setBack(365 * 24 * HOUR_MS);
    await pass(24 * HOUR_MS);
    expect(filesOf(install)).toHaveLength(1);
  });

  test('tries again with growing pauses, and immediately after the configuration was corrected', async () => {
    const install = withExport();
    await install.listed(1);
    writeFileSync(join(install.folder, 'out'), 'no folder');
    const { events, pass, end } = scheduler(install);
    await pass(10_000);
    await pass(60_000);
    await pass(60_000);
    await pass(90_000);
    const failed = events.filter((event) => event.type === 'export-failed');
    expect(failed.map(({ failures }) => failures)).toEqual([1, 2, 3]);
    expect(failed.map(({ retryInMs }) => retryInMs / 60_000)).toEqual([
      expect.closeTo(failed[0]?.retryInMs ? failed[0].retryInMs / 60_000 : 0),
      expect.closeTo((failed[0]?.retryInMs ?? 0) / 30_000),
      expect.closeTo((failed[0]?.retryInMs ?? 0) / 15_000),
    ]);
    await end();
    reconfigure(install, { directory: './mended' });
    const after = scheduler(install);
    await after.rest();
    expect(after.events).toMatchObject([{ type: 'export-made' }]);
  });

  test.each([
    ['made', 'out', 'export-made'],
    ['failed', undefined, 'export-failed'],
  ])('runs no export before it is due if it cannot record that one was %s', async (_, folder, type) => {
    const install = withExport();
    await install.listed(1);
    if (!folder) writeFileSync(join(install.folder, 'out'), 'no folder');
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    const { events, pass } = scheduler(install, { ...disk, create: () => Promise.reject(full) });
    for (let second = 0; second < 20; second += 2) await pass(0);
    expect(events.map((event) => event.type)).toEqual([type]);
  });

  test('aborts a run when it stops, and leaves no file behind', async () => {
    const install = withExport({ tables: ['all'] });
    await install.recorded(Array.from({ length: 30_000 }, (_, at) => aListedLead({ id: at + 1 }, at)));
    const { end, events } = scheduler(install);
    await until('it writes', () => filesOf(install).some((name) => name.endsWith('.tmp')), 20_000);
    await end();
    expect(filesOf(install)).toEqual([]);
    expect(events).toEqual([]);
  });
});
