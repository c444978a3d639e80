import { describe, expect, onTestFinished, test } from 'vitest';
import { startStub } from '../../stub/stub.ts';
import { startWebhookReceiver } from '../../support/servers/webhook-receiver.ts';
import { Install } from '../an-install.ts';

async function anInstall(more: Record<string, unknown> = {}) {
  const stub = await startStub({ leads: 2 });
  onTestFinished(() => stub.close());
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  const { url, clientId, clientSecret } = stub;
  const sources = { main: { base_url: url, client_id: clientId, client_secret: clientSecret } };
  const sinks = { crm: { type: 'webhook', url: receiver.url }, drop: { type: 'csv', directory: './drop' } };
  return { install: new Install({ sources, sinks, ...more }), receiver, stub };
}

describe('leadsync sync', () => {
  test('prints only the result if everything is delivered', async () => {
    const { install } = await anInstall();
    expect(await install.run(['sync'])).toEqual({
      code: 0,
      stdout: [
        'main: 2 listed, 2 new\n',
        'crm: 2 delivered (2 in total), 0 pending, 0 dead\n',
        'drop: 2 delivered (2 in total), 0 pending, 0 dead\n',
      ].join(''),
      stderr: '',
    });
  });

  test('prints what this run did, not what earlier ones did', async () => {
    const { install, stub } = await anInstall();
    await install.run(['sync']);
    expect((await install.run(['sync'])).stdout).toMatch(
      /^main: \d listed, 0 new\ncrm: 0 delivered \(2 in total\), 0 pending, 0 dead\n/,
    );
    stub.addLeads(1);
    stub.addRaw('{"id":7}');
    expect((await install.run(['sync'])).stdout).toMatch(
      /^main: 3 listed, 1 new, 1 rejected\ncrm: 1 delivered \(3 in total\), 0 pending, 0 dead\n/,
    );
    const { sources, sinks } = JSON.parse((await install.run(['sync', '--json'])).stdout);
    expect(sources[0].leads).toBe(3);
    expect(sinks[0]).toMatchObject({ sink: 'crm', delivered: 3, delivered_now: 0 });
  });

  test('prints for each sink with pending leads the reason, and where to look', async () => {
    const { install, receiver } = await anInstall();
    receiver.answerAlways(503);
    const { code, stdout, stderr } = await install.run(['sync']);
    expect(stdout).toContain('crm: 0 delivered (0 in total), 2 pending, 0 dead');
    expect(stderr).toMatch(/^crm: .*503.*$/m);
    expect(stderr).not.toMatch(/^drop: /m);
    expect(stderr).toContain('`leadsync status` shows the remaining deliveries, and what to do about them.');
    expect(code).toBe(1);
    expect((await install.run(['status'])).stdout).toMatch(/^crm +webhook +(retrying|held) /m);
  });

  test('leaves no listener behind, so that one process can run it any number of times', async () => {
    const { install } = await anInstall();
    const listeners = () => process.eventNames().map((name) => [name, process.listenerCount(name)]);
    const before = listeners();
    await install.run(['sync']);
    expect(listeners()).toEqual(before);
  });

  test('ends with messages for completed work', async () => {
    const { install } = await anInstall({ log: { level: 'debug', format: 'json' } });
    const { stderr } = await install.run(['sync']);
    expect(stderr).toContain('sync is done: stopping.');
    expect(stderr).not.toContain('work in progress');
  });
});
