import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { startStub } from '../stub/stub.ts';
import { startLeadsync } from '../support/program/leadsync.ts';
import { freePort } from '../support/servers/server-process.ts';
import { requireDatabaseUrl, uniqueName } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { attemptDue, Install, type RunOptions } from './an-install.ts';

/** One way to run a command. `says` is the line of the audit log that it writes; without it, the command must change nothing at all. */
interface Case {
  readonly args: readonly string[];
  readonly says?: Readonly<Record<string, unknown>>;
  readonly more?: RunOptions;
  /** Runs in a process of its own, until its line is there. */
  readonly goesOn?: boolean;
  readonly before?: (install: Install) => Promise<unknown>;
  readonly parts?: () => Promise<Record<string, unknown>>;
}

/** Commands that start the daemon, whose log and ledger say what it does, or that do not touch a data directory. */
const OUTSIDE = ['run', 'worker', 'init'];

const postgres = async () => ({
  sinks: { warehouse: { type: 'postgres', url: requireDatabaseUrl(), schema: uniqueName('audited') } },
});

const CASES: Readonly<Record<string, readonly Case[]>> = {
  validate: [{ args: [] }],
  config: [{ args: ['show'] }],
  plan: [{ args: [] }],
  check: [{ args: [] }],
  setup: [
    { args: ['warehouse'], parts: postgres },
    { args: ['warehouse', '--yes'], says: { what: 'setup', sink: 'warehouse' }, parts: postgres },
  ],
  fields: [{ args: ['crm'] }],
  test: [
    { args: [] },
    { args: ['--last', '2'] },
    { args: ['crm', '--lead', '1'] },
    {
      args: ['crm', '--lead', '1', '--show-data'],
      says: { what: 'reveal', lead: '1', as: 'mapping' },
      parts: async () => ({
        sinks: { crm: { type: 'csv', directory: './crm', fields: { name: 'lead.client_name' } } },
      }),
    },
  ],
  'test-sink': [{ args: ['drop'], says: { what: 'test', sink: 'drop' } }],
  'test-alert': [
    {
      args: [],
      says: { what: 'test-alert', to: 'ops' },
      parts: async () => ({ alerts: { to: { ops: { type: 'slack', url: 'http://127.0.0.1:9/x' } } } }),
    },
  ],
  login: [
    {
      args: ['main'],
      says: { what: 'source-login', source: 'main' },
      parts: async () => {
        const stub = await startStub({ leads: 2 });
        onTestFinished(() => stub.close());
        const { url, clientId, clientSecret } = stub;
        const credentials = { base_url: url, client_id: clientId, client_secret: clientSecret };
        return { sources: { main: { ...credentials, redirect_uri: 'https://example.com/callback' } } };
      },
    },
  ],
  schema: [{ args: [] }],
  reload: [
    {
      args: [],
      says: { what: 'reload' },
      parts: async () => ({ admin: { listen: `127.0.0.1:${await freePort()}` } }),
    },
  ],
  poll: [{ args: ['main'], says: { what: 'poll', source: 'main' } }],
  sync: [{ args: [], says: { what: 'sync' } }],
  healthcheck: [{ args: [] }],
  status: [{ args: [] }, { args: ['--json'] }],
  top: [{ args: ['--once'] }],
  tail: [{ args: ['--show-data'], says: { what: 'reveal', as: 'tail' }, goesOn: true }],
  trace: [{ args: ['1'] }, { args: ['1', '--show-data'], says: { what: 'reveal', lead: '1', as: 'trace' } }],
  deliveries: [{ args: [] }],
  rejected: [{ args: [] }, { args: ['--state', 'any', '--json'] }],
  find: [{ args: ['anna', '--source', 'main'], says: { what: 'find', source: 'main' } }],
  query: [
    { args: ['--list'] },
    { args: ['@missing'], says: { what: 'query', query: '@missing' } },
    { args: ["SELECT id FROM leads WHERE client_email = 'canary'"], says: { what: 'query', query: 'SQL' } },
  ],
  export: [
    { args: ['out/leads.csv'], says: { what: 'export', tables: 'leads' } },
    {
      args: ['--name', 'nightly'],
      says: { what: 'export', name: 'nightly' },
      parts: async () => ({
        exports: { nightly: { type: 'directory', directory: './lake', tables: ['polls'], every: '1d' } },
      }),
    },
  ],
  preview: [
    {
      args: ['--sink', 'crm', '--lead', '1'],
      says: { what: 'reveal', sink: 'crm', source: 'main', lead: '1', as: 'previews' },
    },
  ],
  retry: [
    { args: ['--all', '--dry-run'] },
    { args: ['--sink', 'crm', '--state', 'dead'], says: { what: 'retry', sink: 'crm', states: 'dead' } },
  ],
  discard: [
    { args: ['--all', '--note', 'a note', '--dry-run'] },
    {
      args: ['--sink', 'crm', '--reason', '422', '--note', 'called by phone'],
      says: { what: 'discard', sink: 'crm', reason: '422', note: 'called by phone' },
    },
  ],
  replay: [
    { args: ['--sink', 'crm', '--all', '--dry-run'] },
    { args: ['--sink', 'crm', '--all'] }, // not confirmed
    {
      args: ['--sink', 'crm', '--since', '2026-11-01', '--yes'],
      says: { what: 'replay', sink: 'crm', since: '2026-11-01T00:00:00.000Z' },
    },
  ],
  'cancel-replay': [
    { args: ['crm', '--dry-run'] },
    { args: ['crm'], says: { what: 'cancel-replay', sink: 'crm' } },
  ],
  reconcile: [
    { args: ['--sink', 'drop'] },
    {
      args: ['--sink', 'drop', '--repair'],
      says: { what: 'replay', sink: 'drop', source: 'main', lead: '1' },
      before: async (install) =>
        attemptDue(await install.ledger(), 'drop', install.clock, (lead) =>
          lead === '1'
            ? { kind: 'delivered' }
            : { kind: 'unavailable', reason: 'It is down.', httpStatus: 503 },
        ),
    },
  ],
  pause: [{ args: ['crm', '--reason', 'moving'], says: { what: 'pause', sink: 'crm', reason: 'moving' } }],
  resume: [{ args: ['crm'], says: { what: 'resume', sink: 'crm' } }],
  forget: [
    {
      args: ['crm', '--yes'],
      says: { what: 'forget', sink: 'crm' },
      before: async (install) => {
        const ledger = await install.ledger();
        await ledger.declareSinks([{ name: 'drop', events: ['created'], backfill: true }]);
        install.configure({ sinks: { drop: { type: 'csv', directory: './drop' } } });
      },
    },
  ],
  erase: [
    { args: ['1', '--dry-run'] },
    { args: ['1'] }, // not confirmed
    { args: ['1', '--yes'], says: { what: 'erase', leads: 'main 1' } },
  ],
  'export-subject': [{ args: ['1'], says: { what: 'export-subject', leads: 1, rejected: 0 } }],
  moved: [{ args: ['main'], says: { what: 'moved', source: 'main' } }],
  backup: [{ args: ['--to', 'backups'], says: { what: 'backup', to: expect.stringMatching(/backups$/) } }],
  restore: [
    { args: ['a.backup'], before: makeBackup },
    {
      args: ['a.backup', '--yes', '--replace'],
      says: { what: 'restore', replace: true },
      before: makeBackup,
    },
  ],
  ledger: [
    {
      args: ['accept'],
      says: { what: 'ledger-accept' },
      before: async ({ folder }) => {
        writeFileSync(join(folder, 'data', 'audit.jsonl'), '');
        for (const end of ['', '-wal', '-shm'])
          rmSync(join(folder, 'data', `ledger.db${end}`), { force: true });
      },
    },
  ],
  recover: [{ args: [] }, { args: ['--yes'], says: { what: 'recover' } }],
  'support-bundle': [{ args: ['--output', 'bundle.tar.gz'] }],
  version: [{ args: [] }],
};

