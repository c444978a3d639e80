import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { type HubSpotStub, type HubSpotStubOptions, startHubSpotStub } from '../stub/hubspot/hubspot-stub.ts';

const OPPOSITE: HubSpotStubOptions = {
  upsertFindsSecondaryEmail: true,
  readFindsSecondaryEmail: true,
  upsertByEmailKeepsOmitted: false,
  resultOrder: 'reversed',
  tracedResults: false,
  lifecycleBackward: 'refused',
  updateNamesMerged: false,
  erasedStaysOut: false,
  leadNeedsContact: false,
  uniqueNotes: true,
};

async function aStub(options: HubSpotStubOptions = {}): Promise<HubSpotStub> {
  const stub = await startHubSpotStub(options);
  onTestFinished(() => stub.close());
  return stub;
}

function start({ url, token }: Pick<HubSpotStub, 'url' | 'token'>) {
  const program = new URL('crm.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, '--hubspot', '-', '--api-url', url], {
    env: { ...process.env, HUBSPOT_TOKEN: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]).then(
    ([stdout, stderr, [code]]) => ({ stdout, stderr, code: code as number }),
  );
  return { child, said };
}

/** Everything that an account has, but what HubSpot defines. */
async function contentOf({ url, token, records }: HubSpotStub) {
  const get = async (path: string) => {
    const response = await fetch(`${url}/crm/properties/2026-09/${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return ((await response.json()) as { results?: { name: string }[] }).results?.map(({ name }) => name);
  };
  const objects = ['contacts', 'deals', 'leads', 'notes'];
  return {
    records: Object.values(records).flat(),
    properties: await Promise.all(objects.flatMap((object) => [get(object), get(`${object}/groups`)])),
  };
}

test.each([
  ['as assumed', {}, ['results have trace ids', 'an omitted property is kept', 'the stage is then customer']],
  [
    'in the opposite way',
    OPPOSITE,
    ['results lack trace ids', 'an omitted property is cleared', 'in another order'],
  ],
] as const)(
  'the proof learns what an account does that answers open questions %s, and leaves nothing',
  async (_, options, learned) => {
    const stub = await aStub(options);
    const before = await contentOf(stub);
    const { stdout, stderr, code } = await start(stub).said;
    expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
    for (const fact of learned) expect(stdout).toContain(fact);
    expect(stdout).not.toContain(stub.token);
    expect(stdout.match(/^ ?\d+ {2}.*(holds|asked)/gm)).toHaveLength(12);
    expect(await contentOf(stub)).toEqual(before);
  },
);

test('a plan without leads breaks no promise, and properties that were there stay', async () => {
  const stub = await aStub();
  stub.withdrawObject('leads');
  stub.addProperty('contacts', {
    name: 'leadsync_url',
    label: 'mine',
    type: 'string',
    fieldType: 'text',
    groupName: 'contactinformation',
  });
  const { stdout, code } = await start(stub).said;
  expect(code, stdout).toBe(0);
  expect(stdout).toMatch(
    /^11 {2}leads of Sales Hub +asked +not asked: HubSpot at .* does not have the object leads/m,
  );
  expect(stdout).toContain('Everything that was written is removed.');
  expect(Object.values(stub.records).flat()).toEqual([]);
  expect((await contentOf(stub)).properties[0]).toContain('leadsync_url');
});

test('steps that fail are named, and the others run', async () => {
  const stub = await aStub();
  stub.misbehave({ at: '/associate/default', answer: { status: 500, body: '{}' }, times: 100 });
  const { stdout, code } = await start(stub).said;
  expect(code).toBe(1);
  expect(stdout).toMatch(/^ 3 {2}two enquiries of a person +FAILS/m);
  expect(stdout).toMatch(/^ 9 {2}merged contact/m);
  expect(stdout).toContain('Everything that was written is removed.');
});

test('Ctrl-C in the middle leaves nothing', async () => {
  const stub = await aStub();
  const before = await contentOf(stub);
  const { child, said } = start(stub);
  child.stdout.on('data', (data) => {
    if (String(data).includes('4/12')) child.kill('SIGINT');
  });
  const { stdout, code } = await said;
  expect(code, stdout).toBe(130);
  expect(stdout).toContain('Everything that was written is removed.');
  expect(await contentOf(stub)).toEqual(before);
});

test('what could not be removed is named', async () => {
  const stub = await aStub();
  stub.misbehave({ at: 'DELETE /crm/properties', answer: { status: 500, body: '{}' }, times: 100 });
  const { stdout, code } = await start(stub).said;
  expect(code).toBe(1);
  expect(stdout).toMatch(/NOT REMOVED:\n(property .*: HTTP 500\n)+/);
});
