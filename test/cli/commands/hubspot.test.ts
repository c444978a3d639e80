import { describe, expect, onTestFinished, test } from 'vitest';
import { type HubSpotStub, startHubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { deliverBySink, Install } from '../an-install.ts';

const ANNA = { client_email: 'anna@example.com', client_name: 'Anna Canary' };
const PEOPLE = [
  aListedLead({ id: 1, ...ANNA }, 0),
  aListedLead({ id: 2, client_email: 'bob@example.com' }, 1),
  aListedLead({ id: 3, ...ANNA }, 2),
];

/** An empty account, and an install with a sink `crm` for it. */
async function anInstall(
  options: Readonly<Record<string, unknown>> = {},
  stubOptions: Parameters<typeof startHubSpotStub>[0] = {},
) {
  const stub = await startHubSpotStub(stubOptions);
  onTestFinished(() => stub.close());
  const configuration = (more: Readonly<Record<string, unknown>>) => ({
    sinks: {
      crm: { type: 'hubspot', token: stub.token, api_url: stub.url, ...more },
      drop: { type: 'csv', directory: './drop' },
    },
  });
  const install = new Install(configuration(options));
  return {
    stub,
    install,
    configure: (more: object) => install.configure(configuration({ ...options, ...more })),
  };
}

async function aDeliveredInstall(options: Readonly<Record<string, unknown>> = {}) {
  const parts = await anInstall(options);
  await parts.install.run(['setup', 'crm', '--yes']);
  const ledger = await parts.install.recorded(PEOPLE);
  await deliverBySink(parts.install, ledger, 'crm');
  return { ...parts, ledger };
}

describe('setup', () => {
  test('shows what the account lacks, creates it with --yes, and then finds nothing missing', async () => {
    const { stub, install } = await anInstall();
    const shown = await install.run(['setup', 'crm']);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout.split('\n')).toEqual([
      'missing property `leadsync_key` of contacts (unique values)',
      'missing property `leadsync_url` of contacts',
      'missing property `leadsync_email_as_typed` of contacts',
      'missing property `leadsync_key` of deals (unique values)',
      'missing property `leadsync_url` of deals',
      'missing property `leadsync_service` of deals',
      'missing property `leadsync_source` of deals',
      'missing property `leadsync_first_seen_at` of deals',
      'missing property `leadsync_answers` of deals',
      expect.stringMatching(/^Nothing was changed\. .*setup crm --yes.* creates what is missing; .*--print/),
      '',
    ]);
    expect(stub.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
    const made = await install.run(['setup', 'crm', '--yes']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toBe(shown.stdout.replaceAll('missing ', 'made    ').replace(/Nothing.*\n/, ''));
    expect((await install.run(['setup', 'crm', '--yes'])).stdout).toBe('sink crm: nothing is missing.\n');
    expect((await install.run(['check'])).stdout).toContain(
      'ok      sink crm: The key is valid and the properties exist; nothing was written. Up to 100 new leads in one batch cost about 5 API requests.',
    );
  });

  test('check then prints how many requests new leads take, how many are left for the day, and what it cannot know', async () => {
    const { install } = await anInstall({}, { limits: 'free' });
    await install.run(['setup', 'crm', '--yes']);
    expect((await install.run(['check'])).stdout).toMatch(
      /sink crm: The key is valid and the properties exist; nothing was written\. Up to 100 new leads in one batch cost about 5 of the 250,000 API requests a day, of which 249,9\d\d are left\. `leadsync test-sink crm` shows whether the key may write; a check cannot find this out\.\n/,
    );
  });

  test('prints commands with which an administrator creates it, without the token', async () => {
    const { stub, install } = await anInstall();
    const { code, stdout } = await install.run(['setup', 'crm', '--print']);
    expect(code).toBe(0);
    expect(stdout).toContain('curl');
    expect(stdout).toContain(`${stub.url}/crm/properties/`);
    for (const name of ['leadsync_key', 'leadsync_answers']) expect(stdout).toContain(name);
    expect(stdout).not.toContain(stub.token);
  });

  test('names the scopes that the token lacks, and the next step', async () => {
    const { stub, install } = await anInstall();
    stub.setScopes(['crm.objects.contacts.read', 'crm.objects.deals.read']);
    const refused = await install.run(['setup', 'crm', '--yes']);
    expect(refused).toMatchObject({ code: 69, stdout: '' });
    expect(refused.stderr).toContain('lacks crm.schemas.contacts.write');
    expect(refused.stderr).toContain('Add the scope to the service key');
    expect(refused.stderr).toContain('setup crm --print');
  });

  test('reports a key property that was created without unique values', async () => {
    const { stub, install } = await anInstall();
    const key = { name: 'leadsync_key', label: 'key', groupName: 'dealinformation' } as const;
    stub.addProperty('deals', { ...key, type: 'string', fieldType: 'text' });
    const said = await install.run(['setup', 'crm']);
    expect(said.code).toBe(69);
    expect(said.stderr).toContain('does not have unique values');
    expect(said.stderr).toContain('delete the property');
  });

  test.each(['{}', '<html>'])('does not treat another program as an empty account: %s', async (body) => {
    const { stub, install } = await anInstall();
    stub.misbehave({ answer: { status: 200, body }, times: 1_000 });
    for (const args of [
      ['setup', 'crm'],
      ['fields', 'crm'],
    ]) {
      const said = await install.run(args);
      expect(said).toMatchObject({ code: 69, stdout: '' });
      expect(said.stderr).toContain('Check `api_url`');
    }
  });
});

describe('fields', () => {
  test('lists the properties of both objects by the names that `fields` takes', async () => {
    const { install } = await anInstall();
    const { stdout, code } = await install.run(['fields', 'crm']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^firstname +firstname +string/m);
    expect(stdout).toMatch(/^deal\.amount +amount +number/m);
    expect(stdout).toMatch(/^deal\.hs_priority .*one of low, medium, high$/m);
    expect(stdout).toMatch(/^deal\.createdate .*not for `fields`$/m);
    const listed = (await install.json('fields', 'crm')) as { name: string; writable: boolean }[];
    expect(listed.find(({ name }) => name === 'deal.dealname')?.writable).toBe(true);
  });
});

describe('check', () => {
  test.each([
    [{ 'deal.dealnam': 'lead.id' }, 'there is no field `deal.dealnam` (did you mean "deal.dealname"?)'],
    [{ hs_object_id: 'lead.id' }, '`hs_object_id` is read-only'],
    [
      { 'deal.hs_priority': { value: 'urgent' } },
      '`deal.hs_priority` does not accept "urgent" (it accepts low, medium, high)',
    ],
  ])('reports what the account does not accept: %o', async (fields, message) => {
    const { install, configure } = await anInstall();
    configure({ fields });
    await install.run(['setup', 'crm', '--yes']);
    const { stdout, stderr, code } = await install.run(['check']);
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain(message);
    expect(stdout + stderr).toContain('leadsync fields crm');
  });

  test('of an account without preparation, or with another token, names the next step', async () => {
    const { stub, install } = await anInstall();
    expect((await install.run(['check'])).stdout).toContain('leadsync setup crm --yes');
    stub.revokeToken();
    expect((await install.run(['check'])).stdout).toMatch(/does not accept the token\.[\s\S]*service key/);
  });
});

describe('a test event', () => {
  test('leaves the account as it was, even if it is sent repeatedly', async () => {
    const { stub, install } = await anInstall();
    await install.run(['setup', 'crm', '--yes']);
    for (let n = 0; n < 2; n += 1) {
      const { code, stdout } = await install.run(['test-sink', 'crm']);
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('deleted what it made') });
    }
    stub.misbehave({ answer: 'internal-error', at: 'deals/batch/upsert' });
    expect((await install.run(['test-sink', 'crm'])).code).not.toBe(0);
    expect([stub.records.contacts, stub.records.deals]).toEqual([[], []]);
  });
});

