import { expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { anAccount, outcomesOf } from './open-hubspot.ts';

const DELIVERED = { kind: 'delivered' };
const THE_LEAD = aDelivery({ raw: aLead() });
const UPDATE = { ...THE_LEAD, version: 2, event: 'updated' } as const;

test.each<[string, Delivery]>([
  ['an update', UPDATE],
  ['a replay', { ...THE_LEAD, replay: true }],
])('%s of a deal without a contact does not link it again', async (_, again) => {
  const { stub, open } = await anAccount();
  await outcomesOf(open(), [THE_LEAD]);
  stub.unlinkRecords('deals', onlyId(stub.records.deals), 'contacts', onlyId(stub.records.contacts));
  expect(await outcomesOf(open(), [again])).toMatchObject([DELIVERED]);
  expect(stub.associated('deals', onlyId(stub.records.deals), 'contacts')).toEqual([]);
});

test.each<[string, Delivery]>([
  ['an update', UPDATE],
  ['a replay', { ...THE_LEAD, replay: true }],
  ['a restored ledger', THE_LEAD],
  ['an attempt that may have arrived', { ...THE_LEAD, mayHaveArrived: true }],
])('%s leaves a deal with the contact that people chose', async (_, again) => {
  const { stub, open } = await anAccount();
  await outcomesOf(open(), [THE_LEAD]);
  const [deal, contact] = [onlyId(stub.records.deals), onlyId(stub.records.contacts)];
  const partner = stub.addRecord('contacts', { email: 'partner@example.com' });
  stub.unlinkRecords('deals', deal, 'contacts', contact);
  stub.linkRecords('deals', deal, 'contacts', partner);
  expect(await outcomesOf(open(), [again])).toMatchObject([DELIVERED]);
  expect(stub.associated('deals', deal, 'contacts')).toEqual([partner]);
});

test.each<[string, Partial<Delivery>]>([
  ['a retry', {}],
  ['the retry of a replay', { replay: true, mayHaveArrived: true }],
])('a deal that an attempt made without linking it is linked by %s', async (_, how) => {
  const { stub, open } = await anAccount();
  stub.misbehave({ at: 'batch/associate', answer: 'missing-scopes' });
  expect(await outcomesOf(open(), [THE_LEAD])).toMatchObject([{ kind: 'unavailable' }]);
  expect(await outcomesOf(open(), [{ ...THE_LEAD, ...how }])).toMatchObject([DELIVERED]);
  const contact = onlyId(stub.records.contacts);
  expect(stub.associated('deals', onlyId(stub.records.deals), 'contacts')).toEqual([contact]);
});

test('after an empty list of contacts, a retry links the deal', async () => {
  const { stub, open } = await anAccount();
  stub.misbehave({ at: 'batch/associate', answer: 'missing-scopes' });
  expect(await outcomesOf(open(), [THE_LEAD])).toMatchObject([{ kind: 'unavailable' }]);
  const deal = onlyId(stub.records.deals);
  const body = { status: 'COMPLETE', results: [{ from: { id: deal }, to: [] }] };
  stub.misbehave({ at: 'deals/contacts/batch/read', answer: { status: 200, body } });
  expect(await outcomesOf(open(), [THE_LEAD])).toMatchObject([DELIVERED]);
  expect(stub.associated('deals', deal, 'contacts')).toEqual([onlyId(stub.records.contacts)]);
});

function onlyId([record]: readonly { readonly id: string }[]): string {
  return record?.id ?? 'none';
}
