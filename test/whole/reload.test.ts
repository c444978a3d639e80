import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Daemon } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../support/scene/oracle.ts';
import { carriers, type Scene, SECRET } from '../support/scene/scene.ts';
import { freePort } from '../support/servers/server-process.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { until } from '../support/time/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: a configuration as it is written, whose shape is the test's business
type Written = any;

/** Rewrites the scene's configuration with a change. */
function rewrite(scene: Pick<Scene, 'configFile'>, change: (config: Written) => void): void {
  const config: Written = parse(readFileSync(scene.configFile, 'utf8'));
  change(config);
  writeFileSync(scene.configFile, stringify(config));
}

/** Sends SIGHUP and waits until the log shows the outcome. */
async function hangUp(daemon: Daemon): Promise<Record<string, unknown>> {
  const before = reloads(daemon).length;
  daemon.process.kill('SIGHUP');
  await until('the reload is told', () => reloads(daemon).length > before);
  return reloads(daemon).at(-1) as Record<string, unknown>;
}

function reloads(daemon: Daemon) {
  return daemon.log.filter(({ event }) => event === 'reloaded' || event === 'reload-failed');
}

async function aReceiver(): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  return receiver;
}

async function metric(daemon: Daemon, name: string): Promise<number> {
  const text = await (await fetch(`${daemon.adminUrl}/metrics`)).text();
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length),
  );
}

