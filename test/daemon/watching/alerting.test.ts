import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { CONDITIONS } from '../../../src/alerts/condition.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { Daemon } from '../../../src/daemon/daemon.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { startStub } from '../../stub/stub.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/servers/webhook-receiver.ts';
import { FastClock } from '../../support/time/fast-clock.ts';
import { until } from '../../support/time/until.ts';

const OFF = Object.fromEntries(CONDITIONS.map((condition) => [condition, 'off']));
/** So many times as fast: a quarter of an hour is less than 5 s. */
const TIMES = 200;

async function aReceiver(): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  return receiver;
}

/** A daemon in this process on fast time, whose sink and whose alerts go to receivers of the test's own. */
async function aScene(when: object) {
  const stub = await startStub({ leads: 5 });
  onTestFinished(() => stub.close());
  const [crm, ops] = [await aReceiver(), await aReceiver()];
  const file = join(tempDir(), 'leadsync.yaml');
  const written = {
    data_dir: './data',
    sources: {
      main: {
        base_url: stub.url,
        client_id: stub.clientId,
        client_secret: stub.clientSecret,
        poll: { every: '30s' },
      },
    },
    // Seconds in truth: on fast time a busy machine misses the usual deadline, and no answer would be known.
    sinks: { crm: { type: 'webhook', url: crm.url, timeout: '1h' } },
    // On fast time a busy machine looks late to everything else.
    alerts: { to: { ops: { type: 'slack', url: ops.url } }, when: { ...OFF, ...when } },
    admin: { listen: 'off' },
  };
  const write = (more: object = {}) => writeFileSync(file, stringify({ ...written, ...more }));
  write();
  const clock = new FastClock(TIMES);
  const lines: string[] = [];
  const start = async () => {
    const load = () => loadConfig(file, { sinkTypes, env: {} });
    const daemon = await Daemon.start({
      config: load(),
      load,
      role: { kind: 'run', deliver: true },
      admin: undefined,
      log: { write: (line) => void lines.push(line) },
      clock,
    });
    let stopped: Promise<boolean> | undefined;
    const stop = () => {
      // Minutes in truth: on fast time a busy machine misses a shorter one, and the data directory would still be held.
      stopped ??= daemon.stop('the test', 36_000_000);
      return stopped;
    };
    onTestFinished(async () => void (await stop()));
    return { daemon, stop };
  };
  const told = () => ops.received.map(({ body }) => String(JSON.parse(String(body)).text));
  const arrived = () => lines.filter((line) => line.includes('"alert-sent"')).length;
  return { stub, crm, start, told, arrived, write, folder: dirname(file) };
}

test('leadsync sends one alert for a sink that does not work, even after a restart, and one message when it works again', async () => {
  const { crm, start, told, arrived } = await aScene({ sink_held: '2m' });
  crm.answerAlways(503);
  const first = await start();
  // If it stopped before it had read the answer, it would send the alert again after the restart.
  await until('it is told', () => arrived() === 1);
  expect(told()[0]).toMatch(/^\*leadsync: sink held \(crm\)\*\ncrm is held: .*503/);
  expect(told()[0]).toContain('See docs/operating.md#sink-held');
  await first.stop();
  await start();
  crm.answerAlways(204);
  await until('it is told that it is over', () => told().length === 2);
  expect(told()[1]).toMatch(/over: sink held \(crm\)\*\nOver after \d+ (?:min|h|d)/i);
  // Time passes 200 times as fast here, so that on a busy machine a lease may end before the answer is read, and the lead goes once more.
  const taken = crm.received.filter(({ status }) => status === 204);
  expect(new Set(taken.map(({ headers }) => headers['webhook-id'])).size).toBe(5);
});

test('a reload changes the destination and the condition of alerts; the alert for rejected credentials has the next step', async () => {
  const { stub, start, told, write } = await aScene({});
  const source = { base_url: stub.url, client_id: stub.clientId, client_secret: 'canary-wrong' };
  const sources = { main: { ...source, poll: { every: '30s' } } };
  const later = await aReceiver();
  write({ sources });
  const { daemon } = await start();
  await until('a poll has failed', async () => (await daemon.status()).sources[0]?.lastPoll?.error);
  const to = { ops: { type: 'webhook', url: later.url } };
  write({ sources, alerts: { to, when: { ...OFF, source_refused: '5s' } } });
  expect(await daemon.reload('request')).toMatchObject({
    applied: true,
    changes: ['alerts.to', 'alerts.when'],
  });
  const { body } = await until('the alert is sent', () => later.received[0]);
  expect(JSON.parse(String(body)).notices).toMatchObject([
    {
      state: 'begun',
      condition: 'source_refused',
      about: 'main',
      next: expect.stringMatching(/client_secret/),
    },
  ]);
  expect(String(body)).not.toContain('canary');
  expect(told()).toEqual([]);
});

test('leadsync sends one alert for an export that fails, and one message when it succeeds again', async () => {
  const { start, told, write, folder } = await aScene({ export_fails: '2m' });
  const out = join(folder, 'out');
  writeFileSync(out, 'a file where the folder should be');
  write({ exports: { nightly: { type: 'directory', directory: out, every: '1d' } } });
  await start();
  await until('it is told', () => told().length === 1);
  expect(told()[0]).toMatch(
    /^\*leadsync: export fails \(nightly\)\*\nExport nightly failed.*, and it has never succeeded: /,
  );
  expect(told()[0]).toContain('`leadsync export --name nightly` runs it now.');
  expect(told()[0]).toContain('See docs/operating.md#export-fails');
  rmSync(out);
  mkdirSync(out);
  await until('it is told that it is over', () => told().length === 2);
  expect(told()[1]).toMatch(
    /over: export fails \(nightly\)\*\nOver after \d+ (?:min|h|d).*nightly succeeds again/i,
  );
});

test('a heartbeat is sent regularly while leadsync is ready', async () => {
  const heart = await aReceiver();
  const { start, write } = await aScene({});
  write({ alerts: { heartbeat: { url: heart.url, every: '10s' } } });
  await start();
  await until('three heartbeats have arrived', () => heart.received.length >= 3);
  expect(heart.received.every(({ body }) => body.length === 0)).toBe(true);
});