async function makeBackup(install: Install): Promise<void> {
  const to = join(install.folder, 'a');
  expect(await install.run(['backup', '--to', to])).toMatchObject({ code: 0 });
  rmSync(join(install.folder, 'data', 'audit.jsonl'));
}

/** An install of two leads, of which the sink crm refused one. Paths in `args` are taken in its folder. */
async function anInstall({ parts, before }: Case): Promise<Install> {
  const install = new Install((await parts?.()) ?? {});
  const ledger = await install.listed(1, 2);
  const refused = { kind: 'refused', reason: 'refused (422)', httpStatus: 422 } as const;
  await attemptDue(ledger, 'crm', install.clock, (lead) => (lead === '2' ? refused : { kind: 'delivered' }));
  await before?.(install);
  return install;
}

/** The arguments, with paths in the folder of the install. */
function argsIn({ folder }: Install, args: readonly string[]): string[] {
  const backups = existsSync(join(folder, 'a')) ? readdirSync(join(folder, 'a')) : [];
  return args.map((arg) => {
    if (arg === 'a.backup') return join(folder, 'a', backups[0] ?? '');
    return /^(?:out\/|backups$|bundle)/.test(arg) ? join(folder, arg) : arg;
  });
}

const auditOf = ({ folder }: Install) => join(folder, 'data', 'audit.jsonl');

