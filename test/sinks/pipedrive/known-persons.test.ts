import { describe, expect, test } from 'vitest';
import type { PipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import { anEnquiry, contact, customValue, send } from './an-enquiry.ts';
import { aCompany, outcomesOf } from './open-pipedrive.ts';

const DELIVERED = expect.objectContaining({ kind: 'delivered' });
const OLD = { client_name: 'Anna Old', client_phone_number: '+61411111111', ...livingAt('1 Old Street') };
const NEW = { client_name: 'Anna New', client_phone_number: '+61422222222', ...livingAt('2 New Street') };

describe('a difference between an enquiry and its known person', () => {
  test.each([
    ['one batch', 'never'],
    ['two batches', 'never'],
    ['one batch', 'empty'],
    ['two batches', 'empty'],
  ] as const)('in %s is in the note of the enquiry (overwrite: %s)', async (how, overwrite) => {
    const { stub, open } = await aCompany({ options: { overwrite } });
    await deliver(open(), how, [anEnquiry(1, OLD), anEnquiry(2, NEW)]);
    expect(heldOf(stub)).toEqual({ name: 'Anna Old', phones: ['+61411111111'], address: '1 Old Street' });
    const [first, second] = stub.records.notes.map(({ content }) => content);
    expect(first).not.toContain('came with');
    expect(second).toContain(
      'came with:<br>Name: Anna New<br>Phone: +61422222222<br>Address: 2 New Street</p>',
    );
  });

  test.each(['one batch', 'two batches'])(
    'in %s replaces the values of the person with overwrite: always',
    async (how) => {
      const { stub, open } = await aCompany({ options: { overwrite: 'always' } });
      await deliver(open(), how, [anEnquiry(1, OLD), anEnquiry(2, NEW)]);
      expect(heldOf(stub)).toMatchObject({ name: 'Anna New', address: '2 New Street' });
      expect(heldOf(stub).phones[0]).toBe('+61422222222');
      const told = [...heldOf(stub).phones, ...stub.records.notes.map(({ content }) => content)].join('\n');
      expect(told).toContain('+61411111111');
    },
  );

  test.each(['lead', 'none'] as const)(
    'becomes a note even with `note: false` (object: %s)',
    async (object) => {
      const { stub, open } = await aCompany({ options: { object, note: false } });
      await deliver(open(), 'two batches', [anEnquiry(1, OLD), anEnquiry(2, NEW)]);
      expect(stub.records.notes.map(({ content }) => content)).toEqual([
        expect.stringMatching(/came with:<br>Name: Anna New<br>Phone: \+61422222222<br>.*leadsync main:2/),
      ]);
    },
  );

  test('does not include another spelling of the same value', async () => {
    const { stub, open } = await aCompany();
    await outcomesOf(open(), [anEnquiry(1, { ...OLD, client_phone_number: '(02) 9999-1234x' })]);
    const same = { ...OLD, client_phone_number: '02 99991234X', client_email: 'Anna@Example.com' };
    await outcomesOf(open(), [anEnquiry(2, { ...same, ...livingAt('1 old street ') })]);
    expect(stub.records.notes.filter(({ content }) => content.includes('came with'))).toEqual([]);
  });

  test('in an update is reported in a remark, without the values', async () => {
    const { open } = await aCompany();
    await outcomesOf(open(), [anEnquiry(1, OLD)]);
    expect(await outcomesOf(open(), [anEnquiry(1, NEW, { event: 'updated', version: 2 })])).toMatchObject([
      {
        kind: 'delivered',
        remark: 'The person in Pipedrive keeps another value in `name`, `phone`, `leadsync_address`.',
      },
    ]);
  });
});

describe('overwrite: always', () => {
  test('replaces the edits of users if the lead changes, but not if it is repeated', async () => {
    const { stub, open } = await aCompany({ options: { overwrite: 'always' } });
    await outcomesOf(open(), [anEnquiry(1)]);
    const [person] = stub.records.persons;
    await send(stub, 'PATCH', `/api/v2/persons/${person?.id}`, { name: 'Corrected', phones: [] });
    for (const delivery of [{}, { replay: true }, { mayHaveArrived: true }])
      expect(await outcomesOf(open(), [anEnquiry(1, {}, delivery)])).toEqual([DELIVERED]);
    expect(heldOf(stub)).toMatchObject({ name: 'Corrected', phones: ['+4915123456789'] });
    await outcomesOf(open(), [anEnquiry(1, {}, { replay: true }), anEnquiry(2, { client_name: 'Anna Two' })]);
    expect(heldOf(stub).name).toBe('Anna Two');
    await outcomesOf(open(), [anEnquiry(1, { client_name: 'Anna' }, { event: 'updated', version: 2 })]);
    expect(heldOf(stub).name).toBe('Anna');
  });

  test('keeps the name of a person if the enquiry has none', async () => {
    const { stub, open } = await aCompany({ options: { overwrite: 'always' } });
    await send(stub, 'POST', '/api/v2/persons', { name: 'Anna', emails: [contact('anna@example.com')] });
    await outcomesOf(open(), [anEnquiry(1, { client_name: '' })]);
    expect(heldOf(stub).name).toBe('Anna');
  });

  test('adds a phone number once, even one with letters', async () => {
    const { stub, open } = await aCompany({ options: { overwrite: 'always' } });
    for (const version of [1, 2, 3]) {
      const event = version === 1 ? 'created' : 'updated';
      await outcomesOf(open(), [anEnquiry(1, { client_phone_number: '12 Ext 5' }, { event, version })]);
    }
    expect(heldOf(stub).phones).toEqual(['12 Ext 5']);
  });
});

describe('a value for the person that Pipedrive does not accept', () => {
  const answering = (id: number, answer: string) =>
    anEnquiry(id, { service_question_answers: [{ question: 'q', slug: 'bedrooms', answer }] });

  test.each([
    [[1, 77], 'always'],
    [[1, 1, 77], 'always'],
    [[77, 1], 'empty'],
    [[77, 1, 1], 'empty'],
  ] as const)('refuses only its own enquiry: owners %j (overwrite: %s)', async (owners, overwrite) => {
    const fields = { owner_id: 'int(answer("bedrooms"))' };
    const { stub, open } = await aCompany({ fields, options: { overwrite } });
    const outcomes = await outcomesOf(
      open(),
      owners.map((owner, at) => answering(at + 1, String(owner))),
    );
    expect(outcomes).toEqual(
      owners.map((owner) =>
        owner === 1
          ? DELIVERED
          : expect.objectContaining({
              kind: 'refused',
              reason: expect.stringContaining('does not accept `owner_id`'),
            }),
      ),
    );
    expect([stub.records.persons.length, stub.records.leads.length]).toEqual([
      1,
      owners.filter((owner) => owner === 1).length,
    ]);
  });

  test('refuses only its own enquiry if it is not an option', async () => {
    const { stub, open } = await aCompany();
    stub.addField('person', { field_name: 'kind', field_type: 'enum', options: [{ label: '3' }] });
    const sink = open({ fields: { kind: 'answer("bedrooms")' } });
    expect(await outcomesOf(sink, [answering(1, '3'), answering(2, 'castle')])).toEqual([
      DELIVERED,
      expect.objectContaining({ kind: 'refused', reason: expect.stringContaining('no option of `kind`') }),
    ]);
    const [person] = stub.records.persons;
    expect(customValue(stub, 'person', person?.custom_fields, 'leadsync enquiries')).toBe('main:1');
  });

  test('leaves the others unsent if Pipedrive fails in between', async () => {
    const { stub, open } = await aCompany({
      fields: { owner_id: 'int(answer("bedrooms"))' },
      options: { overwrite: 'always' },
    });
    stub.answerNext('POST /leads', { status: 503, body: { success: false, error: 'unavailable' } });
    const outcomes = await outcomesOf(open(), [answering(1, '1'), answering(2, '77'), answering(3, '1')]);
    expect(outcomes).toMatchObject([
      { kind: 'unavailable', mayHaveArrived: true },
      { kind: 'unavailable', unsent: true },
      { kind: 'unavailable', unsent: true },
    ]);
  });
});

async function deliver(
  sink: ReturnType<Awaited<ReturnType<typeof aCompany>>['open']>,
  how: string,
  leads: readonly ReturnType<typeof anEnquiry>[],
): Promise<void> {
  const batches = how === 'one batch' ? [leads] : leads.map((lead) => [lead]);
  for (const batch of batches)
    for (const outcome of await outcomesOf(sink, batch)) expect(outcome).toEqual(DELIVERED);
}

/** Returns what the only person has. */
function heldOf(stub: PipedriveStub) {
  const [person, ...more] = stub.records.persons;
  expect(more).toEqual([]);
  return {
    name: person?.name,
    phones: person?.phones.map(({ value }) => value) ?? [],
    address: customValue(stub, 'person', person?.custom_fields, 'leadsync address'),
  };
}

function livingAt(address: string) {
  return { client_address: { friendly_address: address } };
}
