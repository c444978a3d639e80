import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { startLeadsync } from '../../support/program/leadsync.ts';
import { aDeliveredScene, aScene } from '../../support/scene/a-scene.ts';
import type { CarrierName, Scene } from '../../support/scene/scene.ts';
import { freePort } from '../../support/servers/server-process.ts';
import { requireDatabaseUrl } from '../../support/servers/services.ts';
import { until } from '../../support/time/until.ts';

// With a new ledger, every lead goes to every sink again. leadsync therefore asks first if anything shows that a ledger existed.

const LEADS = 20;

const delivered = (carrier: CarrierName = 'in-process') => aDeliveredScene(carrier, LEADS);

const fileOf = (scene: Scene) => join(scene.dataDir, 'ledger.db');

function remove(scene: Scene, ...ends: string[]): void {
  for (const end of ends) rmSync(`${fileOf(scene)}${end}`, { force: true });
}

/** Changes the configuration file. */
function configure(scene: Scene, change: (config: Record<string, Record<string, unknown>>) => void): void {
  const config = parse(readFileSync(scene.configFile, 'utf8'));
  change(config);
  writeFileSync(scene.configFile, stringify(config));
}

/** Expects leadsync to exit before it polls or delivers anything, naming what it found and both ways to continue. */
async function expectQuestion(scene: Scene, found: RegExp): Promise<void> {
  const before = [scene.receiver.received.length, scene.stub.listingRequests];
  for (const command of ['run', 'sync']) {
    const { code, stderr } = await scene.run(command);
    expect({ code, stderr }).toEqual({ code: 78, stderr: expect.stringMatching(found) });
    expect(stderr).toContain(scene.dataDir);
    expect(stderr).toMatch(/restore it from a backup/);
    expect(stderr).toContain('leadsync ledger accept');
  }
  expect([scene.receiver.received.length, scene.stub.listingRequests]).toEqual(before);
}

const losses: readonly [string, (scene: Scene) => void][] = [
  ['removed with its write-ahead log', (scene) => remove(scene, '', '-wal', '-shm')],
  ['removed without its write-ahead log', (scene) => remove(scene, '')],
  ['cut to 0 bytes', (scene) => truncateSync(fileOf(scene), 0)],
  [
    'cut to 0 bytes, with its write-ahead log removed',
    (scene) => {
      remove(scene, '-wal', '-shm');
      truncateSync(fileOf(scene), 0);
    },
  ],
  [
    'cut to 1 byte, with its write-ahead log removed',
    (scene) => {
      remove(scene, '-wal', '-shm');
      truncateSync(fileOf(scene), 1);
    },
  ],
  ['separated from the write-ahead log that contained everything', onlyTheFirstPage],
  [
    'separated from that log and given an unreadable one',
    (scene) => {
      onlyTheFirstPage(scene);
      writeFileSync(`${fileOf(scene)}-wal`, Buffer.alloc(8_192, 0x5a));
      writeFileSync(`${fileOf(scene)}-shm`, '');
    },
  ],
];

/** Leaves what the ledger file contains until SQLite copies the write-ahead log into it. */
function onlyTheFirstPage(scene: Scene): void {
  remove(scene, '', '-wal', '-shm');
  const db = new Database(fileOf(scene));
  db.pragma('journal_mode = WAL');
  db.close();
}

test.each(losses)(
  'leadsync asks before it replaces a ledger that was %s, and does not touch the file',
  async (_, lose) => {
    const scene = await delivered();
    lose(scene);
    const left = readdirSync(scene.dataDir).filter((name) => name.startsWith('ledger.db'));
    await expectQuestion(scene, /data_dir holds processes/);
    expect(readdirSync(scene.dataDir).filter((name) => name.startsWith('ledger.db'))).toEqual(left);
  },
);

test('leadsync recognises an empty data directory, such as one that is not mounted, by what the sinks hold', async () => {
  const scene = await delivered();
  rmSync(scene.dataDir, { recursive: true });
  await expectQuestion(
    scene,
    /sink drop holds lead \d+ of main in .*csv; sink warehouse holds lead \d+ of main/,
  );
});

test('if the sinks cannot tell, leadsync recognises it by what Redis holds', async () => {
  const scene = await delivered('bullmq');
  rmSync(scene.dataDir, { recursive: true });
  configure(scene, ({ sinks }) => {
    delete sinks?.['drop'];
    delete sinks?.['warehouse'];
  });
  await expectQuestion(scene, /Redis holds the marker of ledger [0-9a-f]{16}/);
});