describe.each(carriers)('a reload (%s)', (carrier) => {
  test('moving a sink to another address while requests are running and leads arrive delivers every lead exactly once', async () => {
    const scene = await aScene(carrier, { stub: { leads: 5 }, sinks: { crm: { concurrency: 4 } } });
    const second = await aReceiver();
    const held: (() => void)[] = [];
    scene.receiver.answerAlways((_request, res) => void held.push(() => res.writeHead(204).end()));
    const daemon = await scene.start();
    await until('four requests are under way', () => held.length === 4);
    rewrite(scene, ({ sinks }) => {
      sinks.crm.url = second.url;
      sinks.crm.concurrency = 2;
    });
    expect(await hangUp(daemon)).toMatchObject({
      event: 'reloaded',
      generation: 2,
      changes: [expect.stringMatching(/^sink crm: concurrency, url, from its next attempt on/)],
    });
    scene.stub.addLeads(20);
    await until('the new address has what the old one does not', () => second.received.length === 21);
    expect(held).toHaveLength(4);
    for (const answer of held) answer();
    await until(
      'nothing is pending',
      async () => (await metric(daemon, 'leadsync_backlog_pending{sink="crm"}')) === 0,
    );
    const ids = [...scene.receiver.received, ...second.received].map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(25);
    expect(ids).toHaveLength(25);
  });

  test('renaming a sink while requests are running keeps each outcome and sends no lead again', async () => {
    const scene = await aScene(carrier, { stub: { leads: 5 }, sinks: { crm: { concurrency: 4 } } });
    const held: (() => void)[] = [];
    scene.receiver.answerAlways((_request, res) => void held.push(() => res.writeHead(204).end()));
    const daemon = await scene.start();
    await until('four requests are under way', () => held.length === 4);
    rewrite(scene, ({ sinks }) => {
      sinks.customers = { ...sinks.crm, formerly: 'crm' };
      delete sinks.crm;
    });
    expect(await hangUp(daemon)).toMatchObject({ event: 'reloaded', generation: 2 });
    scene.receiver.answerAlways(204);
    for (const answer of held) answer();
    await until(
      'nothing is pending',
      async () => (await metric(daemon, 'leadsync_backlog_pending{sink="customers"}')) === 0,
      30_000,
    );
    expect(daemon.log.filter(({ event }) => event === 'batch-stale')).toEqual([]);
    expect(scene.receiver.received).toHaveLength(5);
  });

  test('after removing a sink while requests are running, the failed deliveries stay pending until the sink is back', async () => {
    const scene = await aScene(carrier, { stub: { leads: 4 }, sinks: { crm: { concurrency: 4 } } });
    const held: ((status: number) => void)[] = [];
    scene.receiver.answerAlways((_request, res) => void held.push((status) => res.writeHead(status).end()));
    const daemon = await scene.start();
    await until('four requests are under way', () => held.length === 4);
    const whole = readFileSync(scene.configFile, 'utf8');
    rewrite(scene, ({ sinks }) => {
      delete sinks.crm;
    });
    expect(await hangUp(daemon)).toMatchObject({ event: 'reloaded', generation: 2 });
    // One delivery succeeds, so that the failures after it count.
    held[0]?.(204);
    const states = async () => {
      const { stdout } = await scene.run('deliveries', '--sink', 'crm', '--json');
      return (JSON.parse(stdout) as { deliveries: { state: string; reason: string | null }[] }).deliveries;
    };
    const having = async (count: number) =>
      (await states()).filter(({ state, reason }) => state === 'delivered' || reason !== null).length >=
      count;
    await until('that is known', () => having(1), 30_000);
    for (const answer of held.slice(1, 3)) answer(503);
    held[3]?.(204);
    await until('and so is what failed', () => having(4), 30_000);
    expect((await states()).map(({ state }) => state).toSorted()).toEqual([
      'delivered',
      'delivered',
      'pending',
      'pending',
    ]);
    scene.receiver.answerAlways(204);
    writeFileSync(scene.configFile, whole);
    await hangUp(daemon);
    await until('all have arrived', () => scene.complete(), 60_000);
  });

  test('a reload adds, removes and restores sinks and sources, and catches up on what was listed meanwhile', async () => {
    const scene = await aScene(carrier, {
      stub: { leads: 10 },
      services: { other: { leads: 5, seed: 2 } },
    });
    const { configFile } = scene;
    const whole = readFileSync(configFile, 'utf8');
    rewrite(scene, (config) => {
      config.sinks = { crm: config.sinks.crm };
      config.sources = { main: config.sources.main };
    });
    const daemon = await scene.start();
    await until('the webhook has the first', () => scene.receiver.received.length === 10);
    writeFileSync(configFile, whole);
    expect(await hangUp(daemon)).toMatchObject({
      changes: [
        'source other is new',
        'sink drop is new: 10 leads listed before are owed to it',
        'sink warehouse is new: 10 leads listed before are owed to it',
      ],
    });
    await until('all sinks have all leads', () => scene.complete(), 30_000);
    rewrite(scene, ({ sinks }) => {
      sinks.crm.enabled = false;
    });
    expect(await hangUp(daemon)).toMatchObject({
      changes: [expect.stringContaining('sink crm is disabled: it is owed nothing')],
    });
    scene.stub.addLeads(7);
    await until('the others have them', async () => (await scene.held()).warehouse.length === 22, 30_000);
    expect(scene.receiver.received).toHaveLength(15);
    writeFileSync(configFile, whole);
    expect(await hangUp(daemon)).toMatchObject({
      changes: ['sink crm is back: 7 leads listed in the meantime are owed to it'],
      generation: 4,
    });
    await until('the webhook has them too', () => scene.complete(), 30_000);
    expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  });
});

test('a failed reload says where and why, changes nothing, and shows in status and metrics until one succeeds', async () => {
  const scene = await aScene('in-process', { stub: { leads: 2 } });
  const daemon = await scene.start();
  const valid = readFileSync(scene.configFile, 'utf8');
  writeFileSync(scene.configFile, valid.replace(/( {4}secret: ).*/, '$1${NOT_SET}'));
  const line = await hangUp(daemon);
  expect(line).toMatchObject({ event: 'reload-failed', level: 'error', generation: 1 });
  expect(String(line['msg'])).toMatch(
    /leadsync\.yaml:\d+:\d+: sinks\.crm\.secret: the variable NOT_SET is not set/,
  );
  expect(await metric(daemon, 'leadsync_config_stale')).toBe(1);
  const { stdout } = await scene.run('status');
  expect(stdout).toContain('leadsync keeps an earlier configuration in force');
  expect(stdout).toContain('the variable NOT_SET is not set');
  scene.stub.addLeads(3);
  await until('leads go on arriving', () => scene.complete(), 30_000);
  writeFileSync(scene.configFile, valid);
  expect(await hangUp(daemon)).toMatchObject({ event: 'reloaded', generation: 1, changes: [] });
  expect(await metric(daemon, 'leadsync_config_stale')).toBe(0);
});

