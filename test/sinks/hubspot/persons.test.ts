import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Person } from '../../../src/leads/person.ts';
import type { HubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { anAccount, onceAfter, outcomesOf } from './open-hubspot.ts';

const NEVER = new AbortController().signal;
const DELIVERED = expect.objectContaining({ kind: 'delivered' });

describe('persons and enquiries', () => {
  test('the same lead twice is one contact and one deal', async () => {
    const { stub, open } = await anAccount();
    const [first] = await outcomesOf(open(), [enquiry(1)]);
    const [second] = await outcomesOf(open(), [enquiry(1)]);
    expect([first, second]).toEqual([DELIVERED, DELIVERED]);
    expect(second).toEqual(first);
    expect(heldBy(stub)).toEqual([{ email: 'anna@example.com', deals: ['main:1'] }]);
  });

  test.each(['one batch', 'two batches', 'two batches at once'])(
    'two enquiries of one person in %s are one contact and two deals',
    async (how) => {
      const { stub, open } = await anAccount();
      const [one, two] = [enquiry(1), enquiry(2, { client_email: 'Anna@Example.COM' })];
      const attempts =
        how === 'one batch'
          ? [outcomesOf(open(), [one, two])]
          : how === 'two batches'
            ? [
                outcomesOf(open(), [one]).then((first) =>
                  outcomesOf(open(), [two]).then((last) => [...first, ...last]),
                ),
              ]
            : [outcomesOf(open(), [one]), outcomesOf(open(), [two])];
      expect((await Promise.all(attempts)).flat()).toEqual([DELIVERED, DELIVERED]);
      expect(heldBy(stub)).toEqual([{ email: 'anna@example.com', deals: ['main:1', 'main:2'] }]);
    },
  );

  test('two simultaneous batches of a sink create the contact of a person once, without a conflict at HubSpot', async () => {
    const { stub, open } = await anAccount();
    const sink = open();
    const batches = [[enquiry(1)], [enquiry(2), enquiry(3, { client_email: 'bert@example.com' })]];
    const outcomes = await Promise.all(batches.map((batch) => outcomesOf(sink, batch)));
    expect(outcomes.flat()).toEqual([DELIVERED, DELIVERED, DELIVERED]);
    const made = stub.requests
      .filter(({ path }) => path.endsWith('/contacts/batch/create'))
      .flatMap(({ body }) => (body as { inputs: { properties: { email: string } }[] }).inputs)
      .map(({ properties }) => properties.email);
    expect(made.toSorted()).toEqual(['anna@example.com', 'bert@example.com']);
  });

  test.each(['deal', 'lead'] as const)(
    'the same lead from two processes at the same time is one contact and one %s',
    async (object) => {
      const { stub, open } = await anAccount({ options: { object } });
      const attempts = Array.from({ length: 4 }, () => outcomesOf(open(), [enquiry(1)]));
      const kinds = (await Promise.all(attempts)).flat().map(({ kind }) => kind);
      expect(kinds).toContain('delivered');
      expect(kinds).not.toContain('refused');
      expect(await outcomesOf(open(), [enquiry(1)])).toEqual([DELIVERED]);
      expect([stub.records.contacts.length, stub.records[`${object}s`].length]).toEqual([1, 1]);
    },
  );

  test.each([{ readFindsSecondaryEmail: true }, { readFindsSecondaryEmail: false }])(
    'a secondary address finds its contact (%o)',
    async (answers) => {
      const { stub, open } = await anAccount({}, answers);
      stub.addRecord('contacts', {
        email: 'office@example.com',
        hs_additional_emails: 'anna@example.com;a@example.com',
      });
      const leads = [
        enquiry(1),
        enquiry(2, { client_email: 'A@example.com' }),
        enquiry(3, { client_email: 'office@example.com' }),
      ];
      expect(await outcomesOf(open(), leads)).toEqual([DELIVERED, DELIVERED, DELIVERED]);
      expect(heldBy(stub)).toEqual([{ email: 'office@example.com', deals: ['main:1', 'main:2', 'main:3'] }]);
    },
  );

  test.each([{ updateNamesMerged: true }, { updateNamesMerged: false }])(
    'a merged contact gets the next enquiry of either address (%o)',
    async (answers) => {
      const { stub, open } = await anAccount({ options: { overwrite: 'always' } }, answers);
      await outcomesOf(open(), [enquiry(1), enquiry(2, { client_email: 'other@example.com' })]);
      const [one = '', other = ''] = stub.records.contacts.map(({ id }) => id);
      stub.mergeContacts(other, one);
      const next = [enquiry(3), enquiry(4, { client_email: 'other@example.com' })];
      expect(await outcomesOf(open(), next)).toEqual([DELIVERED, DELIVERED]);
      expect(heldBy(stub)).toEqual([
        { email: 'other@example.com', deals: ['main:2', 'main:1', 'main:3', 'main:4'] },
      ]);
    },
  );

  test('the next attempt updates a contact that is merged between reading and updating', async () => {
    const { stub, open } = await anAccount(
      { options: { overwrite: 'always' } },
      { updateNamesMerged: false },
    );
    await outcomesOf(open(), [enquiry(1), enquiry(2, { client_email: 'other@example.com' })]);
    const [one = '', other = ''] = stub.records.contacts.map(({ id }) => id);
    const leads = [enquiry(3, { client_name: 'Anna Schmidt' })];
    const meanwhile = onceAfter(stub, 'contacts/batch/read', () => stub.mergeContacts(other, one));
    expect(await outcomesOf(open(), leads, { attempt: meanwhile })).toMatchObject([
      { kind: 'unavailable', mayHaveArrived: true },
    ]);
    expect(await outcomesOf(open(), leads)).toEqual([DELIVERED]);
    expect(heldBy(stub)).toEqual([{ email: 'other@example.com', deals: ['main:2', 'main:1', 'main:3'] }]);
  });

  test('a contact that a user creates between reading and creating gets the enquiry', async () => {
    const { stub, open } = await anAccount();
    const made = { email: 'anna@example.com', firstname: 'Ann', lifecyclestage: 'customer' };
    const meanwhile = onceAfter(stub, 'contacts/batch/read', () => stub.addRecord('contacts', made));
    expect(await outcomesOf(open(), [enquiry(1)], { attempt: meanwhile })).toEqual([DELIVERED]);
    expect(heldBy(stub)).toEqual([{ email: 'anna@example.com', deals: ['main:1'] }]);
    expect(stub.records.contacts[0]?.properties).toMatchObject({
      firstname: 'Ann',
      lastname: 'Müller',
      lifecyclestage: 'customer',
    });
  });

  test('a lead without an email address is found by its key', async () => {
    const { stub, open } = await anAccount();
    const lead = enquiry(1, { client_email: null });
    expect(await outcomesOf(open(), [lead, enquiry(2, { client_email: '' })])).toEqual([
      DELIVERED,
      DELIVERED,
    ]);
    expect(await outcomesOf(open(), [lead])).toEqual([DELIVERED]);
    expect(heldBy(stub)).toEqual([
      { email: undefined, deals: ['main:1'] },
      { email: undefined, deals: ['main:2'] },
    ]);
  });

  test.each([
    ['that HubSpot refuses', 'anna@example.con'],
    ['of a person whom HubSpot erased', 'gone@example.com'],
    ['that an administrator does not allow', 'anna@rival.example.com'],
  ])(
    'an email address %s is left out, kept as typed in another property, and reported to the operator',
    async (_, client_email) => {
      const { stub, open } = await anAccount();
      await fetch(`${stub.url}/crm/v3/objects/contacts/gdpr-delete`, {
        method: 'POST',
        headers: { authorization: `Bearer ${stub.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ objectId: 'gone@example.com', idProperty: 'email' }),
      });
      stub.setRule('contacts', 'email', (email) => !email.includes('rival'));
      const leads = [enquiry(1, { client_email }), enquiry(2)];
      for (const [first, second] of [await outcomesOf(open(), leads), await outcomesOf(open(), leads)])
        expect([first, second]).toEqual([
          expect.objectContaining({
            kind: 'delivered',
            remark: expect.stringMatching(/^HubSpot does not accept the email address/),
          }),
          DELIVERED,
        ]);
      expect(heldBy(stub)).toEqual([
        { email: 'anna@example.com', deals: ['main:2'] },
        { email: undefined, deals: ['main:1'] },
      ]);
      expect(stub.records.contacts[1]?.properties['leadsync_email_as_typed']).toBe(client_email);
    },
  );
});

describe('what people wrote', () => {
  test.each([
    ['never', { firstname: 'Ann', lastname: undefined, phone: '1' }],
    ['empty', { firstname: 'Ann', lastname: 'Müller', phone: '1' }],
    ['always', { firstname: 'Anna', lastname: 'Müller', phone: '+4915123456789' }],
  ] as const)('overwrite: %s decides what a known contact gets', async (overwrite, expected) => {
    const { stub, open } = await anAccount({ options: { overwrite } });
    stub.addRecord('contacts', { email: 'anna@example.com', firstname: 'Ann', phone: '1' });
    expect(await outcomesOf(open(), [enquiry(1)])).toEqual([DELIVERED]);
    const { firstname, lastname, phone } = stub.records.contacts[0]?.properties ?? {};
    expect({ firstname, lastname, phone }).toEqual(expected);
  });

  test.each([
    ['never', { description: undefined, dealname: 'Anna, urgent' }],
    ['empty', { description: 'new', dealname: 'Anna, urgent' }],
    ['always', { description: 'new', dealname: 'House Cleaning: Anna Müller' }],
  ] as const)('overwrite: %s decides what an update changes in its deal', async (overwrite, expected) => {
    const { stub, open } = await anAccount({
      options: { overwrite },
      fields: { 'deal.description': 'delivery.event == "updated" ? "new" : ""' },
    });
    await outcomesOf(open(), [enquiry(1)]);
    const [deal] = stub.records.deals;
    stub.editRecord('deals', deal?.id ?? '', { dealname: 'Anna, urgent', dealstage: 'contractsent' });
    expect(await outcomesOf(open(), [{ ...enquiry(1), version: 2, event: 'updated' }])).toEqual([DELIVERED]);
    const { dealname, description, dealstage } = stub.records.deals[0]?.properties ?? {};
    expect({ dealname, description, dealstage }).toEqual({ ...expected, dealstage: 'contractsent' });
  });

  test.each([
    { lifecycleBackward: 'ignored', overwrite: 'always' },
    { lifecycleBackward: 'refused', overwrite: 'always' },
    { lifecycleBackward: 'refused', overwrite: 'empty' },
  ] as const)(
    'the lifecycle stage of a client does not go back (%o)',
    async ({ lifecycleBackward, overwrite }) => {
      const { stub, open } = await anAccount({ options: { overwrite } }, { lifecycleBackward });
      stub.addRecord('contacts', { email: 'anna@example.com', lifecyclestage: 'customer' });
      expect(await outcomesOf(open(), [enquiry(1)])).toEqual([DELIVERED]);
      expect(stub.records.contacts[0]?.properties['lifecyclestage']).toBe('customer');
    },
  );

  test.each(['never', 'empty', 'always'] as const)(
    'a restored ledger that delivers a lead again does not change the deal that users edited (overwrite: %s)',
    async (overwrite) => {
      const { stub, open } = await anAccount({ options: { overwrite } });
      await outcomesOf(open(), [enquiry(1)]);
      const [deal] = stub.records.deals;
      stub.editRecord('deals', deal?.id ?? '', { dealstage: 'contractsent', dealname: 'Anna, urgent' });
      expect(await outcomesOf(open(), [enquiry(1)])).toEqual([DELIVERED]);
      expect(stub.records.deals).toMatchObject([
        { properties: { dealstage: 'contractsent', dealname: 'Anna, urgent' } },
      ]);
    },
  );

  test.each(['created', 'updated', 'replay'] as const)(
    'a contact whose address a user corrected is still the contact of its lead (%s)',
    async (how) => {
      const { stub, open } = await anAccount({ options: { overwrite: 'always' } });
      const leads = [enquiry(1), enquiry(2)];
      await outcomesOf(open(), leads);
      const [contact] = stub.records.contacts;
      stub.editRecord('contacts', contact?.id ?? '', { email: 'anna.mueller@example.com' });
      const event = how === 'updated' ? 'updated' : 'created';
      const again = leads.map((lead) => ({ ...lead, event, replay: how === 'replay' }) as const);
      for (const one of again) expect(await outcomesOf(open(), [one])).toEqual([DELIVERED]);
      expect(heldBy(stub)).toEqual([{ email: 'anna.mueller@example.com', deals: ['main:1', 'main:2'] }]);
    },
  );

  test('a lead whose deal was not created finds its contact by the key if a user corrected the address', async () => {
    const { stub, open } = await anAccount();
    stub.misbehave({ answer: 'internal-error', at: 'deals/batch/upsert' });
    expect(await outcomesOf(open(), [enquiry(1)])).toMatchObject([{ kind: 'unavailable' }]);
    stub.editRecord('contacts', stub.records.contacts[0]?.id ?? '', { email: 'anna.mueller@example.com' });
    expect(await outcomesOf(open(), [enquiry(1)])).toMatchObject([
      { kind: 'delivered', remark: expect.stringContaining('another email address') },
    ]);
    expect(heldBy(stub)).toEqual([{ email: 'anna.mueller@example.com', deals: ['main:1'] }]);
  });

  test('a contact without an address gets that of a later content of its lead', async () => {
    const { stub, open } = await anAccount();
    await outcomesOf(open(), [enquiry(1, { client_email: 'none' })]);
    const later = { ...enquiry(1), version: 2, event: 'updated' } as const;
    expect(await outcomesOf(open(), [later])).toEqual([DELIVERED]);
    expect(heldBy(stub)).toEqual([{ email: 'anna@example.com', deals: ['main:1'] }]);
  });

  test('a replay creates a deal again that a user deleted, and an update does not', async () => {
    const { stub, open } = await anAccount();
    await outcomesOf(open(), [enquiry(1)]);
    stub.deleteRecord('deals', stub.records.deals[0]?.id ?? '');
    const update = { ...enquiry(1), version: 2, event: 'updated' } as const;
    expect(await outcomesOf(open(), [update])).toMatchObject([
      { kind: 'delivered', remark: expect.stringContaining('deleted') },
    ]);
    expect(stub.records.deals).toEqual([]);
    expect(await outcomesOf(open(), [{ ...update, event: 'created', replay: true }])).toEqual([DELIVERED]);
    expect(heldBy(stub)).toEqual([{ email: 'anna@example.com', deals: ['main:1'] }]);
  });

  test.each(['deal', 'none'] as const)(
    'an update does not create a contact again that a user deleted (object: %s)',
    async (object) => {
      const { stub, open } = await anAccount({ options: { object } });
      await outcomesOf(open(), [enquiry(1)]);
      stub.deleteRecord('contacts', stub.records.contacts[0]?.id ?? '');
      const update = { ...enquiry(1), version: 2, event: 'updated' } as const;
      expect(await outcomesOf(open(), [update])).toMatchObject([
        { kind: 'delivered', remark: expect.stringContaining('no longer has a contact') },
      ]);
      expect(stub.records.contacts).toEqual([]);
      if (object === 'none')
        expect(await outcomesOf(open(), [{ ...update, event: 'created', replay: true }])).toEqual([
          DELIVERED,
        ]);
    },
  );

  test('a replay of a lead that HubSpot has changes nothing', async () => {
    const { stub, open } = await anAccount({ options: { overwrite: 'always' } });
    await outcomesOf(open(), [enquiry(1)]);
    const before = JSON.stringify([stub.records.contacts, stub.records.deals]);
    expect(await outcomesOf(open(), [{ ...enquiry(1), replay: true }])).toEqual([DELIVERED]);
    expect(JSON.stringify([stub.records.contacts, stub.records.deals])).toBe(before);
  });
});

/** Returns a lead of the same person. */
describe('erasing a person', () => {
  const personOf = (...ids: readonly bigint[]): Person => ({
    leads: ids.map((leadId) => ({ source: 'main', leadId })),
    rejected: [],
  });
  const found = { email: 'anna@example.com', firstname: 'Ann' };

  test.each(['deal', 'lead'] as const)(
    'keeps a contact that leadsync only found, empties its properties of leadsync, and names it (object: %s)',
    async (object) => {
      const { stub, open } = await anAccount({ options: { object } });
      const id = stub.addRecord('contacts', found);
      await outcomesOf(open(), [enquiry(1), enquiry(2)]);
      expect(stub.records.contacts[0]?.properties['leadsync_email_as_typed']).toBe('anna@example.com');
      expect(await open().erase?.(personOf(1n, 2n), NEVER)).toEqual({
        deleted: { [object]: 2 },
        kept: [
          {
            object: 'contact',
            id,
            url: expect.stringContaining(`/record/0-1/${id}`),
            why: 'leadsync did not create it; its `leadsync_…` properties were emptied',
          },
        ],
        remark: expect.stringContaining('recycling bin'),
        unfound: undefined,
      });
      const { email, firstname, leadsync_email_as_typed: typed } = stub.records.contacts[0]?.properties ?? {};
      expect([email, firstname, typed || null]).toEqual(['anna@example.com', 'Ann', null]);
      expect(stub.records[`${object}s`]).toEqual([]);
      expect(await open().erase?.(personOf(1n, 2n), NEVER)).toMatchObject({ deleted: {}, kept: [] });
    },
  );

  test('keeps the contact of another lead that is not erased, with its properties', async () => {
    const { stub, open } = await anAccount();
    await outcomesOf(open(), [enquiry(1)]);
    await outcomesOf(open(), [enquiry(2)]);
    expect(await open().erase?.(personOf(2n), NEVER)).toMatchObject({
      deleted: { deal: 1 },
      kept: [{ object: 'contact', why: 'leadsync created it for another lead, which is not erased' }],
    });
    expect(stub.records.contacts[0]?.properties).toMatchObject({
      leadsync_key: 'main:1',
      leadsync_email_as_typed: 'anna@example.com',
    });
    expect(await open().erase?.(personOf(1n), NEVER)).toMatchObject({
      deleted: { deal: 1, contact: 1 },
      kept: [],
    });
  });

  test('says with `object: none` that a contact without a key cannot be found', async () => {
    const { stub, open } = await anAccount({ options: { object: 'none' } });
    await outcomesOf(open(), [enquiry(1)]);
    expect(await open().erase?.(personOf(1n), NEVER)).toEqual({ deleted: { contact: 1 }, kept: [] });
    stub.addRecord('contacts', { email: 'bert@example.com' });
    await outcomesOf(open(), [enquiry(2, { client_email: 'bert@example.com' })]);
    expect(await open().erase?.(personOf(2n), NEVER)).toMatchObject({
      deleted: {},
      unfound: expect.stringContaining("look for it by the person's email address"),
    });
  });

  test('fails with the reason if the account does not have the property of the key', async () => {
    const { stub, open } = await anAccount();
    await outcomesOf(open(), [enquiry(1)]);
    stub.deleteProperty('deals', 'leadsync_key');
    await expect(open().erase?.(personOf(1n), NEVER)).rejects.toThrow('no property `leadsync_key` of deals');
  });
});

function enquiry(id: number, fields: Readonly<Record<string, unknown>> = {}): Delivery {
  return aDelivery({ leadId: BigInt(id), raw: aLead({ id, client_email: 'anna@example.com', ...fields }) });
}

/** Returns the contacts with the keys of their deals, oldest first. Every deal is expected to have one contact. */
function heldBy(stub: HubSpotStub) {
  const deals = new Map(stub.records.deals.map(({ id, properties }) => [id, properties['leadsync_key']]));
  for (const id of deals.keys()) expect(stub.associated('deals', id, 'contacts')).toHaveLength(1);
  return stub.records.contacts.map(({ id, properties }) => ({
    email: properties['email'],
    deals: stub.associated('contacts', id, 'deals').map((deal) => deals.get(deal)),
  }));
}