/** Configures PostgreSQL at an address where no server answers until `appear` is called. */
async function postgresLater(scene: Scene) {
  const url = new URL(requireDatabaseUrl());
  const to = { host: url.hostname, port: Number(url.port) };
  url.host = `127.0.0.1:${await freePort()}`;
  configure(scene, ({ sinks }) => {
    Object.assign(sinks?.['warehouse'] ?? {}, { url: url.href });
  });
  return {
    appear: async () => {
      const server = createServer((socket) => {
        const through = connect(to);
        for (const [one, other] of [
          [socket, through],
          [through, socket],
        ] as const)
          one.on('error', () => other.destroy()).pipe(other);
      });
      onTestFinished(() => void server.close());
      await new Promise<void>((listening) => server.listen(Number(url.port), '127.0.0.1', listening));
    },
  };
}

/** Starts `leadsync run` and waits until the log says that it is waiting. */
async function waiting(scene: Scene) {
  const daemon = startLeadsync(['run', '-c', scene.configFile]);
  onTestFinished(() => void daemon.process.kill('SIGKILL'));
  const line = () => daemon.log.find(({ event }) => event === 'start-waiting');
  await until('leadsync says that it waits', () => line() !== undefined);
  return { daemon, line: line() };
}

test('leadsync notices an unmounted data directory once PostgreSQL, also down, is back', async () => {
  const scene = await delivered();
  rmSync(scene.dataDir, { recursive: true });
  configure(scene, ({ sinks }) => {
    delete sinks?.['drop'];
  });
  const postgres = await postgresLater(scene);
  const { daemon, line } = await waiting(scene);
  expect(line).toMatchObject({
    level: 'warn',
    reasons: [expect.stringMatching(/^sink warehouse: .*ECONNREFUSED/)],
  });
  expect((await fetch(`${scene.adminUrl}/livez`)).status).toBe(200);
  const ready = await fetch(`${scene.adminUrl}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toEqual({
    ready: false,
    reasons: [expect.stringContaining('sink warehouse')],
  });
  await postgres.appear();
  expect((await daemon.exited).code).toBe(78);
  expect(daemon.stderr).toMatch(/sink warehouse holds lead \d+ of main/);
  expect(scene.receiver.received).toHaveLength(LEADS);
});

test('a first start waits for PostgreSQL and then continues by itself', async () => {
  const scene = await aScene('in-process', { stub: { leads: LEADS } });
  const postgres = await postgresLater(scene);
  const { daemon } = await waiting(scene);
  expect(scene.stub.listingRequests).toBe(0);
  await postgres.appear();
  await until('every lead is everywhere', () => scene.complete(), 60_000);
  expect((await daemon.kill()).code).toBe(0);
});

test('commands recognise a leadsync that waits to start', async () => {
  const scene = await aScene('bullmq', { redisUrl: `redis://127.0.0.1:${await freePort()}` });
  const { daemon } = await waiting(scene);
  expect(await scene.run('healthcheck')).toMatchObject({ code: 0, stderr: '' });
  expect(await scene.run('reload')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^leadsync is still waiting to start/),
  });
  expect((await daemon.kill()).code).toBe(0);
  expect(existsSync(join(scene.dataDir, 'admin.json'))).toBe(false);
});

test('a stop ends the wait immediately and creates no ledger', async () => {
  const scene = await aScene('in-process', { stub: { leads: LEADS } });
  await postgresLater(scene);
  const { daemon } = await waiting(scene);
  expect((await daemon.kill()).code).toBe(0);
  expect(existsSync(fileOf(scene))).toBe(false);
});

test('sync waits briefly, names what it could not query, and creates no ledger', async () => {
  const scene = await aScene('bullmq', { redisUrl: `redis://127.0.0.1:${await freePort()}` });
  const { code, stderr } = await scene.run('sync');
  expect({ code, stderr }).toEqual({ code: 69, stderr: expect.stringMatching(/Redis: .*ECONNREFUSED/) });
  expect(stderr).toContain('leadsync ledger accept');
  expect(existsSync(fileOf(scene))).toBe(false);
  expect(await scene.run('ledger', 'accept')).toMatchObject({ code: 0 });
  const daemon = startLeadsync(['run', '-c', scene.configFile]);
  onTestFinished(() => void daemon.process.kill('SIGKILL'));
  await until('it polls', () => scene.stub.listingRequests > 0);
});