test('a new schedule decides when the next poll is due, from the last complete one on', async () => {
  const scene = await aScene('in-process', { stub: { leads: 2 } });
  const daemon = await scene.start();
  await until('leads arrive', () => scene.complete(), 30_000);
  rewrite(scene, ({ sources }) => {
    sources.main.poll.every = '1d';
  });
  expect(await hangUp(daemon)).toMatchObject({ event: 'reloaded' });
  const due = 'leadsync_poll_due_timestamp_seconds{source="main"}';
  const last = 'leadsync_last_successful_poll_timestamp_seconds{source="main"}';
  await until(
    'it is a day after the last poll',
    async () => Math.round(((await metric(daemon, due)) - (await metric(daemon, last))) / 3600) === 24,
  );
});

test('a reload from a named pipe is refused, and leads keep arriving', async () => {
  const scene = await aScene('in-process', { stub: { leads: 1 } });
  const daemon = await scene.start();
  await until('a lead has arrived', () => scene.receiver.received.length === 1);
  rmSync(scene.configFile);
  execFileSync('mkfifo', [scene.configFile]);
  expect(await hangUp(daemon)).toMatchObject({
    event: 'reload-failed',
    faults: [expect.stringContaining('is a named pipe or a device')],
  });
  scene.stub.addLeads(1);
  await until('the next one arrives', () => scene.receiver.received.length === 2);
});

test('a restart reports a former name that no sink had', async () => {
  const scene = await aScene('in-process', { stub: { leads: 1 } });
  const first = await scene.start();
  await until('a lead has arrived', () => scene.receiver.received.length === 1);
  await first.kill('SIGTERM');
  rewrite(scene, ({ sinks }) => {
    sinks.customers = { ...sinks.crm, formerly: 'crmm' };
    delete sinks.crm;
  });
  const second = await scene.start();
  const told = () => second.log.find(({ event }) => event === 'configured');
  await until('the start tells what has changed', () => told() !== undefined);
  expect(told()?.['changes']).toContainEqual(
    expect.stringMatching(/^sink customers is new: .*no sink named crmm .*did you mean "crm"\?$/),
  );
});

test('the reload command prints the changes and what needs a restart; with faults, it exits with 78 and changes nothing', async () => {
  const scene = await aScene('in-process');
  await scene.start();
  rewrite(scene, (config) => {
    config.log = { format: 'json', level: 'debug' };
    config.sinks.crm.timeout = '3s';
    config.queue = { ...config.queue, prefix: 'other' };
  });
  expect(await scene.run('reload')).toMatchObject({
    stdout:
      'sink crm: timeout, from its next attempt on\nlog.level\nA restart is needed to apply queue.prefix.\nGeneration 2 is in effect.\n',
    stderr: '',
    code: 0,
  });
  expect(await scene.run('reload', '--json')).toMatchObject({
    stdout: expect.stringContaining('"restart": ['),
    code: 0,
  });
  rewrite(scene, ({ sinks }) => {
    sinks.crm.url = 'nowhere';
  });
  const { stderr, code } = await scene.run('reload');
  expect(code).toBe(78);
  expect(stderr).toMatch(/leadsync\.yaml:\d+:\d+: sinks\.crm\.url/);
});

test('without a running leadsync, the reload command says that it could not reach one', async () => {
  const scene = await aScene('in-process');
  const { stderr, code } = await scene.run('reload');
  expect(code).toBe(69);
  expect(stderr).toContain('could not be reached');
});