function linesOf(install: Install): Record<string, unknown>[] {
  if (!existsSync(auditOf(install))) return [];
  return readFileSync(auditOf(install), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Every row of the ledger, apart from counters of the process that has it open, and every other file of the data directory. */
function contentOf({ folder }: Install): unknown {
  const data = join(folder, 'data');
  const files = readdirSync(data, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !/^(?:ledger\.db|audit\.jsonl|tokens$)|lock$/.test(path),
  );
  const db = new Database(join(data, 'ledger.db'), { readonly: true });
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[];
  const rows = tables.map((name) => [name, db.prepare(`SELECT * FROM "${name}"`).safeIntegers().all()]);
  db.close();
  return [files, rows];
}

async function runs(install: Install, name: string, { args, more, goesOn, says }: Case): Promise<void> {
  const words = [name, ...argsIn(install, args)];
  if (name === 'login') {
    const stdin = new PassThrough();
    const onStdout = async (address: string) => {
      const { headers } = await fetch(address.trim(), { redirect: 'manual' });
      stdin.write(`${headers.get('location')}\n`);
    };
    await install.run(words, { stdin, onStdout });
  } else if (goesOn) {
    const program = startLeadsync([...words, '-c', install.configFile]);
    onTestFinished(() => void program.kill('SIGKILL'));
    await until('its line is there', () => linesOf(install).some(({ what }) => what === says?.['what']));
  } else await install.run(words, more);
}

test('every command is here, so that none can act without a line', () => {
  const names = Object.values(COMMANDS).flatMap((group) => group.map(({ name }) => name));
  expect([...Object.keys(CASES), ...OUTSIDE].sort()).toEqual(names.sort());
});

describe.each(Object.keys(CASES))('leadsync %s', (name) => {
  test.each(CASES[name] ?? [])('$args', async (one) => {
    const install = await anInstall(one);
    const before = one.says ? undefined : contentOf(install);
    await runs(install, name, one);
    const lines = linesOf(install);
    if (one.says) {
      expect(lines).toContainEqual(
        expect.objectContaining({ ...one.says, who: userInfo().username, via: 'cli' }),
      );
      expect(lines).toHaveLength(1);
      expect(lines[0]).toHaveProperty('at');
    } else {
      expect(lines).toEqual([]);
      expect(contentOf(install)).toEqual(before);
    }
    expect(JSON.stringify(lines)).not.toMatch(/canary|example\.com|Ada/);
  });
});

test('the person is who called sudo, beside the user that the command runs as', async () => {
  const install = new Install();
  await install.listed(1);
  expect(await install.run(['pause', 'crm'], { env: { SUDO_USER: 'anna' } })).toMatchObject({ code: 0 });
  expect(linesOf(install)).toMatchObject([
    { who: 'anna', via: 'cli', user: userInfo().username, what: 'pause' },
  ]);
});

test('an action is not done if the audit log cannot be written, and says so', async () => {
  const install = new Install();
  const ledger = await install.listed(1);
  mkdirSync(auditOf(install));
  const { code, stderr } = await install.run(['pause', 'crm']);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('Nothing was done, because the audit log cannot be written (EISDIR).'),
  });
  expect(
    (await ledger.status()).sinks.find(({ sink }) => sink === 'crm')?.health.pausedSince,
  ).toBeUndefined();
});

test('an audit log never stands alone: without a ledger, a command leaves no sign of an earlier one', async () => {
  const install = new Install();
  mkdirSync(join(install.folder, 'data'));
  expect(await install.run(['test-sink', 'drop'])).toMatchObject({ code: 0 });
  expect(readdirSync(join(install.folder, 'data'))).toEqual([]);
});

test('a restore and an accepted ledger are recorded where nothing was before', async () => {
  const full = new Install();
  await (await full.listed(1)).close();
  const to = join(full.folder, 'backups');
  await full.run(['backup', '--to', to]);
  const empty = new Install();
  const restored = await empty.run(['restore', join(to, readdirSync(to)[0] ?? ''), '--yes']);
  expect(restored).toMatchObject({ code: 0 });
  expect(linesOf(empty).map(({ what }) => what)).toEqual(['backup', 'restore']);
  const fresh = new Install();
  expect(await fresh.run(['ledger', 'accept'])).toMatchObject({ code: 0 });
  expect(linesOf(fresh).map(({ what }) => what)).toEqual(['ledger-accept']);
});