test('leadsync also queries a disabled sink, but does not wait for one that is down', async () => {
  const scene = await delivered();
  rmSync(scene.dataDir, { recursive: true });
  configure(scene, ({ sinks }) => {
    delete sinks?.['drop'];
    Object.assign(sinks?.['warehouse'] ?? {}, { enabled: false });
  });
  await expectQuestion(scene, /sink warehouse holds lead \d+ of main/);
  await postgresLater(scene);
  expect(await scene.run('sync')).toMatchObject({ code: 0 });
});

test('an accepted new ledger is used without asking again; the remains of the old one are set aside', async () => {
  const scene = await delivered();
  remove(scene, '');
  await expectQuestion(scene, /data_dir holds/);
  const accepted = await scene.run('ledger', 'accept');
  expect(accepted).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/ledger\.db\.left-.*-wal holds what is left/),
  });
  expect(await scene.run('ledger', 'accept')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('already'),
  });
  const daemon = await scene.start();
  await until('every lead went out again', () => scene.receiver.received.length >= 2 * LEADS, 60_000);
  await daemon.kill();
  const again = await scene.start();
  expect(again.log).not.toContainEqual(expect.objectContaining({ event: 'ledger-restored' }));
});

test('`ledger.create` answers the question in advance', async () => {
  const scene = await aScene('in-process', {
    stub: { leads: LEADS },
    config: { ledger: { create: 'never' } },
  });
  expect(await scene.run('sync')).toMatchObject({
    code: 78,
    stderr: expect.stringContaining('`ledger.create` is never'),
  });
  expect(await scene.run('ledger', 'accept')).toMatchObject({ code: 0 });
  expect(await scene.run('sync')).toMatchObject({ code: 0 });
  remove(scene, '', '-wal', '-shm');
  configure(scene, (config) => {
    config['ledger'] = { create: 'always' };
  });
  expect(await scene.run('sync')).toMatchObject({ code: 0 });
  expect(scene.receiver.received).toHaveLength(2 * LEADS);
});

test('a new installation is not asked, whatever commands ran before its first start', async () => {
  const scene = await aScene('in-process', { stub: { leads: LEADS } });
  await scene.run('check');
  expect(await scene.run('test-sink', 'drop')).toMatchObject({ code: 0 });
  expect(existsSync(scene.dataDir)).toBe(true);
  expect(await scene.run('sync')).toMatchObject({ code: 0 });
});

test('a first start that was killed before its first commit is not asked either', async () => {
  const scene = await aScene('in-process', { stub: { leads: LEADS } });
  mkdirSync(scene.dataDir);
  onlyTheFirstPage(scene);
  writeFileSync(`${fileOf(scene)}-wal`, '');
  expect(await scene.run('sync')).toMatchObject({ code: 0 });
});

const restores: readonly (readonly [string, (scene: Scene) => void])[] = [
  ['put in place after the ledger was removed', (scene) => remove(scene, '', '-wal', '-shm')],
  ['written over the ledger (cp)', () => undefined],
];

test.each(restores)(
  'leadsync uses an older copy %s and says that deliveries may come again',
  async (_, prepare) => {
    const scene = await aScene('in-process', { stub: { leads: LEADS } });
    expect(await scene.run('sync')).toMatchObject({ code: 0 });
    const backup = `${scene.configFile}.backup`;
    copyFileSync(fileOf(scene), backup);
    scene.stub.addLeads(3);
    expect(await scene.run('sync')).toMatchObject({ code: 0 });
    prepare(scene);
    copyFileSync(backup, fileOf(scene));
    const daemon = await scene.start();
    await until('leadsync reports the restore', () =>
      daemon.log.some(({ event }) => event === 'ledger-restored'),
    );
    expect(daemon.log.find(({ event }) => event === 'ledger-restored')).toMatchObject({ level: 'warn' });
    expect((await scene.run('status')).stdout).toMatch(/restored from a backup/);
    await until('what came since is delivered again', () => scene.receiver.received.length >= LEADS + 6);
    await daemon.kill();
    const again = await scene.start();
    expect(again.log).not.toContainEqual(expect.objectContaining({ event: 'ledger-restored' }));
  },
);
