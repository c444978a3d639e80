import { expect, onTestFinished, test } from 'vitest';
import { startStub } from '../../stub/stub.ts';
import { Install } from '../an-install.ts';

const sinks = { drop: { type: 'csv', directory: './drop' } };

async function aService() {
  const stub = await startStub({ leads: 3 });
  onTestFinished(() => stub.close());
  const source = { base_url: stub.url, client_id: stub.clientId, client_secret: stub.clientSecret };
  return { source, host: new URL(stub.url).host };
}

test.each([
  ['host', { base_url: 'http://127.0.0.1:9' }],
  ['path', { leads_path: '/api/v2/leads' }],
])('a wrong %s can be corrected before the first lead came', async (_, wrong) => {
  const { source } = await aService();
  const install = new Install({ sources: { main: { ...source, ...wrong } }, sinks });
  expect((await install.run(['sync'])).code).not.toBe(0);
  install.configure({ sources: { main: source }, sinks });
  expect((await install.run(['plan'])).stdout).not.toContain('leadsync moved');
  expect((await install.run(['check'])).code).toBe(0);
  expect(await install.run(['sync'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('3 delivered'),
  });
});

test('check, plan and status say that a source names another address than its leads come from, and what to do', async () => {
  const { source, host } = await aService();
  const other = await aService();
  const install = new Install({ sources: { main: source }, sinks });
  expect((await install.run(['sync'])).code).toBe(0);
  install.configure({ sources: { main: other.source }, sinks });
  const check = await install.run(['check']);
  expect(check.code).toBe(69);
  expect(check.stdout).toContain(
    `FAILED  source main: In the ledger, the leads of source main come from ${host}/api/v1/leads, but the source's base_url is now ${other.host}/api/v1/leads.`,
  );
  const planned = `source main now points to ${other.host}/api/v1/leads, but its leads come from ${host}/api/v1/leads: it is not polled until`;
  const { stdout: plan } = await install.run(['plan']);
  expect(plan).toContain(planned);
  expect(plan).not.toContain('base_url');
  expect((await install.run(['sync'])).code).not.toBe(0);
  expect((await install.run(['plan'])).stdout).toContain(planned);
  const { stdout } = await install.run(['status']);
  expect(stdout).toMatch(/If the service has moved to this address, confirm it with `leadsync moved main.*`/);
  expect((await install.run(['moved', 'main'])).code).toBe(0);
  expect((await install.run(['plan'])).stdout).not.toContain('leadsync moved');
  expect((await install.run(['sync'])).code).toBe(0);
});
