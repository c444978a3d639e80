import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_RETRY } from '../../../src/config/options/sink-options.ts';
import { judgeBy } from '../../../src/delivery/judge.ts';
import type { Ledger } from '../../../src/ledger/contract/ledger.ts';
import type { Machines } from '../../../src/ledger/contract/machines.ts';
import { DUTY_LEASE_MS } from '../../../src/ledger/rules/machines/lease-times.ts';
import { openPostgresLedger } from '../../../src/ledger-postgres/postgres-ledger.ts';
import { acceptNewLedger } from '../../../src/operations/opening/accept-ledger.ts';
import { FilePlace } from '../../../src/operations/opening/file-place.ts';
import { holdDataDir } from '../../../src/operations/opening/open-ledger.ts';
import { processesOf } from '../../../src/operations/opening/processes.ts';
import { ServerPlace } from '../../../src/operations/opening/server-place.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { runLeadsync } from '../../support/program/leadsync.ts';
import { Installation } from './copies.ts';

const parts = {
  clock: systemClock,
  random: () => 0.5,
  judge: judgeBy(
    () => DEFAULT_RETRY,
    () => 0.5,
  ),
};

const filePlace = ({ dataDir }: Installation) => new FilePlace(dataDir);
const serverPlace = ({ config, dataDir }: Installation) => {
  if (!config.ledgerServer) throw new Error('no server');
  return new ServerPlace(config.ledgerServer, dataDir);
};

/** Opens a ledger as a process that delivers with it does. */
async function opened(place: FilePlace | ServerPlace, create = true): Promise<Ledger> {
  const ledger = await place.open({ ...parts, create, ...(create && { holder: 'this-test' }) });
  onTestFinished(() => ledger.close());
  return ledger;
}

/** Returns the ids under which everything that is due is delivered next, and what becomes of the rest. */
async function owedBy(ledger: Ledger): Promise<unknown> {
  const names: Record<string, string[]> = {};
  const { sinks } = await ledger.status();
  for (const { sink } of sinks) {
    const { refs } = await ledger.claim({ sink, window: 1_000, max: 1, waitMs: 0, leaseMs: 60_000 });
    const begun = await Promise.all(refs.map((ref) => ledger.begin(ref, 60_000)));
    names[sink] = begun.flatMap((one) => one?.batch.deliveries.map(({ id }) => id) ?? []).sort();
  }
  return names;
}

test('the next run delivers from the copy what the old ledger owed, under the same ids', async () => {
  const installation = await Installation.eventful();
  await installation.copy('sqlite');
  const target = await opened(serverPlace(installation));
  const found = await target.status();
  const owed = await owedBy(target);
  await acceptNewLedger({ ...installation.config, ledgerServer: undefined }, parts);
  const source = await opened(filePlace(installation));
  const before = await source.status();
  expect(found.sinks.map(({ sink, pending, dead, delivered }) => [sink, pending, dead, delivered])).toEqual(
    before.sinks.map(({ sink, pending, dead, delivered }) => [sink, pending, dead, delivered]),
  );
  expect(owed).toEqual(await owedBy(source));
  expect(Object.values(owed as object).flat()).not.toEqual([]);
});

test('leadsync does not run on a ledger that was moved, until it is accepted, but shows what it has', async () => {
  const installation = await Installation.eventful();
  await installation.copy('sqlite');
  await expect(opened(filePlace(installation))).rejects.toMatchObject({
    code: 'moved',
    message: expect.stringContaining(`was moved to the schema ${installation.schema} of PostgreSQL at`),
  });
  await opened(filePlace(installation), false);
  await expect(installation.copy('sqlite')).rejects.toMatchObject({ code: 'taken' });
  const config = { ...installation.config, ledgerServer: undefined };
  expect(await acceptNewLedger(config, parts)).toMatchObject({ made: false, lifted: true });
  await opened(filePlace(installation));
});

test('a ledger on a server that was moved back does not run, and is not copied again', async () => {
  const installation = await Installation.eventful();
  await installation.copy('sqlite');
  installation.removeFile();
  await installation.copy('postgres');
  await expect(opened(serverPlace(installation))).rejects.toMatchObject({ code: 'moved' });
  installation.removeFile();
  await expect(installation.copy('postgres')).rejects.toMatchObject({ code: 'moved' });
  expect(await acceptNewLedger(installation.config, parts)).toMatchObject({ lifted: true });
  await opened(serverPlace(installation));
});