describe('reconcile', () => {
  test('finds a deal that a user deleted, and repairs it', async () => {
    const { stub, install, ledger } = await aDeliveredInstall();
    expect((await install.run(['reconcile', '--sink', 'crm'])).stdout).toBe(
      'crm: 3 leads delivered, 3 held, 0 missing, 0 foreign.\n',
    );
    stub.deleteRecord('deals', dealOf(stub, 'main:2'));
    stub.addRecord('deals', { dealname: 'of a person', dealstage: 'closedwon' });
    const { stdout } = await install.run(['reconcile', '--sink', 'crm', '--repair']);
    expect(stdout).toContain('missing  main 2: Version 1 was delivered. It will be delivered again.');
    expect(stdout).toContain('3 leads delivered, 2 held, 1 missing, 0 foreign.');
    await deliverBySink(install, ledger, 'crm');
    expect((await install.run(['reconcile', '--sink', 'crm'])).stdout).toContain('0 missing');
    expect([stub.records.contacts.length, stub.records.deals.length]).toEqual([2, 4]);
  });

  test('reports nothing as missing if another program answers', async () => {
    const { stub, install } = await aDeliveredInstall();
    stub.misbehave({ answer: { status: 200, body: '{}' }, times: 1_000 });
    const { code, stdout } = await install.run(['reconcile', '--sink', 'crm']);
    expect(code).not.toBe(0);
    expect(stdout).not.toContain('missing');
  });

  test('does not read contacts, which have the key of one lead', async () => {
    const { install } = await aDeliveredInstall({ object: 'none' });
    const { code, stdout } = await install.run(['reconcile', '--sink', 'crm']);
    expect(code).not.toBe(0);
    expect(stdout).not.toContain('missing');
  });
});

