import { expect, onTestFinished, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { startHubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { type HubSpotInput, openHubSpot, setUp } from './open-hubspot.ts';

const NEVER = new AbortController().signal;

/** An account that is set up, and a function that returns the requests of the delivery of a batch. */
async function anAccount(options: HubSpotInput = {}) {
  const stub = await startHubSpotStub();
  const sink = openHubSpot(stub, { options });
  onTestFinished(async () => {
    await sink.close();
    await stub.close();
  });
  await setUp(sink);
  await sink.check(NEVER); // reads the account
  return {
    stub,
    requestsOf: async (deliveries: readonly Delivery[]) => {
      const before = stub.requestCount;
      const outcomes = await sink.deliver(aBatch(deliveries), NEVER);
      expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['delivered']));
      return stub.requests
        .slice(before - stub.requestCount)
        .map(({ path }) => path.replace(/^\/crm\/(objects|associations)\/2026-09\/|batch\//g, ''));
    },
  };
}

/** A hundred leads, each of a person of its own. */
const hundred = (changes: Parameters<typeof aLead>[0] = {}) =>
  Array.from({ length: 100 }, (_, at) =>
    aDelivery({
      leadId: BigInt(at + 1),
      raw: aLead({ id: at + 1, client_email: `person${at + 1}@example.com`, ...changes }),
    }),
  );

test('a hundred new persons with a deal each cost five requests, and a repeat three', async () => {
  const { stub, requestsOf } = await anAccount();
  expect(await requestsOf(hundred())).toEqual([
    'deals/read',
    'contacts/read',
    'contacts/create',
    'deals/upsert',
    'contacts/deals/associate/default',
  ]);
  expect(await requestsOf(hundred())).toEqual(['deals/read', 'contacts/read', 'deals/contacts/read']);
  expect(stub.records.contacts).toHaveLength(100);
  expect(stub.records.deals).toHaveLength(100);
});

test('known persons who lack a property cost five requests', async () => {
  const { stub, requestsOf } = await anAccount();
  for (let at = 1; at <= 100; at += 1) stub.addRecord('contacts', { email: `person${at}@example.com` });
  expect(await requestsOf(hundred())).toEqual([
    'deals/read',
    'contacts/read',
    'contacts/update',
    'deals/upsert',
    'contacts/deals/associate/default',
  ]);
});

test('a lead without an email address costs two requests more', async () => {
  const { requestsOf } = await anAccount();
  const [first, ...others] = hundred();
  const without = { ...(first as Delivery), raw: aLead({ id: 1, client_email: '' }) };
  expect(await requestsOf([without, ...others])).toEqual([
    'deals/read',
    'contacts/read',
    'contacts/read',
    'contacts/create',
    'contacts/upsert',
    'deals/upsert',
    'contacts/deals/associate/default',
  ]);
});

test.each([
  ['lead', ['leads/read', 'contacts/read', 'contacts/create', 'leads/create']],
  ['none', ['contacts/read', 'contacts/create']],
] as const)('with `object: %s`, a hundred new persons cost less', async (object, requests) => {
  const { requestsOf } = await anAccount({ object });
  expect(await requestsOf(hundred())).toEqual(requests);
});