test('a half copied ledger is refused in either engine, and the copy goes on where it was', async () => {
  const installation = await Installation.eventful();
  for (const [from, place] of [
    ['sqlite', serverPlace(installation)],
    ['postgres', filePlace(installation)],
  ] as const) {
    if (from === 'postgres') installation.removeFile();
    const stop = new AbortController();
    const seen: string[] = [];
    const onProgress = (table: string) => {
      seen.push(table);
      if (table === '_deliveries') stop.abort(new Error('stopped'));
    };
    await expect(installation.copy(from, { signal: stop.signal, onProgress })).rejects.toThrow('stopped');
    await expect(opened(place)).rejects.toMatchObject({ code: 'unfinished' });
    const more: string[] = [];
    const result = await installation.copy(from, { onProgress: (table) => void more.push(table) });
    expect(result.isContinued).toBe(true);
    expect(more.filter((table) => seen.includes(table))).toEqual([]);
    await (await place.open({ ...parts, create: true })).close();
  }
});

test('refuses to continue a copy of another ledger, and a target with leads', async () => {
  const [one, other] = [await Installation.eventful(), await Installation.eventful()];
  const stop = new AbortController();
  const onProgress = () => stop.abort(new Error('stopped'));
  await expect(one.copy('sqlite', { signal: stop.signal, onProgress })).rejects.toThrow('stopped');
  const config = { ...other.config, ledgerServer: one.config.ledgerServer };
  Object.assign(other, { config });
  await expect(other.copy('sqlite')).rejects.toMatchObject({
    code: 'taken',
    message: expect.stringContaining('an unfinished copy of another ledger'),
  });
  await one.copy('sqlite');
  await expect(other.copy('sqlite')).rejects.toMatchObject({
    code: 'taken',
    message: expect.stringContaining('has leads of its own'),
  });
});

test('a copy that differs is not used, and the old ledger stays in use', async () => {
  const installation = await Installation.eventful();
  const onCompare = () =>
    installation.sql("UPDATE _leads SET hash = 'other' WHERE id = (SELECT max(id) FROM _leads)");
  await expect(installation.copy('sqlite', { onCompare })).rejects.toThrow(
    'differs from the ledger in the table _leads',
  );
  await expect(opened(serverPlace(installation))).rejects.toMatchObject({ code: 'unfinished' });
  await opened(filePlace(installation));
});

/** Shows on the server that a process of another machine works with the ledger there. */
async function works({ config, schema }: Installation, holder: string): Promise<Machines> {
  const url = String(config.ledgerServer?.url.reveal());
  const options = { ...parts, url, schema, connections: 2, applicationName: schema, create: true, holder };
  const ledger = await openPostgresLedger(options);
  onTestFinished(() => ledger.close());
  const machines = ledger.machines(DUTY_LEASE_MS);
  await machines.beat(
    { machine: 'other', role: 'run', sinks: [], folders: [], wants: [], reluctant: [] },
    () => [],
  );
  return machines;
}

test('refuses while leadsync, a worker or another machine works with either ledger', async () => {
  const installation = await Installation.eventful();
  const held = holdDataDir(installation.dataDir);
  await expect(installation.copy('sqlite')).rejects.toThrow('Another leadsync holds the data directory');
  held.release();
  const worker = await processesOf(installation.dataDir).join('worker');
  await expect(installation.copy('sqlite')).rejects.toThrow('A worker uses the data directory');
  worker.release();
  await installation.copy('sqlite');
  const other = await works(installation, 'other');
  installation.removeFile();
  await expect(installation.copy('postgres')).rejects.toMatchObject({
    code: 'held',
    message: expect.stringContaining('is to be copied, and others work on it: leadsync run on other, since '),
  });
  await other.leave();
  await installation.copy('postgres');
});

test('refuses to replace an empty ledger on the server while another machine works with it', async () => {
  const installation = await Installation.eventful();
  const other = await works(installation, 'other');
  await expect(installation.copy('sqlite')).rejects.toMatchObject({
    code: 'held',
    message: expect.stringContaining('is to be replaced by a copy'),
  });
  await other.leave();
  await installation.copy('sqlite');
});

test('a process that was killed on this data directory does not count', async () => {
  const installation = await Installation.eventful();
  await installation.copy('sqlite');
  await works(installation, 'killed');
  // The lock file of a process that no longer locks it.
  mkdirSync(join(installation.dataDir, 'processes'), { recursive: true });
  writeFileSync(join(installation.dataDir, 'processes', 'killed.lock'), '');
  installation.removeFile();
  await installation.copy('postgres');
});

test('a ledger on a server is marked before it is read', async () => {
  const installation = await Installation.eventful();
  await installation.copy('sqlite');
  installation.removeFile();
  const stop = new AbortController();
  const onProgress = () => stop.abort(new Error('stopped'));
  await expect(installation.copy('postgres', { signal: stop.signal, onProgress })).rejects.toThrow('stopped');
  await expect(opened(serverPlace(installation))).rejects.toMatchObject({ code: 'moved' });
  // Given up: the old ledger is used again, and what the unfinished copy has is known to be too little.
  expect(await acceptNewLedger(installation.config, parts)).toMatchObject({ lifted: true });
  await works(installation, 'other');
  await expect(installation.copy('postgres')).rejects.toMatchObject({ code: 'held' });
});