test('removing and restoring a source during its poll starts the next poll after it', async () => {
  const scene = await aScene('in-process', {
    stub: { leads: 3 },
    services: { other: { leads: 2, seed: 2 } },
  });
  const whole = readFileSync(scene.configFile, 'utf8');
  scene.stub.misbehave({ listing: 'slow', times: 1 });
  const daemon = await scene.start();
  await until('the poll is under way', () => scene.stub.listingRequests === 1);
  rewrite(scene, ({ sources }) => delete sources.main);
  expect(await hangUp(daemon)).toMatchObject({
    changes: ['source main is gone: leadsync no longer polls it, and its 0 leads stay'],
  });
  expect((await scene.run('plan')).stdout).toContain('No source, sink or export would change.');
  writeFileSync(scene.configFile, whole);
  expect(await hangUp(daemon)).toMatchObject({
    changes: [expect.stringMatching(/^source main is (new|back)/)],
  });
  const ofMain = () =>
    daemon.log.filter(({ event, source }) => /^poll-f/.test(`${event}`) && source === 'main');
  await until('the first poll has ended', () =>
    ofMain().some(({ durationMs }) => Number(durationMs) > 1_900),
  );
  expect(ofMain()).toMatchObject([{ event: 'poll-finished', new: 3 }]);
  await until('all leads have arrived', () => scene.complete(), 30_000);
});

test('a reload corrects the address of a source that has never listed a lead', async () => {
  const scene = await aScene('in-process', { stub: { leads: 3 } });
  const whole = readFileSync(scene.configFile, 'utf8');
  const silent = await freePort();
  rewrite(scene, ({ sources }) => Object.assign(sources.main, { base_url: `http://127.0.0.1:${silent}` }));
  const daemon = await scene.start();
  await until('the poll has failed', () => daemon.log.some(({ event }) => event === 'poll-failed'));
  writeFileSync(scene.configFile, whole);
  await hangUp(daemon);
  await until('all leads have arrived', () => scene.complete(), 30_000);
});

test('with watch: true, leadsync reloads by itself, also when a link is swapped, as in a mounted ConfigMap', async () => {
  const scene = await aScene('in-process', { stub: { leads: 1 }, config: { watch: true } });
  const folder = dirname(scene.configFile);
  const text = readFileSync(scene.configFile, 'utf8');
  for (const name of ['one', 'two']) mkdirSync(join(folder, name));
  const moved = await aReceiver();
  writeFileSync(join(folder, 'one/leadsync.yaml'), text);
  writeFileSync(join(folder, 'two/leadsync.yaml'), text.replace(scene.receiver.url, moved.url));
  symlinkSync('one', join(folder, '..data'));
  renameSync(scene.configFile, join(folder, 'before.yaml'));
  symlinkSync('..data/leadsync.yaml', scene.configFile);
  const daemon = await scene.start();
  await until('the first address has a lead', () => scene.receiver.received.length === 1);
  symlinkSync('two', join(folder, '..next'));
  renameSync(join(folder, '..next'), join(folder, '..data'));
  await until('it was noticed', () => reloads(daemon).length === 1);
  expect(reloads(daemon)[0]).toMatchObject({
    trigger: 'watch',
    changes: [expect.stringMatching(/^sink crm: url, /)],
  });
  scene.stub.addLeads(1);
  await until('the second address has the next', () => moved.received.length === 1);
});

test('a worker reloads beside a run that does not deliver', async () => {
  const scene = await aScene('bullmq', { stub: { leads: 3 }, sinks: { crm: { secret: SECRET } } });
  const second = await aReceiver();
  const run = await scene.start({ args: ['run', '--no-deliver'] });
  const worker = await scene.start({ args: ['worker', '--listen', '127.0.0.1:0'] });
  await until('the first address has them', () => scene.receiver.received.length === 3);
  rewrite(scene, ({ sinks }) => {
    sinks.crm.url = second.url;
    sinks.later = { ...sinks.crm, url: second.url };
  });
  expect(await hangUp(worker)).toMatchObject({ changes: ['sink later is new', 'sink crm: url'] });
  expect(await hangUp(run)).toMatchObject({
    changes: [
      expect.stringMatching(/^sink crm: url, /),
      'sink later is new: 3 leads listed before are owed to it',
    ],
  });
  await until('the new sink has what was listed before it', () => second.received.length === 3);
  scene.stub.addLeads(2);
  await until('both sinks have the new leads', () => second.received.length === 7);
  expect(scene.receiver.received).toHaveLength(3);
});