test('erase deletes the contact and every deal of a person for good, and nothing else', async () => {
  const { stub, install } = await aDeliveredInstall();
  const { code, stdout } = await install.run(['erase', 'anna@example.com', '--yes']);
  expect(stdout).toMatch(/reached +crm \(hubspot\)/);
  expect(stdout).not.toMatch(/anna@|Canary/);
  expect(code).toBe(0);
  expect(stub.records.contacts.map(({ properties }) => properties['email'])).toEqual(['bob@example.com']);
  expect(stub.records.deals.map(({ properties }) => properties['leadsync_key'])).toEqual(['main:2']);
  expect(stub.requests.some(({ path }) => path.endsWith('/gdpr-delete'))).toBe(true);
});

test('erase prints which contact it kept and why, and what to do by hand', async () => {
  const { stub, install } = await anInstall();
  await install.run(['setup', 'crm', '--yes']);
  const id = stub.addRecord('contacts', { email: 'anna@example.com' });
  await deliverBySink(install, await install.recorded(PEOPLE), 'crm');
  const { code, stdout } = await install.run(['erase', 'anna@example.com', '--yes']);
  expect(code).toBe(1);
  expect(stdout).toContain(
    "NOT REACHED  crm (hubspot): Deleted: 2 deals. HubSpot's recycling bin keeps deleted deals and leads for some time. 1 record was kept and may hold data about the person. Open it, and delete it or the data by hand, unless you have a reason to keep it.\n",
  );
  expect(stdout).toMatch(
    new RegExp(
      `\n +contact ${id} \\(https://\\S+/record/0-1/${id}\\): leadsync did not create it; its \`leadsync_…\` properties were emptied\n`,
    ),
  );
  expect(stdout).not.toMatch(/anna@|Canary/);
});

test('the certificate as JSON has the records that were kept', async () => {
  const { stub, install } = await anInstall();
  await install.run(['setup', 'crm', '--yes']);
  const id = stub.addRecord('contacts', { email: 'anna@example.com' });
  await deliverBySink(install, await install.recorded(PEOPLE), 'crm');
  const { stdout } = await install.run(['erase', 'anna@example.com', '--yes', '--json']);
  expect(JSON.parse(stdout).places).toMatchObject([
    { place: 'ledger', kept: [] },
    {
      place: 'crm',
      reached: false,
      again: false,
      kept: [
        { object: 'contact', id, url: expect.any(String), why: expect.stringMatching(/^leadsync did not/) },
      ],
    },
    { place: 'drop', kept: [] },
  ]);
});

function dealOf(stub: HubSpotStub, key: string): string {
  return stub.records.deals.find(({ properties }) => properties['leadsync_key'] === key)?.id ?? '';
}