test('a dry run counts rows and changes nothing', async () => {
  const installation = await Installation.eventful();
  const result = await installation.copy('sqlite', { dryRun: true });
  expect(result.tables['_deliveries']).toBeGreaterThan(0);
  const { rows } = await installation.admin.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [
    installation.schema,
  ]);
  expect(rows).toEqual([]);
  await opened(filePlace(installation));
});

test('refuses a ledger of an older version', async () => {
  const installation = await Installation.eventful();
  await installation.copy('sqlite');
  await installation.admin.query(`UPDATE ${installation.schema}._ledger SET shape = shape - 1`);
  installation.removeFile();
  await expect(installation.copy('postgres')).rejects.toMatchObject({ code: 'older' });
  await installation.admin.query(`UPDATE ${installation.schema}._ledger SET shape = shape + 2`);
  await expect(installation.copy('postgres')).rejects.toMatchObject({ code: 'newer' });
});

const KILLS = ['copy-part@1', 'copy-part@6', 'copy-moved@1', 'copy-finished@1'];

test.each(KILLS)(
  'killed at %s, a copy in either direction is finished by the same command, and is whole',
  async (at) => {
    const installation = await Installation.eventful();
    const before = installation.contents();
    const configFile = join(installation.folder, 'leadsync.yaml');
    writeFileSync(
      configFile,
      `data_dir: ${installation.dataDir}
ledger: { url: '${installation.url}', schema: ${installation.schema} }
sources: { main: { base_url: 'http://127.0.0.1:9', client_id: id, client_secret: secret } }
sinks: { drop: { type: csv, directory: ./drop } }
admin: { listen: 'off' }
`,
    );
    const [place, passage] = at.split('@');
    for (const [from, to] of [
      ['sqlite', 'postgres'],
      ['postgres', 'sqlite'],
    ] as const) {
      if (from === 'postgres') installation.removeFile();
      const words = ['ledger', 'copy', '--from', from, '--to', to, '-c', configFile];
      const killed = await runLeadsync(words, { env: { LEADSYNC_FAILPOINTS: `${place}=kill@${passage}` } });
      expect(killed.code).not.toBe(0);
      const again = await runLeadsync(words);
      if (place === 'copy-finished') expect(again.stderr).toContain('has leads of its own');
      else expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('both are equal') });
    }
    const db = new Database(installation.file);
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = '_copying'").pluck().get()).toBe(0);
    db.close();
    const after = installation.contents();
    for (const name of ['_versions', '_leads', '_deliveries', '_attempts', 'polls', '_sinks', '_batches'])
      expect(after[name], name).toEqual(before[name]);
  },
);

test('tokens and the states of exports and alerts come back with a ledger that is copied from a server', async () => {
  const installation = await Installation.eventful();
  await installation.copy('sqlite');
  const stores = await serverPlace(installation).openStores({ clock: systemClock, rotates: false });
  const written = {
    tokens: ['main.json', '{"v":1,"sealed":"x"}\n'],
    exports: ['report.json', '{"runs":1}\n'],
    alerts: ['alerts.json', '{"open":[]}\n'],
  } as const;
  const kinds = ['tokens', 'exports', 'alerts'] as const;
  for (const kind of kinds) await stores[kind].write(written[kind][0], written[kind][1]);
  installation.removeFile();
  const { logins } = await installation.copy('postgres');
  expect(logins).toEqual({ sources: ['main'], left: [] });
  const files = await filePlace(installation).openStores({ clock: systemClock, rotates: false });
  for (const kind of kinds) {
    const [name, text] = written[kind];
    expect(await files[kind].read(name)).toBe(text);
    expect(await stores[kind].read(name)).toBeUndefined();
  }
  await stores.close();
  await files.close();
});

test('a token that data_dir has already is kept by a copy from a server, which sets the other one aside', async () => {
  const installation = await Installation.eventful();
  await installation.copy('sqlite');
  const stores = await serverPlace(installation).openStores({ clock: systemClock, rotates: false });
  await stores.tokens.write('main.json', '{"v":1,"sealed":"x"}\n');
  mkdirSync(join(installation.dataDir, 'tokens'), { recursive: true });
  writeFileSync(join(installation.dataDir, 'tokens', 'main.json'), '{"v":1,"sealed":"another"}\n');
  installation.removeFile();
  const { logins } = await installation.copy('postgres');
  expect(logins).toEqual({ sources: [], left: ['main'] });
  expect(await stores.tokens.read('main.json.left')).toBe('{"v":1,"sealed":"x"}\n');
  await stores.close();
});
