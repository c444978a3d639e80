import { describe, expect, onTestFinished, test } from 'vitest';
import { openPipedrive, setUp } from '../../sinks/pipedrive/open-pipedrive.ts';
import { aStub } from '../../stub/pipedrive/call.ts';
import type { PipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import { startStub } from '../../stub/stub.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { deliverBySink, Install } from '../an-install.ts';

const ANNA = { client_email: 'anna@example.com', client_name: 'Anna Canary' };
const PEOPLE = [
  aListedLead({ id: 1, ...ANNA }, 0),
  aListedLead({ id: 2, client_email: 'bob@example.com' }, 1),
  aListedLead({ id: 3, ...ANNA }, 2),
];

/** An empty company, and an install with a sink `crm` for it. */
async function anInstall(options: Parameters<typeof aStub>[0] = {}) {
  const stub = await aStub(options);
  const install = new Install({
    sinks: { crm: { type: 'pipedrive', domain: stub.url, token: stub.token } },
  });
  return { stub, install };
}

/** Makes what the company lacks. */
async function prepare(stub: PipedriveStub): Promise<void> {
  const sink = openPipedrive(stub);
  await setUp(sink);
  await sink.close();
}

async function aDeliveredInstall() {
  const parts = await anInstall();
  await prepare(parts.stub);
  const ledger = await parts.install.recorded(PEOPLE);
  await deliverBySink(parts.install, ledger, 'crm');
  return { ...parts, ledger };
}

describe('the commands for a pipedrive sink', () => {
  test('setup shows what the company lacks, and nothing once it has it; check and fields agree', async () => {
    const { stub, install } = await anInstall();
    expect((await install.run(['check'])).stdout).toContain('leadsync setup crm --yes');
    const shown = await install.run(['setup', 'crm']);
    expect(shown.stdout).toContain('missing field `leadsync_enquiries` of persons (text)');
    expect(stub.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
    await prepare(stub); // `setup --yes` would wait for Pipedrive's limits, and the clock of the install stands still
    expect((await install.run(['setup', 'crm', '--yes'])).stdout).toBe('sink crm: nothing is missing.\n');
    expect((await install.run(['check'])).stdout).toContain(
      'ok      sink crm: The token is valid and the fields exist; nothing was written.',
    );
    expect((await install.run(['fields', 'crm'])).stdout).toMatch(/^lead\.title +title +varchar/m);
  });

  test('check prints how many of the daily API tokens a lead takes, and how many are left', async () => {
    const { stub, install } = await anInstall({ limits: { plan: 'growth' } });
    await prepare(stub);
    stub.useUpTokens(55_000);
    const { stdout } = await install.run(['check']);
    expect(stdout).toMatch(
      /sink crm: The token is valid and the fields exist; nothing was written\. Each new lead costs about 45 of the 60,000 tokens a day, of which 54,9\d\d are left\.\n/,
    );
  });

  test.each([
    [1, {}, 'about 90,000 tokens: 2 days at 60,000 a day, if nothing else uses them.'],
    [1, { daily_tokens: 30_000 }, 'about 90,000 tokens: 2 days at 60,000 a day, if nothing else uses them.'],
    [
      1,
      { where: 'lead.id > 5' },
      'at most about 90,000 tokens: 2 days at 60,000 a day, if nothing else uses',
    ],
    [2, {}, 'about 90,000 of the 120,000 tokens a day.'],
  ] as const)(
    'check prints how many days a new sink takes for its pending leads, from the limits of the company: %i seats, %o',
    async (seats, options, expected) => {
      const { stub, install } = await anInstall({ limits: { plan: 'growth', seats } });
      await prepare(stub);
      await install.recorded(Array.from({ length: 2_000 }, (_, at) => aListedLead({ id: at + 1 }, at)));
      const people = { type: 'pipedrive', domain: stub.url, token: stub.token, ...options };
      install.configure({ sinks: { people } });
      const { stdout } = await install.run(['check']);
      expect(stdout).toContain(`are left. 2,000 leads are owed to it, ${expected}`);
      install.configure({ sinks: { people: { ...people, backfill: false } } });
      expect((await install.run(['check'])).stdout).toMatch(/sink people: .* are left\.\n/);
    },
  );

  test('before the first start, check prints how many days the listed leads take', async () => {
    const { stub, install } = await anInstall({ limits: { plan: 'growth', seats: 1 } });
    await prepare(stub);
    const service = await startStub({ leads: 2_000 });
    onTestFinished(() => service.close());
    const people = { type: 'pipedrive', domain: stub.url, token: stub.token };
    const { url: base_url, clientId: client_id, clientSecret: client_secret } = service;
    install.configure({ sources: { main: { base_url, client_id, client_secret } }, sinks: { people } });
    expect((await install.run(['check'])).stdout).toContain(
      'are left. 2,000 leads are owed to it, about 90,000 tokens: 2 days at 60,000 a day, if nothing else uses them.',
    );
    service.misbehave({ listing: 'truncated' });
    const { stdout } = await install.run(['check']);
    expect(stdout).toContain('FAILED  source main');
    expect(stdout).toMatch(/sink people: .* are left\.\n/);
  });

  test('check does not mention the pending leads of a sink that is neither new nor back', async () => {
    const { stub, install } = await anInstall();
    await prepare(stub);
    await install.recorded(PEOPLE);
    expect((await install.run(['check'])).stdout).not.toContain('owed to it');
  });

  test('reconcile finds a lead that a user deleted, and repairs it', async () => {
    const { stub, install, ledger } = await aDeliveredInstall();
    expect((await install.run(['reconcile', '--sink', 'crm'])).stdout).toBe(
      'crm: 3 leads delivered, 3 held, 0 missing, 0 foreign.\n',
    );
    stub.remove('leads', stub.records.leads.find(({ origin_id: key }) => key === 'main:2')?.id ?? '');
    const { stdout } = await install.run(['reconcile', '--sink', 'crm', '--repair']);
    expect(stdout).toContain('3 leads delivered, 2 held, 1 missing, 0 foreign.');
    await deliverBySink(install, ledger, 'crm');
    expect((await install.run(['reconcile', '--sink', 'crm'])).stdout).toContain('0 missing');
    expect([stub.records.persons.length, stub.records.leads.length]).toEqual([2, 3]);
  });

  test('erase deletes the person and every lead of a person, and nothing else', async () => {
    const { stub, install } = await aDeliveredInstall();
    const { code, stdout } = await install.run(['erase', 'anna@example.com', '--yes']);
    expect(stdout).toMatch(/reached +crm \(pipedrive\)/);
    expect(stdout).not.toMatch(/anna@|Canary/);
    expect(code).toBe(0);
    const persons = stub.records.persons.filter(({ is_deleted }) => !is_deleted);
    expect(persons.map(({ emails }) => emails[0]?.value)).toEqual(['bob@example.com']);
    expect(stub.records.leads.map(({ origin_id: key }) => key)).toEqual(['main:2']);
  });
});
