import { describe, expect, onTestFinished, test } from 'vitest';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { everyScope } from '../../stub/hubspot/account.ts';
import { type HubSpotStub, startHubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { runInShell } from '../run-in-shell.ts';
import { type HubSpotInput, openHubSpot, setUp } from './open-hubspot.ts';

const NEVER = new AbortController().signal;

/** A stub, and a sink that writes to it. */
async function anAccount({
  options = {},
  fields = {},
}: {
  options?: HubSpotInput;
  fields?: Record<string, string>;
} = {}) {
  const stub = await startHubSpotStub();
  const sink = openHubSpot(stub, { options, fields });
  onTestFinished(async () => {
    await sink.close();
    await stub.close();
  });
  return { stub, sink };
}

async function missingOf({ sink }: Awaited<ReturnType<typeof anAccount>>) {
  return (await sink.missingParts?.(NEVER)) ?? [];
}

test('an empty account lacks the properties of leadsync, with that of the link, and then nothing', async () => {
  const account = await anAccount();
  expect((await missingOf(account)).map(({ what }) => what)).toEqual([
    'property `leadsync_key` of contacts (unique values)',
    'property `leadsync_url` of contacts',
    'property `leadsync_email_as_typed` of contacts',
    'property `leadsync_key` of deals (unique values)',
    'property `leadsync_url` of deals',
    'property `leadsync_service` of deals',
    'property `leadsync_source` of deals',
    'property `leadsync_first_seen_at` of deals',
    'property `leadsync_answers` of deals',
  ]);
  await expect(account.sink.check(NEVER)).rejects.toThrow(
    'HubSpot lacks property `leadsync_key` of contacts',
  );
  await setUp(account.sink);
  expect(await missingOf(account)).toEqual([]);
  await account.sink.check(NEVER);
});

describe('the printed script', () => {
  test('makes what is missing, also where the group exists, and has no token', async () => {
    const account = await anAccount();
    const script = await scriptOf(account);
    expect(script).not.toContain(account.stub.token);
    expect(await runInShell(script, { HUBSPOT_TOKEN: account.stub.token })).toMatchObject({ code: 0 });
    expect(await missingOf(account)).toEqual([]);
    account.stub.deleteProperty('deals', 'leadsync_service');
    const again = await scriptOf(account);
    const { code, stdout } = await runInShell(again, { HUBSPOT_TOKEN: account.stub.token });
    expect([code, stdout]).toEqual([0, expect.stringContaining('Continues without a new group.')]);
    expect(await missingOf(account)).toEqual([]);
  });

  test('ends at the first answer that is not a success, and prints each answer on a separate line', async () => {
    const account = await anAccount();
    const { code, stdout } = await runInShell(await scriptOf(account), { HUBSPOT_TOKEN: 'wrong' });
    expect(code).not.toBe(0);
    const answers = stdout.split('\n').filter((line) => line.startsWith('{'));
    expect(answers.map((line) => JSON.parse(line))).toMatchObject([
      { category: 'INVALID_AUTHENTICATION' },
      { category: 'INVALID_AUTHENTICATION' },
    ]);
    expect(await missingOf(account)).toHaveLength(9);
  });

  async function scriptOf(account: Awaited<ReturnType<typeof anAccount>>): Promise<string> {
    return (await missingOf(account)).map(({ how }) => how).join('');
  }
});

test('the pipelines and stages of the account are options, with which constants are compared', async () => {
  const { sink, stub } = await anAccount({ fields: { 'deal.dealstage': '"won"' } });
  await setUp(sink);
  const fields = (await sink.destinationFields?.(NEVER)) ?? [];
  expect(fields.find(({ name }) => name === 'deal.pipeline')?.options).toEqual(['default', '7654321']);
  await expect(sink.check(NEVER)).rejects.toThrow(
    'HubSpot does not accept the mapping: `deal.dealstage` does not accept "won" (it accepts appointmentscheduled, ',
  );
  // A token that may not read pipelines can still deliver.
  stub.misbehave({ at: '/crm/pipelines/', answer: { status: 403, body: '{}' } });
  await sink.check(NEVER);
});

test.each<[string, (stub: HubSpotStub) => unknown, HubSpotInput, string, string]>([
  [
    'the account is not set up',
    (stub) => stub.deleteProperty('contacts', 'leadsync_key'),
    {},
    'HubSpot has no property `leadsync_key` with unique values, by which leadsync recognises its records.',
    '`leadsync setup sink` shows what is missing; `--yes` creates it.',
  ],
  [
    'the token was revoked',
    (stub) => stub.revokeToken(),
    {},
    'does not accept the token.',
    'Put a valid service key of the account into `token`: HubSpot shows it under Development, Keys, Service keys.',
  ],
  [
    'a scope is missing',
    (stub) => stub.setScopes(everyScope.filter((scope) => scope !== 'crm.objects.deals.write')),
    {},
    'The token may not do this in HubSpot: it lacks crm.objects.deals.write.',
    'Add the scope to the service key in HubSpot (Development, Keys, Service keys), or use another key.',
  ],
  [
    'the plan does not include the object',
    (stub) => stub.withdrawObject('leads'),
    { object: 'lead' },
    'does not have the object leads.',
    'The plan of the account might not include it: choose another `object`.',
  ],
  [
    'an administrator has deleted a property',
    (stub) => stub.deleteProperty('contacts', 'leadsync_email_as_typed'),
    {},
    'HubSpot cannot write `leadsync_email_as_typed` (PROPERTY_DOESNT_EXIST).',
    'Correct the value in `fields`, or the property in HubSpot: `leadsync fields sink` lists them. `leadsync setup sink` shows what is missing; `--yes` creates it.',
  ],
])('a test lead says what is wrong if %s', async (_, spoil, options, message, hint) => {
  const { sink, stub } = await anAccount({ options });
  await setUp(sink);
  spoil(stub);
  const failure = await sink.test(testBatch('sink', new Date()), NEVER).then(
    ({ arrived, what }) => ({ arrived, message: what, hint: what }),
    (error) => error as Error & { hint: string },
  );
  expect(failure.message).toContain(message);
  expect(failure.hint).toContain(hint);
});

test('the error distinguishes an address that is not HubSpot from an object that the plan lacks', async () => {
  const stub = await startHubSpotStub();
  onTestFinished(() => stub.close());
  const sink = openHubSpot({ url: `${stub.url}/v3`, token: stub.token });
  onTestFinished(() => sink.close());
  await expect(sink.check(NEVER)).rejects.toMatchObject({
    message: expect.stringMatching(
      /does not have the path \/account-info\/2026-09\/details, which is part of HubSpot's API/,
    ),
    hint: 'Correct `api_url`: without it, leadsync uses https://api.hubapi.com.',
  });
});
