import { readdirSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Preview } from '../../../src/sinks/sink.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { canarySecret, expectNoCanary } from '../../support/scene/canary.ts';
import { startWebhookReceiver } from '../../support/servers/webhook-receiver.ts';
import { attemptDue, Install } from '../an-install.ts';

const secret = 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0';

describe('leadsync preview', () => {
  test('prints exactly the request that sync then sends, and sends nothing itself', async () => {
    const receiver = await startWebhookReceiver();
    onTestFinished(() => receiver.close());
    const install = new Install({ sinks: { crm: { type: 'webhook', url: receiver.url, secret } } });
    const ledger = await install.listed(42);
    const [shown] = (await install.json('preview', '--sink', 'crm', '--lead', '42')) as Preview[];
    expect(receiver.received).toEqual([]);
    expect(await ledger.deliveries({ sink: 'crm' }, { limit: 9 })).toMatchObject([
      { state: 'pending', attempts: 0 },
    ]);
    await install.run(['sync']);
    const [request] = receiver.received;
    expect(shown?.content).toBe(request?.body.toString());
    const { 'webhook-timestamp': _, 'webhook-signature': signature, ...constant } = { ...shown?.fields };
    expect(request?.headers).toMatchObject(constant);
    expect(constant).toHaveProperty('webhook-id');
    expect(signature).toMatch(/^v1,/);
  });

  test('prints the address, the headers, an empty line and the body', async () => {
    const install = new Install();
    await install.listed(42);
    const { stdout, stderr } = await install.run(['preview', '--sink', 'crm', '--lead', '42']);
    expect(stderr).toBe('');
    expect(stdout).toMatch(
      /^POST http:\/\/127\.0\.0\.1:9\/\[secret\]\nuser-agent: leadsync\/.*\n(.+\n)*\n\{"type":"lead\.created".*\}\n$/,
    );
    expect(stdout).toContain('Anna Müller');
  });

  test('prints the file that a folder would get', async () => {
    const install = new Install();
    await install.listed(42);
    const { stdout } = await install.run(['preview', '--sink', 'drop', '--lead', '42']);
    expect(stdout).toMatch(
      /^file .*\/drop\/leads-20261120T100000\.000Z-preview\.csv\n\nid,service_name,.*\n42,House Cleaning,/,
    );
    expect(readdirSync(install.folder)).not.toContain('drop');
  });

  test('prints no secret, in any header', async () => {
    const headers = { authorization: canarySecret('token'), 'X-Key': canarySecret('key') };
    const url = `http://127.0.0.1:9/${canarySecret('path')}?key=${canarySecret('query')}`;
    const install = new Install({ sinks: { crm: { type: 'webhook', url, headers, secret } } });
    await install.listed(42);
    for (const more of [[], ['--json']]) {
      const { stdout } = await install.run(['preview', '--sink', 'crm', '--lead', '42', ...more]);
      expectNoCanary(stdout);
      expect(stdout).not.toContain(secret.slice('whsec_'.length));
      expect(stdout).toMatch(/"?x-key"?: "?\[secret\]/);
    }
  });

  test("escapes control characters on a terminal, and prints a lead's text unchanged in JSON", async () => {
    const install = new Install();
    await install.recorded([aListedLead({ id: 42, client_name: 'red \u009b31m' })]);
    const { stdout } = await install.run(['preview', '--sink', 'drop', '--lead', '42']);
    expect(stdout).toContain('red \\u009b31m');
    const [shown] = (await install.json('preview', '--sink', 'drop', '--lead', '42')) as Preview[];
    expect(shown?.content).toContain('red \u009b31m');
  });

  test('says that a delivered lead is not sent again automatically', async () => {
    const install = new Install();
    const ledger = await install.listed(42);
    await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'delivered' }));
    const { code, stderr } = await install.run(['preview', '--sink', 'crm', '--lead', '42']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^It was delivered 2026-11-20T10:00:00Z .*`leadsync replay --sink crm --lead 42`/);
  });

  test('prints why a lead is dead, and how to send it', async () => {
    const install = new Install();
    const ledger = await install.listed(42);
    await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'refused', reason: 'It says no.' }));
    const { stderr } = await install.run(['preview', '--sink', 'crm', '--lead', '42']);
    expect(stderr).toMatch(
      /^It is dead, since .*It says no\. `leadsync retry --sink crm --lead 42` sends this\./,
    );
  });

  test('says that a new sink owes nothing yet, and that a disabled one gets nothing', async () => {
    const late = { type: 'csv', directory: './late' };
    const install = new Install({ sinks: { crm: late, late, off: { ...late, enabled: false } } });
    await install.listed(42);
    const said = async (sink: string) =>
      (await install.run(['preview', '--sink', sink, '--lead', '42'])).stderr;
    expect(await said('late')).toMatch(/^It is not owed to late yet/);
    expect(await said('off')).toMatch(/^off is disabled in the configuration/);
  });
});

