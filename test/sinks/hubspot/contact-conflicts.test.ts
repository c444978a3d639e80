import { expect, test } from 'vitest';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { anAccount, outcomesOf } from './open-hubspot.ts';

const DELIVERED = { kind: 'delivered' };
const THE_LEAD = aDelivery({ raw: aLead({ client_email: 'person1@example.com' }) });

test('leadsync does not change the contact of another client that HubSpot names for such a conflict', async () => {
  const { stub, open } = await anAccount({ options: { overwrite: 'always' } });
  const id = stub.addRecord('contacts', { email: 'other@example.com', firstname: 'Other' });
  const body = {
    status: 'error',
    category: 'CONFLICT',
    message: `Contact already exists. Existing ID: ${id}`,
  };
  stub.misbehave({ at: 'contacts/batch/create', answer: { status: 409, body } });
  const [outcome] = await outcomesOf(open(), [THE_LEAD]);
  expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('another contact') });
  expect(stub.records.contacts).toMatchObject([
    { properties: { email: 'other@example.com', firstname: 'Other' } },
  ]);
});

test.each([true, false])(
  'a contact whose address was cleared stays without one if another contact has it (read finds secondary: %s)',
  async (readFindsSecondaryEmail) => {
    const { stub, open } = await anAccount({}, { readFindsSecondaryEmail });
    await outcomesOf(open(), [THE_LEAD]);
    stub.editRecord('contacts', stub.records.contacts[0]?.id ?? '', { email: '' });
    stub.addRecord('contacts', { email: 'boss@example.com', hs_additional_emails: 'person1@example.com' });
    expect(await outcomesOf(open(), [THE_LEAD])).toMatchObject([DELIVERED]);
    expect(stub.records.contacts.map(({ properties }) => properties['email'])).toEqual([
      undefined,
      'boss@example.com',
    ]);
  },
);
