import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { aDeliveredScene, aScene } from '../support/a-scene.ts';
import type { CarrierName, Scene } from '../support/scene.ts';
import { until } from '../support/until.ts';

// With a new ledger every lead goes to every sink again: leadsync asks first wherever something shows that there was one.

const LEADS = 20;

const delivered = (carrier: CarrierName = 'in-process') => aDeliveredScene(carrier, LEADS);

const fileOf = (scene: Scene) => join(scene.dataDir, 'ledger.db');

function remove(scene: Scene, ...ends: string[]): void {
  for (const end of ends) rmSync(`${fileOf(scene)}${end}`, { force: true });
}

/** Changes the configuration's text. */
function configure(scene: Scene, change: (config: Record<string, Record<string, unknown>>) => void): void {
  const config = parse(readFileSync(scene.configFile, 'utf8'));
  change(config);
  writeFileSync(scene.configFile, stringify(config));
}

/** Expects leadsync to end before it polls or delivers anything, and to say what it found and both ways on. */
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
  ['removed with its log', (scene) => remove(scene, '', '-wal', '-shm')],
  ['removed while its log is left', (scene) => remove(scene, '')],
  ['cut to 0 bytes', (scene) => truncateSync(fileOf(scene), 0)],
  [
    'cut to 0 bytes, and its log removed',
    (scene) => {
      remove(scene, '-wal', '-shm');
      truncateSync(fileOf(scene), 0);
    },
  ],
];

test.each(losses)(
  'a ledger that was %s is not made anew unasked, and is not touched',
  async (_, lose) => {
    const scene = await delivered();
    lose(scene);
    const left = readdirSync(scene.dataDir).filter((name) => name.startsWith('ledger.db'));
    await expectQuestion(scene, /data_dir holds processes/);
    expect(readdirSync(scene.dataDir).filter((name) => name.startsWith('ledger.db'))).toEqual(left);
  },
  120_000,
);

test('a data directory that is empty, as one that is not mounted, is told by what the sinks hold', async () => {
  const scene = await delivered();
  rmSync(scene.dataDir, { recursive: true });
  await expectQuestion(
    scene,
    /sink drop holds lead \d+ of main in .*csv; sink warehouse holds lead \d+ of main/,
  );
});

test('and by Redis, where the sinks can tell nothing', async () => {
  const scene = await delivered('bullmq');
  rmSync(scene.dataDir, { recursive: true });
  configure(scene, ({ sinks }) => {
    delete sinks?.['drop'];
    delete sinks?.['warehouse'];
  });
  await expectQuestion(scene, /Redis holds the mark of ledger [0-9a-f]{16}/);
});

test('a sink that is away shows nothing, and does not keep leadsync from starting', async () => {
  const scene = await delivered();
  rmSync(scene.dataDir, { recursive: true });
  configure(scene, ({ sinks }) => {
    delete sinks?.['drop'];
    Object.assign(sinks?.['warehouse'] ?? {}, { url: 'postgresql://127.0.0.1:9/away' });
  });
  await scene.start();
  await until('every lead went out again', () => scene.receiver.received.length >= 2 * LEADS, 60_000);
});

test('a new ledger that is accepted is used from then on, unasked; what was left of the old one is set aside', async () => {
  const scene = await delivered();
  remove(scene, '');
  await expectQuestion(scene, /data_dir holds/);
  const accepted = await scene.run('ledger', 'accept');
  expect(accepted).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/ledger\.db\.left-.*-wal is what was left/),
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

test('`ledger.create` answers the question beforehand', async () => {
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

test('a really new installation is not asked, whatever was tried before its first start', async () => {
  const scene = await aScene('in-process', { stub: { leads: LEADS } });
  await scene.run('check');
  expect(await scene.run('test-sink', 'drop')).toMatchObject({ code: 0 });
  expect(existsSync(scene.dataDir)).toBe(true);
  expect(await scene.run('sync')).toMatchObject({ code: 0 });
});

test('a restored copy goes on, and says that deliveries may come again', async () => {
  const scene = await aScene('in-process', { stub: { leads: LEADS } });
  expect(await scene.run('sync')).toMatchObject({ code: 0 });
  const backup = `${scene.configFile}.backup`;
  copyFileSync(fileOf(scene), backup);
  remove(scene, '', '-wal', '-shm');
  copyFileSync(backup, fileOf(scene));
  const daemon = await scene.start();
  await until('it is said', () => daemon.log.some(({ event }) => event === 'ledger-restored'));
  expect(daemon.log.find(({ event }) => event === 'ledger-restored')).toMatchObject({ level: 'warn' });
  const { stdout } = await scene.run('status');
  expect(stdout).toMatch(/restored from a backup/);
});
