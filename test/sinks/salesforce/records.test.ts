import { afterEach, describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { aDeliveryOf, closeScenes, keyOf, kinds, reason, remark, scene } from './salesforce-scene.ts';

const NEVER = new AbortController().signal;

afterEach(closeScenes);

describe('a value of a wrong type', () => {
  test.each(['record', 'request'] as const)(
    '(%s) does not prevent the lead or others from arriving',
    async (unreadableRecord) => {
      const open = { fields: { NumberOfEmployees: 'lead.id == 2 ? "many" : "7"' } };
      const { stub, deliver, leads } = await scene(open, { questions: { unreadableRecord } });
      const outcomes = await deliver(1, 2, 3);
      expect(kinds(outcomes)).toEqual(Array(3).fill('delivered'));
      expect(remark(outcomes[1])).toContain('`NumberOfEmployees` was left out: it takes a number');
      expect(leads().map((lead) => lead['NumberOfEmployees'] ?? null)).toEqual([7, null, 7]);
      // The field gets another type while leads flow: only its own lead is refused.
      stub.changeField('Lead', 'Leadsync_Source__c', { type: 'double', precision: 18 });
      expect(kinds(await deliver(4))).toEqual(['refused']);
    },
  );
});

describe('an email address that Salesforce does not accept', () => {
  const email = 'a@b.c_d.example';

  test('is left out and kept as typed in another field, and the client arrives', async () => {
    const { deliver, leads } = await scene({ fields: { Email: 'lead.client_email' } });
    const outcomes = await deliver(1, aDeliveryOf(2, { client_email: email }), 3);
    expect(kinds(outcomes)).toEqual(Array(3).fill('delivered'));
    expect(remark(outcomes[1])).toContain('`Email` was left out: Salesforce does not accept its value');
    expect(remark(outcomes[1])).toContain('`Leadsync_Email_As_Typed__c`');
    expect(leads().map(({ Email }) => Email ?? null)).toEqual([
      'client1@example.com',
      'client3@example.com',
      null,
    ]);
    expect(leads()[2]?.['Leadsync_Email_As_Typed__c']).toBe(email);
  });

  test('stays in the description if there is no field for it', async () => {
    const fields = { Email: 'lead.client_email', LastName: 'lead.client_name' };
    const { deliver, leads } = await scene({ options: { standard_fields: false }, fields });
    const [outcome] = await deliver(aDeliveryOf(1, { client_email: email }));
    expect(remark(outcome)).toContain('`Description`');
    expect(leads()[0]?.['Description']).toBe(`Email: ${email}`);
    expect(leads()[0]).not.toHaveProperty('Email');
  });
});

describe('a lead that users have edited', () => {
  test('is not overwritten by a repeat, even with `overwrite: always`', async () => {
    const { stub, deliver, leads } = await scene({ options: { overwrite: 'always' } });
    await deliver(1);
    stub.change(String(leads()[0]?.Id), { LastName: 'Corrected', Phone: null });
    expect(kinds(await deliver(1))).toEqual(['delivered']);
    expect(leads()[0]).toMatchObject({ LastName: 'Corrected', Phone: expect.stringMatching(/\d/) });
  });

  test.each([
    ['never', 'Corrected', null],
    ['empty', 'Corrected', '+61'],
    ['always', 'Smith', '+61'],
  ] as const)('gets from an update what `overwrite: %s` allows', async (overwrite, name, phone) => {
    const { stub, deliver, leads } = await scene({ options: { overwrite } });
    await deliver(aDeliveryOf(1, { client_name: 'Eve Smith' }));
    stub.change(String(leads()[0]?.Id), { LastName: 'Corrected', Phone: null });
    const updated = aDeliveryOf(
      1,
      { client_name: 'Eve Smith', client_phone_number: '0412 345 678' },
      { event: 'updated', version: 2 },
    );
    expect(kinds(await deliver(updated))).toEqual(['delivered']);
    const [lead] = leads();
    expect([lead?.['LastName'], String(lead?.['Phone'] ?? '').slice(0, 3) || null]).toEqual([name, phone]);
  });

  test('that is converted is delivered with a remark', async () => {
    const { stub, deliver, leads } = await scene({ options: { overwrite: 'always' } });
    await deliver(1);
    stub.change(String(leads()[0]?.Id), { IsConverted: true });
    const [outcome] = await deliver(aDeliveryOf(1, {}, { event: 'updated', version: 2 }));
    expect(remark(outcome)).toContain('converted');
    expect(outcome).toMatchObject({ ref: { object: 'lead', id: leads()[0]?.Id } });
  });

  test.each(['creates', 'ENTITY_IS_DELETED'] as const)(
    'that is deleted (%s) is not created by an update',
    async (deletedKey) => {
      const { stub, deliver, leads } = await scene({}, { questions: { deletedKey } });
      await deliver(1);
      stub.remove(String(leads()[0]?.Id));
      const [outcome] = await deliver(aDeliveryOf(1, {}, { event: 'updated', version: 2 }));
      expect(remark(outcome)).toContain('deleted');
      expect(leads()).toEqual([]);
      expect(kinds(await deliver(1))).toEqual([deletedKey === 'creates' ? 'delivered' : 'refused']);
    },
  );

  test('keeps its owner', async () => {
    const { stub, deliver, leads } = await scene();
    stub.settings.assignmentRule = {
      id: '01Q5g0000000001EAA',
      owners: ['0055g0000000009AAA', '0055g0000000008AAA'],
    };
    await deliver(1);
    const owner = leads()[0]?.['OwnerId'];
    expect(owner).toBe('0055g0000000009AAA');
    stub.change(String(leads()[0]?.Id), { Phone: null });
    await deliver(aDeliveryOf(1, {}, { event: 'updated', version: 2 }));
    expect(leads()[0]?.['OwnerId']).toBe(owner);
    expect(stub.requests.at(-1)?.headers['sforce-auto-assign']).toBe('FALSE');
  });
});

describe('assignment', () => {
  test.each([
    [{}, {}, 'TRUE'],
    [{ assignment: false }, {}, 'FALSE'],
    [{}, { OwnerId: '"0055g0000000009AAA"' }, 'FALSE'],
  ] as const)('of %j with %j requests %s', async (options, fields, header) => {
    const { stub, deliver } = await scene({ options, fields });
    await deliver(1);
    const made = stub.requests.findLast(({ method }) => method === 'PATCH');
    expect(made?.headers['sforce-auto-assign']).toBe(header);
  });

  test('by a rule that does not exist holds the sink', async () => {
    const { deliver } = await scene({ options: { assignment: '01Q5g0000000099EAA' } });
    expect(reason((await deliver(1))[0])).toContain('Correct `assignment`');
  });
});

test('a thousand leads take ten requests, and none has more than 200', async () => {
  const { stub, deliver, leads } = await scene();
  await deliver(1);
  const before = stub.requests.length;
  await deliver(...Array.from({ length: 1_000 }, (_, at) => at + 2));
  expect(stub.requests.length - before).toBe(10);
  expect(leads()).toHaveLength(1_001);
});

test('takes as many requests as the README says', async () => {
  const { stub, deliver } = await scene({ options: { duplicates: 'update', overwrite: 'always' } });
  const costOf = async (...leads: (number | Delivery)[]) => {
    const before = stub.usage.used;
    await deliver(...leads);
    return stub.usage.used - before;
  };
  const update = (id: number) =>
    aDeliveryOf(id, { client_name: 'New Name' }, { event: 'updated', version: 2 });
  expect(await costOf(1, 2)).toBe(3); // with the fields of leads
  expect(await costOf(3, 4)).toBe(2);
  expect(await costOf(1, 2, 3, 4)).toBe(1);
  expect(await costOf(update(1), update(2))).toBe(2);
  expect(await costOf(5, aDeliveryOf(6, { client_email: 'a@b.c_d.example' }))).toBe(4);
  stub.settings.duplicateRule = 'alert';
  expect(await costOf(aDeliveryOf(7, { client_email: 'client1@example.com' }))).toBe(5);
  stub.settings.validationRule = { message: 'No', refuses: ({ Phone }) => Phone === '+61412345678' };
  expect(await costOf(8, aDeliveryOf(9, { client_phone_number: '0412 345 678' }))).toBe(3);
});

test('an erasure deletes the leads of a person by their keys, and counts them', async () => {
  const { sink, deliver, leads } = await scene();
  await deliver(1, 2);
  const person = { rejected: [], leads: [1n, 7n].map((leadId) => ({ source: 'main', leadId })) };
  expect(await sink.erase?.(person, NEVER)).toEqual({
    deleted: { lead: 1 },
    kept: [],
    remark: expect.stringContaining('recycle bin'),
    unfound: undefined,
  });
  expect(leads().map(keyOf)).toEqual(['main:2']);
});

test('an erasure names the records that users converted a lead to, which stay', async () => {
  const { stub, sink, deliver, leads } = await scene();
  await deliver(1);
  const ConvertedContactId = '003000000000001AAA';
  stub.change(String(leads()[0]?.Id), { IsConverted: true, ConvertedContactId });
  const person = { rejected: [], leads: [{ source: 'main', leadId: 1n }] };
  expect(await sink.erase?.(person, NEVER)).toMatchObject({
    deleted: { lead: 1 },
    kept: [
      {
        object: 'contact',
        id: ConvertedContactId,
        url: `${stub.url}/${ConvertedContactId}`,
        why: 'a lead was converted to it',
      },
    ],
  });
});

test('an erasure reports that enquiries may be in other leads, where leadsync cannot find them', async () => {
  const { sink, deliver } = await scene({ options: { duplicates: 'update' } });
  await deliver(1);
  const erase = (...ids: readonly bigint[]) =>
    sink.erase?.({ rejected: [], leads: ids.map((leadId) => ({ source: 'main', leadId })) }, NEVER);
  expect(await erase(1n, 2n)).toMatchObject({
    deleted: { lead: 1 },
    unfound: expect.stringContaining('`duplicates: update`'),
  });
});

test('an erasure fails with the reason if the org does not have the key field', async () => {
  const { stub, sink } = await scene();
  stub.removeField('Lead', 'Leadsync_Key__c');
  const person = { rejected: [], leads: [{ source: 'main', leadId: 1n }] };
  await expect(sink.erase?.(person, NEVER)).rejects.toThrow('`Leadsync_Key__c`');
});
