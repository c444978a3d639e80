import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import type { HubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { anAccount, outcomesOf, type PreparedAccount } from './open-hubspot.ts';

const DELIVERED = { kind: 'delivered' };
const HOW = ['one batch', 'two batches'] as const;

describe.each(['deal', 'lead', 'none'] as const)(
  'a second enquiry with other details (object: %s)',
  (object) => {
    const second = {
      client_phone_number: '0400 222 222',
      client_name: 'Bert Two',
      client_address: { friendly_address: 'Second Street' },
    };

    test.each(['never', 'empty', 'always'] as const)(
      'ends the same in one batch and in two (overwrite: %s)',
      async (overwrite) => {
        const ends = [];
        for (const how of HOW) {
          const account = await anAccount({ options: { object, overwrite } });
          await deliver(account, how, [
            enquiry(1, { client_phone_number: '0400 111 111' }),
            enquiry(2, second),
          ]);
          ends.push(withoutTimes(account.stub));
        }
        expect(ends[0]).toEqual(ends[1]);
      },
    );

    test.each(HOW)('has a remark on what the contact does not take over, in %s', async (how) => {
      const account = await anAccount({ options: { object } });
      const outcomes = await deliver(account, how, [
        enquiry(1, { client_phone_number: '0400 111 111' }),
        enquiry(2, second),
      ]);
      expect(outcomes).toMatchObject([
        DELIVERED,
        { remark: expect.stringMatching(/^The contact .*`phone`.*as it is\.$/) },
      ]);
      expect(outcomes[0]).not.toHaveProperty('remark');
      expect(account.stub.records.contacts).toMatchObject([{ properties: { phone: '+61400111111' } }]);
    });
  },
);

test.each(['deal', 'lead'] as const)(
  'the %s of each enquiry has the client as typed in it',
  async (object) => {
    const account = await anAccount({ options: { object } });
    await deliver(account, 'two batches', [
      enquiry(1, { client_phone_number: '0400 111 111' }),
      enquiry(2, {
        client_phone_number: '0400 222 222',
        client_email: 'Anna@Example.com',
        client_address: { friendly_address: 'Second Street' },
      }),
    ]);
    const [first, second] = account.stub.records[`${object}s`].map(
      ({ properties }) => properties['leadsync_answers'],
    );
    expect(first).toMatch(
      /^Phone: 0400 111 111\nEmail: anna@example\.com\nName: Anna Müller\nAddress: Footscray, VIC, 3011\nHow many/,
    );
    expect(second).toMatch(
      /^Phone: 0400 222 222\nEmail: Anna@Example\.com\nName: Anna Müller\nAddress: Second Street\nHow many/,
    );
  },
);

test.each([
  ['empty', /^The contact .*`phone`.* The deal in HubSpot has another value in `leadsync_answers`, which/],
  ['always', undefined],
] as const)(
  'an update with overwrite: %s has a remark on what no record takes over',
  async (overwrite, remark) => {
    const { open } = await anAccount({ options: { overwrite } });
    await outcomesOf(open(), [enquiry(1)]);
    const changed = enquiry(1, { client_phone_number: '0400 222 222' });
    const [outcome] = await outcomesOf(open(), [{ ...changed, version: 2, event: 'updated' }]);
    expect(outcome).toMatchObject(
      remark ? { ...DELIVERED, remark: expect.stringMatching(remark) } : DELIVERED,
    );
    if (!remark) expect(outcome).not.toHaveProperty('remark');
  },
);

test('a detail that the client left empty has no line', async () => {
  const account = await anAccount();
  await outcomesOf(account.open(), [
    enquiry(1, { client_email: '', client_address: null, service_question_answers: [] }),
  ]);
  expect(account.stub.records.deals[0]?.properties['leadsync_answers']).toBe(
    'Phone: +49 151 23456789\nName: Anna Müller',
  );
});

test.each([
  ['client_address', { friendly_address: 'x'.repeat(70_000) }],
  ['client_email', 'x'.repeat(70_000)],
  ['client_name', 'x'.repeat(70_000)],
  ['client_name', `${'x'.repeat(70_000)} ${'y'.repeat(70_000)}`],
  ['client_phone_number', '1'.repeat(70_000)],
  ['service_name', 'x'.repeat(70_000)],
])('a text that is longer than HubSpot takes is cut: %s', async (field, value) => {
  for (const object of ['deal', 'none'] as const) {
    const { stub, open } = await anAccount({ options: { object } });
    expect(await outcomesOf(open(), [enquiry(1, { [field]: value })])).toMatchObject([DELIVERED]);
    expect(stub.records.contacts).toHaveLength(1);
  }
});

test.each(['one batch', 'two batches'] as const)(
  'a value that HubSpot refuses costs no other enquiry of the person (%s)',
  async (how) => {
    const account = await anAccount({ fields: { numemployees: 'answer("bedrooms")' } });
    const outcomes = await deliver(account, how, [
      enquiry(1, answering('many')),
      enquiry(2, answering('1-5')),
      enquiry(3, answering('1-5')),
    ]);
    expect(outcomes).toMatchObject([{ kind: 'refused' }, DELIVERED, DELIVERED]);
    expect(account.stub.records.contacts).toHaveLength(1);
    expect(account.stub.records.deals.map(({ properties }) => properties['leadsync_key'])).toEqual([
      'main:2',
      'main:3',
    ]);
  },
);

describe('with overwrite: always, what people wrote into a contact', () => {
  test.each(['deal', 'none'] as const)(
    'outlives a repeat of its lead, and not an update (object: %s)',
    async (object) => {
      const { stub, open } = await anAccount({ options: { object, overwrite: 'always' } });
      await outcomesOf(open(), [enquiry(1)]);
      stub.editRecord('contacts', stub.records.contacts[0]?.id ?? '', { firstname: 'Corrected' });
      await outcomesOf(open(), [enquiry(1)]);
      await outcomesOf(open(), [{ ...enquiry(1), replay: true }]);
      expect(stub.records.contacts).toMatchObject([{ properties: { firstname: 'Corrected' } }]);
      await outcomesOf(open(), [{ ...enquiry(1), version: 2, event: 'updated' }]);
      expect(stub.records.contacts).toMatchObject([{ properties: { firstname: 'Anna' } }]);
    },
  );
});

/** Delivers leads in one batch, or each in one of its own. */
async function deliver(
  { open }: PreparedAccount,
  how: (typeof HOW)[number],
  leads: readonly Delivery[],
): Promise<readonly Outcome[]> {
  if (how === 'one batch') return outcomesOf(open(), leads);
  const outcomes: Outcome[] = [];
  for (const lead of leads) outcomes.push(...(await outcomesOf(open(), [lead])));
  return outcomes;
}

/** Returns the records of an account without their times. */
function withoutTimes({ records }: HubSpotStub) {
  return [...records.contacts, ...records.deals, ...records.leads].map(({ id, properties }) => {
    const entries = Object.entries(properties).filter(([name]) => !/date$/.test(name));
    return { id, properties: Object.fromEntries(entries.sort()) };
  });
}

function enquiry(id: number, fields: Readonly<Record<string, unknown>> = {}): Delivery {
  return aDelivery({ leadId: BigInt(id), raw: aLead({ id, client_email: 'anna@example.com', ...fields }) });
}

function answering(answer: string) {
  return { service_question_answers: [{ question: 'Bedrooms?', slug: 'bedrooms', answer }] };
}
