import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { runLeadsync, startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { canaryLead, canarySecret, expectNoCanary } from '../support/scene/canary.ts';
import { requireDatabaseUrl, requireRedisUrl, uniqueName } from '../support/servers/services.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { until } from '../support/time/until.ts';
import { allOfRedis } from './all-of-redis.ts';

const LEADS = [1, 2, 3].map((id) => canaryLead(id));
/** An element that breaks the description: a text in place of the list of answers. */
const BROKEN =
  LEADS[0]?.replace(/"service_question_answers":\[.*?\]/s, '"service_question_answers":"k9canary7q"') ?? '';

describe.each(['in-process', 'bullmq'])('with the %s carrier', (carrier) => {
  test('no lead and no secret appears in the output of leadsync, whatever goes wrong', async () => {
    const scene = await unhappyScene(carrier === 'bullmq');
    const daemon = await startDaemon(scene.configFile, scene.adminUrl);
    onTestFinished(() => void daemon.process.kill('SIGKILL'));
    await until(
      'each kind of trouble was met',
      () => scene.troubles.every((event) => daemon.stderr.includes(`"${event}"`)),
      30_000,
    );
    const metrics = await (await fetch(`${daemon.adminUrl}/metrics`)).text();
    // Each poll counts rejected leads again, and there may have been several polls.
    expect(metrics).toMatch(/leadsync_leads_rejected_total\{source="main"\} [1-9]/);
    expectNoCanary(metrics, '/metrics');
    expectNoCanary(await (await fetch(`${daemon.adminUrl}/readyz`)).text(), '/readyz');
    for (const command of [
      'status',
      'status --json',
      'deliveries',
      'deliveries --json',
      'rejected --state any',
      'rejected --state any --json',
      'top --once',
      'test-sink refusing',
      'test-sink database --json',
      'trace 1',
      'trace 2 --json',
      'check',
      'validate',
      'config show',
      'config show --json',
    ]) {
      const { stdout, stderr } = await runLeadsync([...command.split(' '), '-c', scene.configFile]);
      expectNoCanary(stdout + stderr, `leadsync ${command}`);
    }
    if (carrier === 'bullmq') expectNoCanary(await allOfRedis(requireRedisUrl(), scene.prefix), 'Redis');
    await expectCleanBundle(scene.configFile, daemon.stderr);
    await daemon.kill();
    expectNoCanary(daemon.stdout, 'standard output');
    expectNoCanary(daemon.stderr, 'standard error');
  });
});

/** Checks the support bundle, which contains the log of the running leadsync. */
async function expectCleanBundle(configFile: string, log: string): Promise<void> {
  const folder = tempDir();
  const [output, logFile] = [join(folder, 'bundle.tar.gz'), join(folder, 'log')];
  writeFileSync(logFile, log);
  const args = ['support-bundle', '-c', configFile, '--output', output, '--log', logFile];
  const { stdout, stderr, code } = await runLeadsync(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).not.toContain('LEFT OUT');
  expectNoCanary(stdout, 'leadsync support-bundle');
  expectNoCanary(gunzipSync(readFileSync(output)).toString(), 'the support bundle');
}

/** Opens a scene whose leads are full of canaries, one of them broken, with sinks that refuse, fail and echo what they were sent. */
async function unhappyScene(redis: boolean) {
  const stub = await startStub({ clientSecret: canarySecret('client') });
  for (const lead of [...LEADS, BROKEN]) stub.addRaw(lead);
  const [refusing, failing] = [await startWebhookReceiver(), await startWebhookReceiver()];
  echo(refusing, 422);
  echo(failing, 500);
  onTestFinished(async () => {
    for (const server of [stub, refusing, failing]) await server.close();
  });
  const prefix = uniqueName('canary');
  const database = new URL(requireDatabaseUrl());
  database.username = 'nobody_of_that_name';
  database.password = canarySecret('database');
  const configured = await writeConfig(tempDir(), {
    log: { format: 'json', level: 'trace' },
    ledger: { create: 'always' }, // otherwise it waits for the database, which refuses every login
    sources: {
      main: {
        base_url: stub.url,
        client_id: stub.clientId,
        client_secret: stub.clientSecret,
        poll: { every: '1s' },
      },
    },
    sinks: {
      refusing: {
        type: 'webhook',
        url: `${refusing.url}?key=${canarySecret('query')}`,
        headers: { 'x-key': canarySecret('header') },
      },
      failing: { type: 'webhook', url: failing.url, retry: { schedule: ['100ms'] } },
      database: { type: 'postgres', url: database.href, schema: uniqueName('canary') },
      unwritable: { type: 'csv', directory: '/proc/leadsync', batch: { wait: '0s' } },
    },
    ...(redis ? { queue: { redis_url: requireRedisUrl(), prefix } } : {}),
  });
  return {
    ...configured,
    prefix,
    troubles: ['delivery-dead', 'sink-held', 'leads-rejected', 'check-failed', 'batch-settled'],
  };
}

function echo(receiver: WebhookReceiver, status: number): void {
  receiver.answerAlways(
    ({ body }, res) => void res.writeHead(status, { 'content-type': 'application/json' }).end(body),
  );
}
