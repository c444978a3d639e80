import { describe, expect, onTestFinished, test } from 'vitest';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { faultsOf, SOURCE } from '../../config/reading.ts';
import { type PipedriveStub, startPipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import { runInShell } from '../run-in-shell.ts';
import { type Opening, openPipedrive, setUp } from './open-pipedrive.ts';

const NEVER = new AbortController().signal;

/** A company without any field of leadsync, and a sink for it. */
async function aCompany(opening: Opening = {}) {
  const stub = await startPipedriveStub();
  const sink = openPipedrive(stub, opening);
  onTestFinished(async () => {
    await sink.close();
    await stub.close();
  });
  return { stub, sink, missing: async () => (await sink.missingParts?.(NEVER)) ?? [] };
}

test('a new company lacks the fields of leadsync, including that of the link, until they are created', async () => {
  const { sink, missing } = await aCompany();
  expect((await missing()).map(({ what }) => what)).toEqual([
    'field `leadsync_key` of persons (varchar)',
    'field `leadsync_enquiries` of persons (text)',
    'field `leadsync_url` of persons (varchar)',
    'field `leadsync_address` of persons (text)',
    'field `leadsync_email_as_typed` of persons (text)',
    'field `leadsync_key` of leads and deals (varchar)',
    'field `leadsync_url` of leads and deals (varchar)',
    'field `leadsync_service` of leads and deals (text)',
    'field `leadsync_source` of leads and deals (text)',
    'field `leadsync_first_seen_at` of leads and deals (varchar)',
  ]);
  await expect(sink.check(NEVER)).rejects.toMatchObject({
    message: expect.stringMatching(/^Pipedrive lacks field `leadsync_key` of persons/),
    hint: '`leadsync setup sink --yes` creates what is missing.',
  });
  await setUp(sink);
  expect(await missing()).toEqual([]);
  await sink.check(NEVER);
});

test('an administrator can run the printed commands in a shell', async () => {
  const { stub, missing } = await aCompany();
  const script = (await missing()).map(({ how }) => how).join('');
  expect(script).not.toContain(stub.token);
  const lacking = (await missing()).length;
  expect((await runInShell(script, { PIPEDRIVE_TOKEN: 'wrong' })).code).not.toBe(0);
  expect(await missing()).toHaveLength(lacking);
  expect((await runInShell(script, { PIPEDRIVE_TOKEN: stub.token })).code).toBe(0);
  expect(await missing()).toEqual([]);
});

test('the fields are listed by the names for `fields`, with their types and options', async () => {
  const { stub, sink } = await aCompany({ options: { object: 'deal' } });
  const options = [{ label: 'Small' }, { label: 'Large' }];
  stub.addField('deal', { field_name: 'Number of Rooms', field_type: 'double' });
  stub.addField('deal', { field_name: 'Größe', field_type: 'enum', options });
  const twin = stub.addField('deal', { field_name: 'number-of-rooms', field_type: 'varchar' });
  await setUp(sink);
  const fields = new Map((await sink.destinationFields?.(NEVER))?.map((field) => [field.name, field]));
  expect(fields.get('name')).toMatchObject({ type: 'varchar', writable: true, maxLength: 255 });
  expect(fields.get('deal.number_of_rooms')).toMatchObject({ label: 'Number of Rooms', type: 'double' });
  expect(fields.get(`deal.field_${twin.field_code}`)).toMatchObject({
    label: 'number-of-rooms',
    maxLength: 255,
  });
  expect(fields.get('deal.größe')).toMatchObject({ options: ['Small', 'Large'] });
  expect(fields.get('deal.pipeline_id')?.options).toEqual(['1', '2']);
  expect(fields.get('deal.status')?.options).toEqual(['open', 'won', 'lost']);
  expect(fields.get('deal.label_ids')?.options).toEqual(['Urgent', 'Later']);
  expect(fields.get('leadsync_enquiries')?.writable).toBe(false);
});

test.each([
  [{ 'lead.titel': 'lead.key' }, 'there is no field `lead.titel` (did you mean "lead.title"?)'],
  [{ 'deal.title': 'lead.key' }, 'there is no field `deal.title` (did you mean "lead.title"?)'],
  [{ 'lead.size': '"Huge"' }, '`lead.size` does not accept "Huge" (it accepts Small)'],
])('check reports what the company does not accept: %o', async (fields, message) => {
  const { stub, sink } = await aCompany({ fields });
  stub.addField('deal', { field_name: 'Size', field_type: 'enum', options: [{ label: 'Small' }] });
  await setUp(sink);
  await expect(sink.check(NEVER)).rejects.toMatchObject({
    message: expect.stringContaining(message),
    hint: expect.stringContaining('leadsync fields sink'),
  });
});

test('a field that cannot store the key is reported', async () => {
  const { stub, missing } = await aCompany();
  stub.addField('deal', { field_name: 'Leadsync Key', field_type: 'double' });
  await expect(missing()).rejects.toThrow('`lead.leadsync_key` in Pipedrive has the type double');
});

test.each<[string, (stub: PipedriveStub) => unknown, string, string]>([
  [
    'the token was replaced',
    (stub) => Object.assign(stub.settings, { tokenRevoked: true }),
    'does not accept the token.',
    'Put a valid API token into `token`: Pipedrive shows it under Personal preferences, API. A new token invalidates the old one.',
  ],
  [
    'the company does not pay',
    (stub) => Object.assign(stub.settings, { accountOpen: false }),
    'is closed because its subscription is not paid.',
    'Ask its administrator to check the billing in Pipedrive.',
  ],
  [
    'another program answers',
    (stub) => stub.misbehave({ fault: 'html' }),
    "answered HTTP 200, but not in Pipedrive's format.",
    'Check `domain`, and whether a proxy answers in place of Pipedrive.',
  ],
])('check and a test lead report the cause if %s', async (_, spoil, message, hint) => {
  const { sink, stub } = await aCompany();
  await setUp(sink);
  spoil(stub);
  for (const tried of [sink.check(NEVER), sink.test(testBatch('sink', new Date()), NEVER)]) {
    const failure = await tried.then(
      () => undefined,
      (error) => error as Error & { hint: string },
    );
    expect(failure?.message).toContain(message);
    expect(failure?.hint).toContain(hint);
  }
});

test('setup names the permission that the user lacks', async () => {
  const { sink, stub } = await aCompany();
  stub.settings.mayEditFields = false;
  await expect(setUp(sink)).rejects.toMatchObject({
    message: expect.stringContaining('The user of the token may not do this'),
    hint: expect.stringContaining('Give the user the permission in Pipedrive'),
  });
  stub.settings.mayEditFields = true;
  stub.settings.customFieldsLeft = 0;
  await expect(setUp(sink)).rejects.toThrow('has no room for more (feature_capping_custom_fields_limit)');
});

test.each(['POST /leads', 'POST /notes', 'POST /persons'] as const)(
  'a test lead leaves the company as it was, even if %s fails or its answer is lost',
  async (at) => {
    const { sink, stub } = await aCompany();
    await setUp(sink);
    expect(await sink.test(testBatch('sink', new Date()), NEVER)).toMatchObject({ arrived: true });
    for (const fault of ['server-error', 'cut-after-storing'] as const) {
      stub.misbehave({ at, fault, times: 1 });
      const tried = await sink.test(testBatch('sink', new Date()), NEVER).catch(() => ({ arrived: false }));
      expect(tried.arrived).toBe(false);
    }
    const { persons, leads, notes } = stub.records;
    expect(persons.filter(({ is_deleted }) => !is_deleted)).toEqual([]);
    expect([leads, notes]).toEqual([[], []]);
  },
);

const withField = (name: string) =>
  `${SOURCE}sinks:\n  crm:\n    type: pipedrive\n    domain: https://example.pipedrive.com\n    token: t\n    fields:\n      ${name}: lead.key\n`;

describe('a name in `fields` of a pipedrive sink', () => {
  test.each([
    'email',
    'lead.value',
    'deal.größe',
    'lead.field_0123456789abcdef0123456789abcdef01234567',
    'lead.note',
  ])('can be %s', (name) => {
    expect(faultsOf(withField(name), {}, sinkTypes)).toEqual([]);
  });

  test.each([
    [
      'person.email',
      'is not a field: write a field of the person as it is, and one of the lead or deal as `lead.NAME` or `deal.NAME`',
    ],
    ['deal.value.net', 'is not a field: a name has at most one dot, as in `deal.value`'],
    [
      'Email',
      'is not a field: write its name in Pipedrive in lower case, with _ in place of everything else, as `leadsync fields` lists it',
    ],
    ['leadsync_enquiries', 'is a field that leadsync writes itself'],
    ['deal.leadsync_url', 'is a field that leadsync writes itself'],
  ])('cannot be %s, and the error has the right form', (name, fault) => {
    expect(faultsOf(withField(name), {}, sinkTypes)).toEqual([
      `12:7: sinks.crm.fields: \`${name}\` ${fault}; use another name`,
    ]);
  });
});
