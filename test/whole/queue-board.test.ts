import { readFileSync, writeFileSync } from 'node:fs';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { runLeadsync, startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { openPage, startBrowser } from '../support/servers/browser.ts';
import { requireRedisUrl, uniqueName } from '../support/servers/services.ts';
import { startWebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { until } from '../support/time/until.ts';

/** Starts a leadsync whose queue holds leads that the receiver does not answer. */
async function aDaemon(token?: string) {
  const [stub, crm] = [await startStub({ leads: 3 }), await startWebhookReceiver()];
  crm.answerAlways(() => undefined);
  onTestFinished(async () => {
    await stub.close();
    await crm.close();
  });
  const { url: base_url, clientId: client_id, clientSecret: client_secret } = stub;
  const prefix = uniqueName('board');
  const { configFile, adminUrl } = await writeConfig(tempDir(), {
    sources: { main: { base_url, client_id, client_secret } },
    sinks: { crm: { type: 'webhook', url: crm.url } },
    queue: { redis_url: requireRedisUrl(), prefix, board: true },
    stop: { grace: '1s' },
  });
  if (token !== undefined) {
    const yaml = readFileSync(configFile, 'utf8');
    writeFileSync(
      configFile,
      yaml.replace(/listen: .*/, (line) => `${line}\n  token: ${token}`),
    );
  }
  const daemon = await startDaemon(configFile, adminUrl);
  onTestFinished(async () => void (await daemon.kill('SIGKILL')));
  await until('attempts are under way', () => crm.received.length === 3);
  return { adminUrl, crm, prefix };
}

test('Bull Board shows the queues without personal data and changes nothing', async () => {
  const { adminUrl, crm, prefix } = await aDaemon();
  const queues = await fetch(`${adminUrl}/queues/api/queues?activeQueue=crm&status=active`);
  const text = await queues.text();
  expect(JSON.parse(text).queues).toMatchObject([{ name: 'crm', readOnlyMode: true, counts: { active: 3 } }]);
  const leads = crm.received.map(({ body }) => JSON.parse(String(body)));
  for (const { client_email, client_phone_number } of leads) {
    expect(text).not.toContain(client_email);
    expect(text).not.toContain(client_phone_number);
  }
  const data = JSON.parse(text).queues[0].jobs.map((job: { data: object }) => Object.keys(job.data).sort());
  expect(data).toEqual(Array(3).fill(['batch', 'lease']));
  const statuses = ['PUT', 'POST', 'DELETE', 'PATCH'].map(
    async (method) => (await fetch(`${adminUrl}/queues/api/queues/crm/pause`, { method })).status,
  );
  expect(await Promise.all(statuses)).toEqual([405, 405, 405, 405]);
  const redis = new Redis(requireRedisUrl());
  onTestFinished(() => void redis.disconnect());
  const [key = ''] = await redis.keys(`{${prefix}:*}:crm:meta`);
  const queue = new Queue('crm', { connection: redis, prefix: key.replace(/:crm:meta$/, '') });
  expect(await queue.isPaused()).toBe(false);
});

test('Bull Board works in a browser and requests nothing from other servers', async () => {
  const { adminUrl } = await aDaemon();
  const browser = await startBrowser();
  onTestFinished(() => browser.close());
  const page = await openPage(browser);
  const [asked, errors]: [string[], string[]] = [[], []];
  page.on('request', (request) => void asked.push(new URL(request.url()).origin));
  page.on('console', (message) => void (message.type() === 'error' && errors.push(message.text())));
  page.on('pageerror', (error) => void errors.push(String(error)));
  await page.goto(`${adminUrl}/queues`);
  await page.getByText('crm').first().waitFor();
  expect([...new Set(asked)]).toEqual([adminUrl]);
  expect(errors).toEqual([]);
  if (process.env['SCREENSHOTS']) await page.screenshot({ path: `${process.env['SCREENSHOTS']}/queues.png` });
});

test('an unknown host name gets no Bull Board, nor does a path that only begins like its path', async () => {
  const { adminUrl } = await aDaemon();
  const { port } = new URL(adminUrl);
  const { request } = await import('node:http');
  const status = await new Promise((resolve) => {
    const headers = { host: 'evil.example' };
    request({ port, path: '/queues', headers }, (answer) => resolve(answer.resume().statusCode)).end();
  });
  expect(status).toBe(421);
  expect((await fetch(`${adminUrl}/queuesandmore`)).status).toBe(404);
});

test('a request without the token gets no Bull Board', async () => {
  const token = 'a-token-that-only-tests-know';
  const { adminUrl } = await aDaemon(token);
  for (const path of ['/queues', '/queues/api/queues?activeQueue=crm&status=active']) {
    const stranger = await fetch(adminUrl + path, { redirect: 'manual' });
    expect([302, 303, 401]).toContain(stranger.status);
    expect(await stranger.text()).not.toContain('crm');
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(adminUrl + path, { headers })).status).toBe(200);
  }
});

test('without Redis there is no Bull Board, and the configuration check says so', async () => {
  const { configFile } = await writeConfig(tempDir(), {
    sources: { main: { base_url: 'http://127.0.0.1:9', client_id: 'a', client_secret: 'b' } },
    queue: { board: true },
  });
  const { code, stderr } = await runLeadsync(['validate', '-c', configFile]);
  expect(code).toBe(78);
  expect(stderr).toMatch(
    /:\d+:\d+: queue\.board: there is no queue to show without queue\.redis_url or queue\.redis; set one of them/,
  );
});