describe('leadsync preview shows nothing', () => {
  const ask = async (sinks: Record<string, unknown>, ...args: string[]) => {
    const install = new Install({ sinks });
    await install.listed(42);
    return install.run(['preview', ...args]);
  };
  const drop = { type: 'csv', directory: './drop' };

  test.each([
    ['a lead that no listing had', ['--sink', 'drop', '--lead', '43'], 1, /^Lead 43 is not in the ledger/],
    ['what is no id', ['--sink', 'drop', '--lead', 'x'], 2, /'x' is not a lead id/],
    ['a sink that is not there', ['--sink', 'dorp', '--lead', '42'], 2, /did you mean "drop"/],
    [
      'a source that is not there',
      ['--sink', 'drop', '--lead', '42', '--source', 'mian'],
      2,
      /did you mean "main"/,
    ],
    [
      'a sink that skips it',
      ['--sink', 'new', '--lead', '42'],
      1,
      /^new does not get lead 42.*`backfill` is false\.\n`leadsync replay/,
    ],
    ['a sink that asks for changes', ['--sink', 'changes', '--lead', '42'], 1, /not include `created`/],
    ['no sink', ['--lead', '42'], 2, /--sink/],
  ])('of %s, and says so', async (_, args, exit, words) => {
    const sinks = { drop, new: { ...drop, backfill: false }, changes: { ...drop, events: ['updated'] } };
    const { code, stdout, stderr } = await ask(sinks, ...args);
    expect({ code, stdout }).toEqual({ code: exit, stdout: '' });
    expect(stderr).toMatch(words);
  });

  test('of a lead that was erased, is past its retention or was rejected, and does not call it unknown', async () => {
    const install = new Install({ sinks: { drop } });
    const aside = { ...aListedLead({ id: 3 }, 2), kind: 'rejected', reason: 'is wrong', path: '' } as const;
    const ledger = await install.recorded([aListedLead({ id: 1 }), aListedLead({ id: 2 }, 1), aside]);
    await ledger.erase({ leads: [{ source: 'main', leadId: 1n }], rejected: [] }, []);
    for (const sink of ['crm', 'drop'])
      await attemptDue(ledger, sink, install.clock, () => ({ kind: 'delivered' }));
    await ledger.removeOld('leads', install.clock.in(1), 0);
    for (const lead of ['1', '2', '3']) {
      const { code, stderr } = await install.run(['preview', '--sink', 'drop', '--lead', lead]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^The ledger has no content of lead \d to send: .*\n`leadsync trace \d`/);
    }
    const { stdout, stderr } = await install.run(['replay', '--sink', 'drop', '--lead', '2']);
    expect(stdout).toBe('0 leads are owed to drop again.\n');
    expect(stderr).toContain(
      'Leads that were erased, or whose content `retention` removed, cannot be sent again.',
    );
  });

  test('of a lead that two sources have, before one is named', async () => {
    const sources = { main: source(), other: source() };
    const install = new Install({ sources, sinks: { drop } });
    const ledger = await install.listed(42);
    const poll = await ledger.startPoll('other');
    await ledger.record(poll, [aListedLead({ id: 42, client_name: 'Other' })]);
    const args = ['preview', '--sink', 'drop', '--lead', '42'];
    const { code, stderr } = await install.run(args);
    expect(code).toBe(2);
    expect(stderr).toContain('Several sources have a lead 42: main, other.');
    expect((await install.run([...args, '--source', 'other'])).stdout).toContain('Other');
  });

  test('before there is a ledger', async () => {
    const { code, stderr } = await new Install().run(['preview', '--sink', 'crm', '--lead', '42']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/There is no ledger/);
  });
});

function source() {
  return { base_url: 'http://127.0.0.1:9', client_id: 'id', client_secret: 's' };
}
