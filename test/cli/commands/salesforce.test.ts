import { describe, expect, onTestFinished, test } from 'vitest';
import { type SalesforceStub, startSalesforceStub } from '../../stub/salesforce/salesforce-stub.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { deliverBySink, Install } from '../an-install.ts';

const ANNA = { client_email: 'anna@example.com', client_name: 'Anna Canary' };
const PEOPLE = [
  aListedLead({ id: 1, ...ANNA }, 0),
  aListedLead({ id: 2, client_email: 'bob@example.com' }, 1),
  aListedLead({ id: 3, ...ANNA }, 2),
];

/** An empty org, and an install with a sink `crm` for it. */
async function anInstall(options: Readonly<Record<string, unknown>> = {}) {
  const stub = await startSalesforceStub({ keyField: 'absent' });
  onTestFinished(() => stub.close());
  const app = { domain: stub.url, client_id: stub.clientId, client_secret: stub.clientSecret };
  const configuration = (more: Readonly<Record<string, unknown>>) => ({
    sinks: {
      crm: { type: 'salesforce', ...app, ...more },
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

async function aPreparedInstall(options: Readonly<Record<string, unknown>> = {}) {
  const parts = await anInstall(options);
  await parts.install.run(['setup', 'crm', '--yes']);
  return parts;
}

async function aDeliveredInstall(options: Readonly<Record<string, unknown>> = {}) {
  const parts = await aPreparedInstall(options);
  const ledger = await parts.install.recorded(PEOPLE);
  await deliverBySink(parts.install, ledger, 'crm');
  return { ...parts, ledger };
}

const keysIn = ({ records }: SalesforceStub) =>
  (records['Lead'] ?? []).map((lead) => lead['Leadsync_Key__c']);

describe('setup', () => {
  test('shows what the org lacks, creates it with --yes, and then finds nothing missing', async () => {
    const { stub, install } = await anInstall();
    const shown = await install.run(['setup', 'crm']);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout.split('\n')).toEqual([
      'missing field `Leadsync_Key__c` of Lead (Text, external ID, unique)',
      'missing field `Leadsync_Url__c` of Lead (Url)',
      'missing field `Leadsync_Service__c` of Lead (Text)',
      'missing field `Leadsync_Source__c` of Lead (Text)',
      'missing field `Leadsync_First_Seen_At__c` of Lead (DateTime)',
      'missing field `Leadsync_Answers__c` of Lead (LongTextArea)',
      'missing field `Leadsync_Email_As_Typed__c` of Lead (Text)',
      expect.stringMatching(
        /^missing permission to write `Leadsync_Key__c`, .* \(permission set `leadsync`\)$/,
      ),
      expect.stringMatching(/^Nothing was changed\. .*setup crm --yes.* creates what is missing; .*--print/),
      '',
    ]);
    expect(stub.records['CustomField']).toEqual([]);
    const made = await install.run(['setup', 'crm', '--yes']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toBe(shown.stdout.replaceAll('missing ', 'made    ').replace(/Nothing.*\n/, ''));
    expect((await install.run(['setup', 'crm', '--yes'])).stdout).toBe('sink crm: nothing is missing.\n');
    expect((await install.run(['check'])).stdout).toMatch(
      /ok {6}sink crm: Logged in, and the fields exist; nothing was written\. Up to 200 new leads in one batch cost about 2 of the 100,000 API requests a day, of which 99,\d{3} are left\./,
    );
  });

  test('creates further fields of the mapping that begin with Leadsync_', async () => {
    const { install, configure } = await aPreparedInstall();
    configure({ fields: { Leadsync_Rooms__c: 'int(answer("bedrooms"))' } });
    expect((await install.run(['setup', 'crm', '--yes'])).stdout.split('\n')).toEqual([
      'made    field `Leadsync_Rooms__c` of Lead (Number)',
      'made    permission to write `Leadsync_Rooms__c` (permission set `leadsync`)',
      '',
    ]);
    expect((await install.run(['check'])).stdout).toContain('ok      sink crm');
  });

  test.each<[string, (stub: SalesforceStub) => unknown, string]>([
    [
      'fields',
      ({ settings }) => Object.assign(settings, { mayCustomize: false }),
      'does not allow the user of the app to do this.',
    ],
    [
      'permission sets',
      ({ settings }) => Object.assign(settings, { mayManagePermissions: false }),
      'does not allow the user of the app to do this.',
    ],
  ])('names the permissions if the user may not create %s, and the other way', async (_, forbid, message) => {
    const { stub, install } = await anInstall();
    forbid(stub);
    const { code, stderr } = await install.run(['setup', 'crm', '--yes']);
    expect(code).toBe(69);
    expect(stderr).toContain(message);
    expect(stderr).toContain('Customize Application, and Manage Profiles and Permission Sets');
    expect(stderr).toContain('setup crm --print');
  });
});

describe('fields', () => {
  test('lists the fields of leads, with their limits and options', async () => {
    const { stub, install } = await aPreparedInstall();
    stub.changeField('Lead', 'LeadSource', { restricted: true, values: ['Web', 'Phone'] });
    const { stdout, code } = await install.run(['fields', 'crm']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^LastName +Last Name +string +80/m);
    expect(stdout).toMatch(/^LeadSource .*one of Web, Phone$/m);
    expect(stdout).toMatch(/^Leadsync_Key__c .*not for `fields`$/m);
    const listed = (await install.json('fields', 'crm')) as { name: string; writable: boolean }[];
    expect(listed.find(({ name }) => name === 'IsConverted')?.writable).toBe(false);
  });
});

describe('check', () => {
  test.each([
    [{ LastNam: 'lead.id' }, 'there is no field `LastNam` (did you mean "LastName"?)'],
    [{ IsConverted: 'true' }, '`IsConverted` is read-only'],
    [{ LeadSource: { value: 'Radio' } }, '`LeadSource` does not accept "Radio" (it accepts Web, Phone)'],
    [{ Title: { value: 'x'.repeat(129) } }, 'the value of `Title` is longer than 128 characters'],
  ])('reports what the org does not accept: %o', async (fields, message) => {
    const { stub, install, configure } = await anInstall();
    stub.changeField('Lead', 'LeadSource', { restricted: true, values: ['Web', 'Phone'] });
    configure({ fields });
    await install.run(['setup', 'crm', '--yes']);
    const { stdout, code } = await install.run(['check']);
    expect(code).not.toBe(0);
    expect(stdout).toContain(message);
    expect(stdout).toContain('leadsync fields crm');
  });

  test('names the fields that the org requires and the mapping lacks', async () => {
    const { stub, install } = await aPreparedInstall();
    stub.changeField('Lead', 'Title', { required: true });
    expect((await install.run(['check'])).stdout).toContain(
      'Salesforce requires `Title` of a lead, and the mapping has no such field.',
    );
  });
});

describe('an operator with a wrong configuration', () => {
  test.each<[string, (stub: SalesforceStub) => object, string, string]>([
    [
      'consumer key',
      () => ({ client_id: 'another' }),
      'does not know the app.',
      'Copy the consumer key of the external client app into `client_id`.',
    ],
    [
      'consumer secret',
      () => ({ client_secret: 'another' }),
      'does not accept the secret of the app.',
      'Copy the consumer secret of the external client app into `client_secret`.',
    ],
    [
      'app without a user to run as',
      ({ settings }) => Object.assign(settings, { hasRunAsUser: false }) && {},
      'gives the app no token.',
      'Set a user to run as',
    ],
    [
      'user who may not see leads',
      ({ settings }) => Object.assign(settings, { leadAccess: 'none' }) && {},
      'The user of the app may not see leads in Salesforce at ',
      'Give the user of the app a permission set or profile that allows reading, creating and editing leads.',
    ],
    [
      'user who may only read leads',
      ({ settings }) => Object.assign(settings, { leadAccess: 'read' }) && {},
      'The user of the app may not create and edit leads in Salesforce at ',
      'Give the user of the app a permission set or profile that allows reading, creating and editing leads.',
    ],
    [
      'address behind a proxy',
      (stub) => stub.misbehave({ token: 'proxy-page' }) ?? {},
      "answered HTTP 200 to the request for a token, but not in Salesforce's format.",
      'Check `domain`, and whether a proxy answers in place of Salesforce.',
    ],
    [
      'address of another program',
      (stub) => stub.misbehave({ data: 'proxy-page' }) ?? {},
      "answered HTTP 200, but not in Salesforce's format.",
      'Check `domain`, and whether a proxy answers in place of Salesforce.',
    ],
    [
      'moment: the org is in maintenance',
      (stub) => stub.misbehave({ token: 'maintenance-page' }) ?? {},
      "answered HTTP 503 to the request for a token, but not in Salesforce's format.",
      'See https://status.salesforce.com.',
    ],
  ])('(%s) gets the reason from every command', async (_, spoil, message, hint) => {
    const { stub, install, configure } = await aPreparedInstall();
    configure(spoil(stub));
    for (const args of [['check'], ['setup', 'crm'], ['fields', 'crm'], ['test-sink', 'crm']]) {
      if (args[0] === 'fields' && message.includes('create and edit')) continue; // who may read may list them
      const { code, stdout, stderr } = await install.run(args);
      expect(code, args.join(' ')).toBe(69);
      expect(stdout + stderr, args.join(' ')).toContain(message);
      expect(stdout + stderr, args.join(' ')).toContain(hint);
    }
    expect(stub.records['Lead']).toEqual([]);
  });

  test.each([
    ['https://login.salesforce.com', 'copy the My Domain address'],
    ['https://test.salesforce.com', 'copy the My Domain address'],
    ['https://example.lightning.force.com', 'copy the My Domain address'],
    ['example.my.salesforce.com', 'must be the My Domain address'],
    ['https://example.my.salesforce.com/lightning/page', 'must be the My Domain address'],
  ])('(the address %s) gets the reason from validate, with the right value', async (domain, message) => {
    const { install, configure } = await anInstall();
    configure({ domain });
    const { code, stderr } = await install.run(['validate']);
    expect(code).toBe(78);
    expect(stderr).toContain(message);
    expect(stderr).toContain('https://example.my.salesforce.com');
  });

  test('(an org that is not set up) gets the reason from check and test-sink', async () => {
    const { install } = await anInstall();
    for (const args of [['check'], ['test-sink', 'crm']]) {
      const { code, stdout } = await install.run(args);
      expect(code).toBe(69);
      expect(stdout).toContain('Leadsync_Key__c');
      expect(stdout).toContain('setup crm --yes');
    }
  });
});

describe('a test event', () => {
  test('leaves the org as it was, even if it is sent repeatedly, and prints the usage', async () => {
    const { stub, install } = await aPreparedInstall();
    for (let n = 0; n < 2; n += 1) {
      const { code, stdout } = await install.run(['test-sink', 'crm']);
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('deleted it again') });
      expect(stdout).toMatch(
        /The org has used \d+ of the 100000 API requests that it may make in 24 hours\./,
      );
    }
    stub.misbehave({ upsert: 'server-error-after-storing', times: 1 });
    expect((await install.run(['test-sink', 'crm'])).code).not.toBe(0);
    expect(stub.records['Lead']).toEqual([]);
  });

  test('is not sent if leadsync may not delete it', async () => {
    const { stub, install } = await aPreparedInstall();
    stub.settings.mayDelete = false;
    const { code, stdout } = await install.run(['test-sink', 'crm']);
    expect(code).not.toBe(0);
    expect(stdout).toContain('may not delete leads');
    expect(stub.records['Lead']).toEqual([]);
  });

  test('never changes the lead of a person, even with `duplicates: update`', async () => {
    const { stub, install } = await aPreparedInstall({ duplicates: 'update' });
    await install.run(['test-sink', 'crm']);
    const made = stub.requests.find(({ body }) => body.includes('"allOrNone"'));
    const { records } = JSON.parse(made?.body ?? '') as { records: Record<string, string>[] };
    const email = records[0]?.['Email'];
    if (email === undefined) throw new Error('the test lead has no email address');
    stub.add('Lead', { LastName: 'Known', Company: 'Known', Email: email });
    for (const rule of ['alert', 'block'] as const) {
      stub.settings.duplicateRule = rule;
      await install.run(['test-sink', 'crm']);
      expect(stub.records['Lead']).toMatchObject([{ LastName: 'Known', Email: email }]);
      expect(keysIn(stub)).toEqual([undefined]);
    }
  });
});

describe('reconcile', () => {
  test('finds a lead that a user deleted, and repairs it', async () => {
    const { stub, install, ledger } = await aDeliveredInstall();
    expect((await install.run(['reconcile', '--sink', 'crm'])).stdout).toBe(
      'crm: 3 leads delivered, 3 held, 0 missing, 0 foreign.\n',
    );
    stub.remove(idOf(stub, 'main:2'));
    stub.add('Lead', { LastName: 'Typed', Company: 'by a person' });
    const { stdout } = await install.run(['reconcile', '--sink', 'crm', '--repair']);
    expect(stdout).toContain('missing  main 2: Version 1 was delivered. It will be delivered again.');
    expect(stdout).toContain('3 leads delivered, 2 held, 1 missing, 0 foreign.');
    await deliverBySink(install, ledger, 'crm');
    expect((await install.run(['reconcile', '--sink', 'crm'])).stdout).toContain('0 missing');
    expect(stub.records['Lead']).toHaveLength(4);
  });

  test('names a lead that exists twice', async () => {
    const { stub, install } = await aDeliveredInstall();
    for (const key of ['main:2', 'main:3', 'main:3'])
      stub.add('Lead', { LastName: 'Again', Company: 'Imported', Leadsync_Key__c: key });
    const { code, stdout } = await install.run(['reconcile', '--sink', 'crm']);
    expect(code).toBe(1);
    expect(stdout.split('\n')).toEqual([
      'duplicate  main 2: The sink holds it more than once. Delete or merge the duplicates at the destination.',
      'duplicate  main 3: The sink holds it more than once. Delete or merge the duplicates at the destination.',
      'crm: 3 leads delivered, 6 held, 0 missing, 0 foreign, 2 duplicates.',
      '',
    ]);
    const json = JSON.parse((await install.run(['reconcile', '--sink', 'crm', '--json'])).stdout);
    expect(json).toMatchObject({
      missing: [],
      foreign: [],
      duplicates: ['2', '3'].map((id) => ({ source: 'main', id })),
    });
  });

  test('reports nothing as missing if another program answers', async () => {
    const { stub, install } = await aDeliveredInstall();
    stub.misbehave({ data: 'proxy-page' });
    const { code, stdout } = await install.run(['reconcile', '--sink', 'crm']);
    expect(code).not.toBe(0);
    expect(stdout).not.toContain('missing');
  });
});

test('erase deletes every lead of a person, and nothing else', async () => {
  const { stub, install } = await aDeliveredInstall();
  const { code, stdout } = await install.run(['erase', 'anna@example.com', '--yes']);
  expect(stdout).toMatch(/reached +crm \(salesforce\)/);
  expect(stdout).not.toMatch(/anna@|Canary/);
  expect(code).toBe(0);
  expect(keysIn(stub)).toEqual(['main:2']);
});

function idOf({ records }: SalesforceStub, key: string): string {
  return (records['Lead'] ?? []).find((lead) => lead['Leadsync_Key__c'] === key)?.Id ?? '';
}
