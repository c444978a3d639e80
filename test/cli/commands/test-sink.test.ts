import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { canarySecret, expectNoCanary } from '../../support/scene/canary.ts';
import { startWebhookReceiver } from '../../support/servers/webhook-receiver.ts';
import { Install } from '../an-install.ts';

const secret = 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0';

async function aReceiver() {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  return receiver;
}

describe('leadsync test-sink', () => {
  test('posts a signed event of a type of its own, and leaves the ledger alone', async () => {
    const receiver = await aReceiver();
    const install = new Install({ sinks: { crm: { type: 'webhook', url: receiver.url, secret } } });
    const { code, stdout, stderr } = await install.run(['test-sink', 'crm']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [request] = receiver.received;
    const id = request?.headers['webhook-id'];
    const { origin } = new URL(receiver.url);
    expect(stdout).toBe(`ok      sink crm: ${origin} accepted it as ${id} (HTTP 204). (0 ms)\n`);
    const body = request?.body.toString() ?? '';
    const signature = new Webhook(secret).sign(String(id), install.clock.now(), body);
    expect(request?.headers['webhook-signature']).toBe(signature);
    expect(JSON.parse(body)).toMatchObject({ type: 'lead.test', source: 'leadsync test', data: { id: 0 } });
    expect(existsSync(join(install.folder, 'data'))).toBe(false);
  });

  test('sends one event to a sink that speaks in batches, and to one that is disabled', async () => {
    const receiver = await aReceiver();
    const crm = { type: 'webhook', url: receiver.url, batch: { max: 100 }, enabled: false };
    const { code } = await new Install({ sinks: { crm } }).run(['test-sink', 'crm']);
    expect(code).toBe(0);
    expect(receiver.received.map(({ body }) => JSON.parse(body.toString()).type)).toEqual(['lead.test']);
  });

  test('leaves a file that no reader of CSV files takes, and names it', async () => {
    const install = new Install();
    const { stdout } = await install.run(['test-sink', 'drop']);
    const folder = join(install.folder, 'drop');
    expect(readdirSync(folder)).toEqual(['test-20261120T100000.000Z.csv.test']);
    expect(stdout).toContain(join(folder, 'test-20261120T100000.000Z.csv.test'));
    expect(readFileSync(join(folder, 'test-20261120T100000.000Z.csv.test'), 'utf8')).toMatch(
      /^id,.*\r\n0,"TEST of leadsync, not a lead",/,
    );
  });

  test('says of one that refuses that it was reached, and that leads may be taken all the same', async () => {
    const receiver = await aReceiver();
    receiver.answerAlways(422);
    const install = new Install({ sinks: { crm: { type: 'webhook', url: receiver.url } } });
    const { code, stdout } = await install.run(['test-sink', 'crm']);
    expect(code).toBe(69);
    expect(stdout).toMatch(/^FAILED {2}sink crm: .*answered and refused it \(HTTP 422\)/);
  });

  test('says of one that cannot be used why, with the next step and without a secret', async () => {
    const receiver = await aReceiver();
    receiver.answerAlways(({ headers }, res) => void res.writeHead(401).end(JSON.stringify(headers)));
    const headers = { authorization: canarySecret('header') };
    const crm = { type: 'webhook', url: `${receiver.url}?key=${canarySecret('query')}`, headers };
    const install = new Install({ sinks: { crm, away: { ...crm, url: 'http://127.0.0.1:9/' } } });
    const said = await install.run(['test-sink', 'crm', '--json']);
    expect(said.code).toBe(69);
    expect(JSON.parse(said.stdout)).toEqual({
      sink: 'crm',
      arrived: false,
      duration_ms: 0,
      what: expect.stringMatching(/HTTP 401\. Check that `headers` contains the credentials/),
    });
    expectNoCanary(said.stdout + said.stderr);
    expect((await install.run(['test-sink', 'away'])).stdout).toMatch(/^FAILED {2}sink away: .*9 /);
  });

  test('knows no sink of another name, and offers the nearest', async () => {
    const { code, stdout, stderr } = await new Install().run(['test-sink', 'cmr']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe('There is no sink "cmr": did you mean "crm"?\nThe sinks are: crm, drop.\n');
  });
});