test('a renamed sink gets its pending deliveries under the ids that they had', async () => {
  const scene = await aScene('in-process', { stub: { leads: 3 } });
  scene.receiver.answerAlways(503);
  const daemon = await scene.start();
  await until('it was tried', () => scene.receiver.received.length > 0);
  rewrite(scene, ({ sinks }) => {
    sinks.customers = { ...sinks.crm, formerly: 'crm', timeout: '20s' };
    delete sinks.crm;
  });
  expect((await scene.run('plan')).stdout).toBe(
    'sink customers was crm: its deliveries continue, with timeout from its next attempt on; still pending: 3 deliveries\n\nOptions that change:\n  sinks.customers.formerly: (not set) -> crm\n  sinks.customers.timeout: 15s -> 20s\n',
  );
  scene.receiver.answerAlways(204);
  expect(await hangUp(daemon)).toMatchObject({ generation: 2 });
  await scene.run('resume', 'customers');
  await until(
    'all are there',
    () => scene.receiver.received.filter(({ status }) => status === 204).length === 3,
  );
  const ids = scene.receiver.received.map(({ headers }) => String(headers['webhook-id']));
  expect(new Set(ids).size).toBe(3);
  expect(ids.every((id) => id.startsWith('crm:main:'))).toBe(true);
  scene.stub.addLeads(1);
  await until(
    'new ones come too',
    () => scene.receiver.received.filter(({ status }) => status === 204).length === 4,
  );
  expect((await scene.run('plan')).stdout).toContain('No source, sink or export would change.');
});

test('a rename to the name of a sink that was removed is refused, and the sink continues under its old name', async () => {
  const scene = await aScene('in-process', { stub: { leads: 3 } });
  const daemon = await scene.start();
  await until('crm has its leads', () => scene.receiver.received.length === 3);
  const rename = (from: string, to: string, formerly?: string) =>
    rewrite(scene, ({ sinks }) => {
      sinks[to] = { ...sinks[from], formerly, backfill: false };
      delete sinks[from];
    });
  rename('crm', 'hub');
  expect(await hangUp(daemon)).toMatchObject({ generation: 2 });
  rename('hub', 'crm', 'hub');
  expect((await scene.run('plan')).stdout).toContain('sink hub cannot be renamed to crm');
  const refused = await scene.run('reload');
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('The sink hub cannot be renamed to crm');
  scene.stub.addLeads(1);
  await until('hub gets the new lead', () => scene.receiver.received.length === 4);
  expect(String(scene.receiver.received[3]?.headers['webhook-id'])).toMatch(/^hub:/);
  expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0 });
  const again = await scene.run('run');
  expect(again.stderr).toContain('Choose another new name, or keep the name hub.');
  expect(again.code).not.toBe(0);
});

test("a removed sink's pending deliveries stay until the sink is forgotten", async () => {
  const scene = await aScene('in-process', { stub: { leads: 4 } });
  scene.receiver.answerAlways(503);
  const daemon = await scene.start();
  await until('it was tried', () => scene.receiver.received.length > 0);
  expect(await scene.run('forget', 'crm', '--yes')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Remove it first'),
  });
  rewrite(scene, ({ sinks }) => {
    delete sinks.crm;
  });
  expect((await scene.run('plan')).stdout).toContain(
    'sink crm is gone: 4 pending deliveries kept until it is back',
  );
  expect(await scene.run('forget', 'crm', '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('leadsync reload'),
  });
  await hangUp(daemon);
  expect((await scene.run('status')).stdout).toMatch(/crm .* orphaned/);
  expect(await scene.run('forget', 'crm', '--yes')).toMatchObject({
    code: 0,
    stdout: '4 deliveries of crm skipped.\n',
  });
  expect(await scene.run('forget', 'crm', '--yes')).toMatchObject({
    code: 0,
    stdout: '0 deliveries of crm skipped.\n',
  });
});

test('a reload that is in progress when leadsync is asked to stop does not keep it running', async () => {
  const scene = await aScene('bullmq', { stub: { leads: 5 } });
  const daemon = await scene.start();
  for (let n = 0; n < 3; n += 1) {
    rewrite(scene, ({ sinks }) => {
      sinks[`more${n}`] = { ...sinks.crm };
    });
    daemon.process.kill('SIGHUP');
  }
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});
