import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { mayHaveArrived, type Outcome } from '../../../src/leads/outcome.ts';
import { LeaseOver } from '../../../src/sinks/sink-unavailable.ts';
import type { HubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { limitsOfPlans } from '../../stub/hubspot/limits.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';
import { anAccount, beforeRequest, onceAfter, outcomesOf, setUp } from './open-hubspot.ts';

const NEVER = new AbortController().signal;
const HOUR_MS = 3_600_000;
const DELIVERED = { kind: 'delivered' };
/** The outcome of a lead that waits for the destination, and that HubSpot does not have. */
const WAITING = { kind: 'unavailable' };

describe('changes by an administrator while leads are delivered', () => {
  test('a token that is revoked during a batch delays the leads until there is another', async () => {
    const { stub, open } = await anAccount();
    const attempt = onceAfter(stub, 'contacts/batch/create', () => stub.revokeToken());
    const outcomes = await outcomesOf(open(), leads(2), { attempt });
    expect(outcomes).toMatchObject([WAITING, WAITING]);
    expect(reasonOf(outcomes[0])).toMatch(/does not accept the token\. Put a valid service key/);
    stub.revokeToken('pat-eu1-another');
    expect(await outcomesOf(open({ options: { token: 'pat-eu1-another' } }), leads(2))).toMatchObject([
      DELIVERED,
      DELIVERED,
    ]);
    expectEachOnce(stub, 2);
  });

  test('after a read that fails once contacts are created, the leads may have arrived', async () => {
    const { stub, open } = await anAccount();
    const [first, second] = leads(2) as [Delivery, Delivery];
    // HubSpot does not take the address, so leadsync looks for a contact with the key of the lead.
    const wrong = { ...second, raw: aLead({ id: 2, client_email: 'anna@example.con' }) };
    const attempt = onceAfter(stub, 'contacts/batch/create', () => stub.revokeToken());
    const outcomes = await outcomesOf(open(), [first, wrong], { attempt });
    expect(stub.requests.at(-1)?.path).toContain('contacts/batch/read');
    expect(stub.records.contacts).toHaveLength(1);
    expect(outcomes).toMatchObject([WAITING, WAITING]);
    expect(outcomes.map(mayHaveArrived)).toEqual([true, true]);
  });

  test('the error names a scope that the token loses', async () => {
    const { stub, open } = await anAccount();
    stub.setScopes(['crm.objects.contacts.read', 'crm.objects.contacts.write', 'crm.objects.deals.read']);
    const [outcome] = await outcomesOf(open(), leads(1));
    expect(reasonOf(outcome)).toMatch(/lacks crm\.objects\.deals\.write\. Add the scope/);
  });

  test.each([
    [
      'leadsync_service of deals',
      'deals',
      'leadsync_service',
      /cannot write `leadsync_service`.*leadsync setup sink/,
    ],
    ['leadsync_key of deals', 'deals', 'leadsync_key', /`leadsync_key`.*unique values.*leadsync setup sink/],
    [
      'leadsync_key of contacts',
      'contacts',
      'leadsync_key',
      /cannot write `leadsync_key`.*leadsync setup sink/,
    ],
    [
      'leadsync_email_as_typed',
      'contacts',
      'leadsync_email_as_typed',
      /`leadsync_email_as_typed`.*leadsync setup sink/,
    ],
  ] as const)(
    'the deleted property %s delays the leads until it is created again',
    async (_, object, name, mend) => {
      const { stub, open } = await anAccount();
      await outcomesOf(open(), leads(1));
      stub.deleteProperty(object, name);
      const outcomes = await outcomesOf(open(), leads(3).slice(1));
      expect(outcomes).toMatchObject([WAITING, WAITING]);
      expect(reasonOf(outcomes[0])).toMatch(mend);
      const sink = open();
      await setUp(sink);
      expect(await outcomesOf(sink, leads(3).slice(1))).toMatchObject([DELIVERED, DELIVERED]);
      expectEachOnce(stub, 3);
    },
  );

  test.each(['contacts', 'deals'] as const)(
    'a validation rule of %s refuses only the leads that violate it',
    async (object) => {
      const { stub, open } = await anAccount();
      const [property, allows] =
        object === 'contacts'
          ? ['firstname', (name: string) => name !== 'Second']
          : ['dealname', (name: string) => !name.includes('Second')];
      stub.setRule(object, property as string, allows as (value: string) => boolean);
      const outcomes = await outcomesOf(open(), leads(3));
      expect(outcomes).toMatchObject([DELIVERED, { kind: 'refused' }, DELIVERED]);
      expect(reasonOf(outcomes[1])).toMatch(
        /does not accept `(firstname|dealname)` \(VALIDATION_RULE\)\. Correct/,
      );
      stub.setRule(object, property as string);
      expect(await outcomesOf(open(), leads(3))).toMatchObject([DELIVERED, DELIVERED, DELIVERED]);
      expectEachOnce(stub, 3);
    },
  );

  test('a deleted option refuses the leads that have it', async () => {
    const { stub, open } = await anAccount({
      fields: { 'deal.hs_priority': 'lead.client_name.startsWith("Second") ? "urgent" : "high"' },
    });
    const outcomes = await outcomesOf(open(), leads(3));
    expect(outcomes).toMatchObject([DELIVERED, { kind: 'refused' }, DELIVERED]);
    expect(reasonOf(outcomes[1])).toMatch(/`hs_priority` \(INVALID_OPTION\)/);
    expect(stub.records.deals).toHaveLength(2);
  });

  test('a deleted option that every lead has delays them all until the mapping is corrected', async () => {
    const { stub, open } = await anAccount({ fields: { 'deal.dealstage': '"stage-of-last-year"' } });
    const outcomes = await outcomesOf(open(), leads(2));
    expect(outcomes).toMatchObject([WAITING, WAITING]);
    expect(reasonOf(outcomes[0])).toMatch(/cannot write `dealstage`.*Correct/);
    expect(await outcomesOf(open({ fields: {} }), leads(2))).toMatchObject([DELIVERED, DELIVERED]);
    expectEachOnce(stub, 2);
  });

  test('an object that the plan no longer has is reported', async () => {
    const { stub, open } = await anAccount({ options: { object: 'lead' } });
    stub.withdrawObject('leads');
    expect(reasonOf((await outcomesOf(open(), leads(1)))[0])).toMatch(
      /does not have the object leads\..*`object`/,
    );
  });
});

describe('answers of HubSpot', () => {
  test.each(['free', undefined] as const)(
    'after the daily limit is used up at noon (%s), leadsync tries once an hour, and the next day each lead arrives once',
    async (limits) => {
      const clock = new HeldClock();
      const { stub, open } = await anAccount({ parts: { clock } }, { clock, ...(limits && { limits }) });
      const sink = open();
      const attempt = onceAfter(stub, 'contacts/batch/create', () => stub.useUpDay());
      const outcomes = await outcomesOf(sink, leads(2), { attempt });
      expect(outcomes).toMatchObject(Array(2).fill({ ...WAITING, retryAfterMs: HOUR_MS }));
      expect(reasonOf(outcomes[0])).toMatch(/limit DAILY/);
      const before = stub.requestCount;
      clock.jump(HOUR_MS / 4);
      const unsent = await outcomesOf(sink, leads(4).slice(2));
      expect(unsent).toMatchObject(Array(2).fill({ ...WAITING, unsent: true }));
      expect(unsent[0]).toHaveProperty('retryAfterMs', expect.closeTo((HOUR_MS * 3) / 4, -1));
      expect(reasonOf(unsent[0])).toMatch(/allows no more requests today\..*asks again within the hour/);
      expect(stub.requestCount).toBe(before);
      clock.jump(HOUR_MS);
      expect(await outcomesOf(sink, leads(2))).toMatchObject([WAITING, WAITING]);
      expect(await outcomesOf(sink, leads(2))).toMatchObject([WAITING, WAITING]);
      expect(stub.requestCount).toBe(before + 1);
      clock.jump(24 * HOUR_MS);
      expect(await outcomesOf(sink, leads(4))).toMatchObject(Array(4).fill(DELIVERED));
      expectEachOnce(stub, 4);
    },
  );

  test('after the last request of the day, between two of one batch, its leads may have arrived', async () => {
    const daily = await requestsUntil('contacts/batch/create');
    const clock = new HeldClock();
    const limits = { ...limitsOfPlans.free, daily };
    const { stub, open } = await anAccount({ parts: { clock } }, { clock, limits });
    const sink = open();
    const outcomes = await outcomesOf(sink, leads(2));
    expect(outcomes).toMatchObject([WAITING, WAITING]);
    expect(outcomes.map(mayHaveArrived)).toEqual([true, true]);
    expect(reasonOf(outcomes[0])).toMatch(/allows no more requests today/);
    expect(stub.requests.filter(({ status }) => status === 429)).toEqual([]);
    clock.jump(24 * HOUR_MS);
    expect(await outcomesOf(sink, leads(2))).toMatchObject([DELIVERED, DELIVERED]);
    expectEachOnce(stub, 2);
  });

  test('a check detects that the day has ended, whatever an earlier answer said', async () => {
    const clock = new HeldClock('2026-11-21T04:59:00.000Z'); // a minute before midnight in the account
    const { stub, open } = await anAccount({ parts: { clock } }, { clock, limits: 'free' });
    const sink = open();
    stub.useUpDay();
    await expect(sink.check(NEVER)).rejects.toThrow('allows no more requests now');
    clock.jump(60_000);
    expect(await outcomesOf(sink, leads(1))).toMatchObject([{ ...WAITING, unsent: true }]);
    await sink.check(NEVER);
    expect(await outcomesOf(sink, leads(1))).toMatchObject([DELIVERED]);
  });

  test.each(['html-200', 'no-body', { status: 200, body: '{}' }, { status: 200, body: '[]' }] as const)(
    'success that says nothing, in place of any answer of a delivery, is none: %o',
    async (answer) => {
      for (const at of await requestsOfADelivery()) {
        const { stub, open } = await anAccount();
        const attempt = beforeRequest(at, () => stub.misbehave({ answer, stores: true }));
        const kinds = (await outcomesOf(open(), leads(2), { attempt })).map(({ kind }) => kind);
        expect(kinds).not.toContain('refused');
        if (at > 1) expect(kinds).not.toContain('delivered'); // the first asks for the account, which only the links need
        expect(await outcomesOf(open(), leads(2))).toMatchObject([DELIVERED, DELIVERED]);
        expectEachOnce(stub, 2);
      }
    },
  );

  test.each([{ resultOrder: 'reversed' }, { resultOrder: 'reversed', tracedResults: false }] as const)(
    'results in another order find their leads (%o)',
    async (answers) => {
      const { stub, open } = await anAccount({ options: { overwrite: 'always' } }, answers);
      stub.addRecord('contacts', { email: 'person2@example.com', firstname: 'Old' });
      stub.addRecord('contacts', { email: 'person3@example.com', firstname: 'Old' });
      const all = [...leads(4), aDelivery({ leadId: 5n, raw: aLead({ id: 5, client_email: 'none' }) })];
      expect(await outcomesOf(open(), all)).toMatchObject(all.map(() => DELIVERED));
      expectEachOnce(stub, 5);
      const names = stub.records.contacts.map(
        ({ properties: { email, firstname } }) => `${email} ${firstname}`,
      );
      expect(names.sort()).toEqual([
        'person1@example.com First',
        'person2@example.com Second',
        'person3@example.com Third',
        'person4@example.com Fourth',
        'undefined Anna',
      ]);
    },
  );
});

describe.each(['deal', 'lead', 'none'] as const)('with a %s per lead', (object) => {
  test.each(['cut', 'truncated', 'internal-error', 'gateway-timeout'] as const)(
    'if the answer to any request of a delivery is lost after HubSpot stored it, a repeat creates nothing twice: %s',
    async (answer) => {
      for (const at of await requestsOfADelivery(object)) {
        const { stub, open } = await anAccount({ options: { object } });
        const attempt = beforeRequest(at, () => stub.misbehave({ answer, stores: true }));
        const outcomes = await outcomesOf(open(), leads(2), { attempt });
        expect(outcomes.map(({ kind }) => kind)).toEqual(['unavailable', 'unavailable']);
        expect(await outcomesOf(open(), leads(2))).toMatchObject([DELIVERED, DELIVERED]);
        expectEachOnce(stub, 2, object);
      }
    },
  );

  test.each([true, false])(
    'if the attempt ends during any of its requests (stored: %s), a repeat creates nothing twice',
    async (stores) => {
      for (const at of await requestsOfADelivery(object)) {
        const { stub, open } = await anAccount({ options: { object } });
        const abort = new AbortController();
        const sink = open();
        let count = Number.POSITIVE_INFINITY;
        const attempt = beforeRequest(at, () => {
          count = stub.requestCount;
          stub.misbehave({ answer: 'silent', stores });
        });
        const ended = outcomesOf(sink, leads(2), { attempt, signal: abort.signal });
        await until('HubSpot has the request', () => stub.requestCount > count);
        abort.abort();
        expect(await ended).toMatchObject([WAITING, WAITING]);
        await sink.close();
        expect(await outcomesOf(open(), leads(2))).toMatchObject([DELIVERED, DELIVERED]);
        expectEachOnce(stub, 2, object);
      }
    },
  );

  test('a request of a delivery is not sent after the lease has ended', async () => {
    for (const at of await requestsOfADelivery(object)) {
      const { stub, open } = await anAccount({ options: { object } });
      const before = stub.requestCount;
      const attempt = beforeRequest(at, () => {
        throw new LeaseOver();
      });
      expect(await outcomesOf(open(), leads(2), { attempt })).toMatchObject([WAITING, WAITING]);
      expect(stub.requestCount - before).toBe(at - 1);
      expect(await outcomesOf(open(), leads(2))).toMatchObject([DELIVERED, DELIVERED]);
      expectEachOnce(stub, 2, object);
    }
  });
});

/** Returns the numbers of the requests that a delivery of new leads takes, from 1. */
async function requestsOfADelivery(object: 'deal' | 'lead' | 'none' = 'deal'): Promise<readonly number[]> {
  const { stub, open } = await anAccount({ options: { object } });
  const before = stub.requestCount;
  await outcomesOf(open(), leads(2));
  return Array.from({ length: stub.requestCount - before }, (_, index) => index + 1);
}

/** Returns how many requests an account has answered after the first one to this path, from its setup on. */
async function requestsUntil(path: string): Promise<number> {
  const { stub, open } = await anAccount();
  await outcomesOf(open(), leads(2));
  return stub.requests.findIndex((request) => request.path.includes(path)) + 1;
}

const NAMES = ['First', 'Second', 'Third', 'Fourth'];

/** Returns leads of different persons. */
function leads(count: number): readonly Delivery[] {
  return NAMES.slice(0, count).map((name, index) => {
    const id = index + 1;
    const raw = aLead({ id, client_name: `${name} Person`, client_email: `person${id}@example.com` });
    return aDelivery({ leadId: BigInt(id), raw });
  });
}

function reasonOf(outcome: Outcome | undefined): string {
  return outcome && 'reason' in outcome ? outcome.reason : '';
}

/** Expects one contact per lead, and one record that is linked with it. */
function expectEachOnce(stub: HubSpotStub, count: number, object: 'deal' | 'lead' | 'none' = 'deal'): void {
  const ids = stub.records.contacts.map(({ id }) => id).sort();
  expect(ids).toHaveLength(count);
  if (object === 'none') return;
  const records = stub.records[`${object}s`];
  expect(records).toHaveLength(count);
  expect(new Set(records.map(({ properties }) => properties['leadsync_key'])).size).toBe(count);
  expect(records.flatMap(({ id }) => stub.associated(`${object}s`, id, 'contacts')).sort()).toEqual(ids);
}
