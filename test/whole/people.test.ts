import { expect, onTestFinished, test } from 'vitest';
import { startMailServer } from '../sinks/email/mail-server.ts';
import { type SlackStub, startSlackStub, TOKEN } from '../sinks/slack/slack-stub.ts';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { runLeadsync, startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';

/** A service, and leadsync with these sinks; everything ends with the test. */
async function aHouse(sinks: Readonly<Record<string, unknown>>) {
  const stub = await startStub();
  onTestFinished(() => stub.close());
  const source = {
    base_url: stub.url,
    client_id: stub.clientId,
    client_secret: stub.clientSecret,
    poll: { every: '1s' },
  };
  const { configFile, adminUrl } = await writeConfig(tempDir(), {
    sources: { main: source },
    lookups: { channels: { plumbing: 'C0PLUMB', heating: 'C0HEAT' } },
    sinks,
  });
  const start = async () => {
    const daemon = await startDaemon(configFile, adminUrl);
    onTestFinished(async () => void (await daemon.kill('SIGKILL')));
    return daemon;
  };
  const run = (...args: string[]) => runLeadsync([...args, '-c', configFile]);
  const pending = async () => {
    const { stdout } = await run('status', '--json');
    const status = JSON.parse(stdout) as { sinks: { pending: number }[] };
    return status.sinks.reduce((sum, sink) => sum + sink.pending, 0);
  };
  return { stub, start, run, pending };
}

async function aSlack(): Promise<SlackStub> {
  const slack = await startSlackStub();
  onTestFinished(() => slack.close());
  return slack;
}

const retry = { schedule: ['200ms', '200ms', '200ms', '200ms'] };
const keys = ({ messages }: SlackStub) =>
  messages.map(({ channel, body }) => [channel, body.blocks.at(-1)?.elements?.[0]?.text]);

test('each lead is in its channel once, although the answer to its message got lost', async () => {
  const slack = await aSlack();
  const { stub, start, pending } = await aHouse({
    team: {
      type: 'slack',
      token: TOKEN,
      api_url: slack.apiUrl,
      channel: 'lookup("channels", lead.service_slug)',
      rate: '100/s',
      retry,
    },
  });
  // The second message is there too, although Slack answers with an error.
  slack.answerPosts('cut', { body: { ok: false, error: 'internal_error' }, stores: true });
  stub.addRaw(aLead({ id: 1, service_slug: 'plumbing' }));
  stub.addRaw(aLead({ id: 2, service_slug: 'heating' }));
  await start();
  await until(
    'no lead is pending',
    async () => slack.messages.length >= 2 && (await pending()) === 0,
    60_000,
  );
  expect(keys(slack).sort()).toEqual([
    ['C0HEAT', 'main:2'],
    ['C0PLUMB', 'main:1'],
  ]);
  expect(slack.calls.filter((method) => method === 'conversations.history')).toHaveLength(2);
});

test('a process that was killed while Slack answered does not post the lead again', async () => {
  const slack = await aSlack();
  const { stub, start, pending } = await aHouse({
    team: { type: 'slack', token: TOKEN, api_url: slack.apiUrl, channel: { value: 'C0PLUMB' }, retry },
  });
  slack.holdAnswers = true;
  const killed = await start();
  stub.addRaw(aLead({ id: 1 }));
  await until('the message is there', () => slack.messages.length === 1, 30_000);
  await killed.kill('SIGKILL');
  slack.holdAnswers = false;
  await start();
  await until('the lead is no longer pending', async () => (await pending()) === 0, 60_000);
  expect(keys(slack)).toEqual([['C0PLUMB', 'main:1']]);
});

test('an archived channel stops only its own leads, and `test-sink` prints what is wrong', async () => {
  const slack = await aSlack();
  slack.channels['C0HEAT'] = 'is_archived';
  const { stub, start, run, pending } = await aHouse({
    team: {
      type: 'slack',
      token: TOKEN,
      api_url: slack.apiUrl,
      channel: 'default(lookup("channels", lead.service_slug), "C0HEAT")',
      rate: '100/s',
    },
  });
  const tested = await run('test-sink', 'team');
  expect(tested).toMatchObject({ code: 69 });
  expect(tested.stdout + tested.stderr).toContain('The channel is archived.');
  for (const [id, service_slug] of [
    [1, 'plumbing'],
    [2, 'heating'],
    [3, 'plumbing'],
  ] as const)
    stub.addRaw(aLead({ id, service_slug }));
  await start();
  await until(
    'no lead is pending',
    async () => slack.messages.length >= 2 && (await pending()) === 0,
    60_000,
  );
  expect(keys(slack)).toEqual([
    ['C0PLUMB', 'main:1'],
    ['C0PLUMB', 'main:3'],
  ]);
  const { stdout } = await run('deliveries', '--state', 'dead', '--json');
  expect(stdout).toContain('is_archived');
});

test('each lead is sent by email, with the same id when it is sent again', async () => {
  const mail = await startMailServer();
  onTestFinished(() => mail.close());
  const { stub, start, run, pending } = await aHouse({
    mail: { type: 'email', server: mail.url, from: 'leads@example.com', to: '"sales@example.com"', retry },
  });
  const tested = await run('test-sink', 'mail');
  expect(tested).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('accepted the test email to sales@example.com'),
  });
  mail.cutNext();
  stub.addRaw(aLead({ id: 1 }));
  await start();
  await until('no lead is pending', async () => mail.stored.length >= 3 && (await pending()) === 0, 60_000);
  const [, first, repeat, ...others] = mail.stored.map(({ mail: { messageId } }) => messageId);
  expect(others).toEqual([]);
  expect(repeat).toBe(first);
  // An email cannot be taken back, and the certificate of an erasure says so.
  const erased = await run('erase', 'anna.mueller@example.com', '--yes', '--json');
  expect(erased.stdout).toContain('It received 1 lead, and leadsync cannot delete there.');
});
