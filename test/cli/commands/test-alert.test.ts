import { describe, expect, onTestFinished, test } from 'vitest';
import { startSmtpServer } from '../../alerts/smtp-server.ts';
import { freePort } from '../../support/servers/server-process.ts';
import { startWebhookReceiver } from '../../support/servers/webhook-receiver.ts';
import { Install } from '../an-install.ts';

async function aMailServer() {
  const server = await startSmtpServer();
  onTestFinished(() => server.close());
  return server;
}

async function aReceiver() {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  return receiver;
}

const mail = { type: 'email', from: 'leadsync@example.com', to: ['ops@example.com'] };

describe('leadsync test-alert', () => {
  test('sends each destination one message that says that it is a test', async () => {
    const [server, receiver] = [await aMailServer(), await aReceiver()];
    const to = {
      oncall: { ...mail, server: `smtp://${server.host}` },
      ops: { type: 'slack', url: receiver.url },
    };
    const { code, stdout } = await new Install({ alerts: { to } }).run(['test-alert']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        'ok      oncall: A test message was sent by email and accepted.\nok      ops: A test message was sent by slack and accepted.\n',
    });
    expect(server.received[0]?.data).toContain('This is a test');
    expect(String(receiver.received[0]?.body)).toContain('This is a test');
  });

  test('sends only to the named destination, and exits with 69 if it is not accepted', async () => {
    const receiver = await aReceiver();
    const to = {
      gone: { type: 'slack', url: `http://127.0.0.1:${await freePort()}/canary` },
      ops: { type: 'slack', url: receiver.url },
    };
    const { code, stdout } = await new Install({ alerts: { to } }).run(['test-alert', 'gone']);
    expect(code).toBe(69);
    expect(stdout).toMatch(/^FAILED {2}gone: http:\/\/127\.0\.0\.1:\d+ refuses the connection/);
    expect(stdout).not.toContain('canary');
    expect(receiver.received).toEqual([]);
  });

  test('rejects an unknown destination with the known ones', async () => {
    const to = { ops: { type: 'slack', url: 'http://127.0.0.1:9/x' } };
    expect(await new Install({ alerts: { to } }).run(['test-alert', 'opps'])).toMatchObject({
      code: 2,
      stderr: 'There is no alert destination "opps": did you mean "ops"?\nThe alert destinations are: ops.\n',
    });
    expect(await new Install().run(['test-alert'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no alert destination'),
    });
  });
});

test('leadsync check checks each destination, and sends it nothing', async () => {
  const [server, receiver] = [await aMailServer(), await aReceiver()];
  const to = {
    oncall: { ...mail, server: `smtp://${server.host}` },
    ops: { type: 'slack', url: receiver.url },
    gone: { type: 'webhook', url: `http://127.0.0.1:${await freePort()}/x` },
  };
  const { stdout } = await new Install({ alerts: { to } }).run(['check']);
  expect(stdout.split('\n').filter((line) => line.includes(' alerts '))).toEqual([
    'ok      alerts oncall: The mail server accepts the connection and the login.',
    'ok      alerts ops: The server answers.',
    expect.stringMatching(/^FAILED {2}alerts gone: .*refuses the connection/),
  ]);
  expect(server.received).toEqual([]);
  expect(receiver.received.map(({ method }) => method)).toEqual(['HEAD']);
});

test('a command that only reads the ledger needs no secret of the alerts', async () => {
  const to = { ops: { type: 'slack', url: '${SLACK_URL}' }, oncall: { ...mail, server: { file: './none' } } };
  const install = new Install({ alerts: { to } });
  await install.listed(1);
  expect(await install.run(['status'])).toMatchObject({ code: 0, stderr: '' });
  expect((await install.run(['validate'])).stderr).toContain('SLACK_URL is not set');
});
