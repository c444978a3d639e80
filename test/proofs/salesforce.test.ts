import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import {
  type SalesforceStub,
  type SalesforceStubOptions,
  startSalesforceStub,
} from '../stub/salesforce/salesforce-stub.ts';

const OPPOSITE: SalesforceStubOptions['questions'] = {
  sameKeyTwice: 'DUPLICATE_EXTERNAL_ID',
  collectionDuplicates: 'named',
  unreadableRecord: 'request',
  deletedKey: 'ENTITY_IS_DELETED',
  absentKeyField: 400,
};

async function anOrg(options: SalesforceStubOptions = {}): Promise<SalesforceStub> {
  const stub = await startSalesforceStub({ keyField: 'absent', ...options });
  onTestFinished(() => stub.close());
  stub.settings.duplicateRule = 'alert';
  return stub;
}

function start({ url, clientId, clientSecret }: Pick<SalesforceStub, 'url' | 'clientId' | 'clientSecret'>) {
  const program = new URL('crm.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, '--salesforce', url], {
    env: { ...process.env, SALESFORCE_CLIENT_ID: clientId, SALESFORCE_CLIENT_SECRET: clientSecret },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]).then(
    ([stdout, stderr, [code]]) => ({ stdout, stderr, code: code as number }),
  );
  return { child, said };
}

/** Everything that an org has and a person could see. */
const contentOf = ({ records }: SalesforceStub) => structuredClone(records);

test.each([
  [
    'as assumed',
    {},
    [
      'a change: HTTP 400 CANNOT_UPDATE_CONVERTED_LEAD',
      'an upsert by its key: makes another lead',
      'NumberOfEmployees: HTTP 200 JSON_PARSER_ERROR, the other record is taken',
      'which does not name the lead',
      'one wrong value: HTTP 200 INVALID_EMAIL_ADDRESS',
      'a key twice: HTTP 200 DUPLICATE_VALUE',
    ],
  ],
  [
    'in the opposite way',
    OPPOSITE,
    [
      'an upsert by its key: HTTP 200 ENTITY_IS_DELETED',
      'NumberOfEmployees: HTTP 400 JSON_PARSER_ERROR',
      'which names the lead',
      'a key twice: HTTP 200 DUPLICATE_EXTERNAL_ID',
    ],
  ],
] as const)(
  'the proof learns what an org does that answers open questions %s, and leaves nothing',
  async (_, questions, learned) => {
    const stub = await anOrg({ questions });
    const before = contentOf(stub);
    const { stdout, stderr, code } = await start(stub).said;
    expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
    for (const fact of learned) expect(stdout).toContain(fact);
    expect(stdout).not.toContain(stub.clientSecret);
    expect(stdout.match(/^ ?\d+ {2}.*(holds|asked)/gm)).toHaveLength(12);
    expect(contentOf(stub)).toEqual(before);
  },
);

test('fields, permissions and leads that were there stay', async () => {
  const stub = await anOrg({ keyField: 'ready' });
  stub.add('Lead', { LastName: 'Known', Company: 'Known', Leadsync_Key__c: 'main:1' });
  const before = contentOf(stub);
  const { stdout, code } = await start(stub).said;
  expect(code, stdout).toBe(0);
  expect(stdout).toContain('Everything that was written is removed.');
  expect(contentOf(stub)).toEqual(before);
});

test('steps that fail are named, and the others run', async () => {
  const stub = await anOrg();
  const refuses = ({ Leadsync_Key__c: key }: Readonly<Record<string, unknown>>) => /:[12]$/.test(String(key));
  stub.settings.validationRule = { message: 'No', refuses };
  const { stdout, code } = await start(stub).said;
  expect(code).toBe(1);
  expect(stdout).toMatch(/^ 3 {2}two enquiries of a person +FAILS/m);
  expect(stdout).toMatch(/^12 {2}erasure +holds/m);
  expect(stdout).toContain('Everything that was written is removed.');
});

test('Ctrl-C in the middle leaves nothing', async () => {
  const stub = await anOrg();
  const before = contentOf(stub);
  const { child, said } = start(stub);
  child.stdout.on('data', (data) => {
    if (String(data).includes('4/12')) child.kill('SIGINT');
  });
  const { stdout, code } = await said;
  expect(code, stdout).toBe(130);
  expect(stdout).toContain('Everything that was written is removed.');
  expect(contentOf(stub)).toEqual(before);
});

test('what could not be removed is named', async () => {
  const stub = await anOrg();
  stub.settings.mayDelete = false;
  const { stdout, code } = await start(stub).said;
  expect(code).toBe(1);
  expect(stdout).toMatch(/NOT REMOVED:\n(lead .*: HTTP 403 INSUFFICIENT_ACCESS_OR_READONLY.*\n)+/);
});
