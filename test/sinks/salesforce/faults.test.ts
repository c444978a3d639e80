import { afterEach, describe, expect, test } from 'vitest';
import { mayHaveArrived } from '../../../src/leads/outcome.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { startSalesforceStub } from '../../stub/salesforce/salesforce-stub.ts';
import { aBatch } from '../../support/scene/a-delivery.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { openSalesforce } from './open-salesforce.ts';
import { aDeliveryOf, closeScenes, keyOf, kinds, reason, remark, scene } from './salesforce-scene.ts';

const NEVER = new AbortController().signal;

afterEach(closeScenes);

describe('a cut after Salesforce stored', () => {
  test.each(['cut', 'no-body', 'no-results', 'truncated-json', 'proxy-page', 'server-error'] as const)(
    'the leads (%s) duplicates none',
    async (how) => {
      const { stub, deliver, leads } = await scene();
      stub.misbehave({ upsert: `${how}-after-storing`, times: 1 });
      const lost = await deliver(1, 2);
      expect(kinds(lost)).toEqual(['unavailable', 'unavailable']);
      expect(lost.every(mayHaveArrived)).toBe(true);
      expect(kinds(await deliver(1, 2))).toEqual(['delivered', 'delivered']);
      expect(leads().map(keyOf)).toEqual(['main:1', 'main:2']);
    },
  );

  test('at each request of a delivery duplicates no lead', async () => {
    const count = async (fail: number) => {
      const { stub, sink, deliver, leads } = await scene();
      const before = stub.requests.length;
      let made = 0;
      const confirmLease = () => {
        made += 1;
        if (made === fail)
          stub.misbehave({ token: 'cut', upsert: 'cut-after-storing', data: 'cut', times: 1 });
      };
      const under = { timeLeftMs: () => 60_000, confirmLease };
      const first = await sink.deliver(aBatch([aDeliveryOf(1)]), NEVER, under).catch(() => 'failed');
      stub.behave();
      expect(kinds(await deliver(1))).toEqual(['delivered']);
      expect(leads().map(keyOf)).toEqual(['main:1']);
      return { failed: first === 'failed', requests: stub.requests.length - before };
    };
    for (const fail of [1, 2, 3, 4]) expect((await count(fail)).failed).toBe(true);
  });
});

describe('an answer with too few results', () => {
  test.each(['fewer-results', 'failures-without-errors'] as const)('(%s) delivers none', async (how) => {
    const { stub, deliver, leads } = await scene();
    stub.misbehave({ upsert: how, times: 1 });
    const outcomes = await deliver(1, 2, 3);
    expect(kinds(outcomes)).toEqual(Array(3).fill('unavailable'));
    expect(outcomes.every(mayHaveArrived)).toBe(true);
    expect(kinds(await deliver(1, 2, 3))).toEqual(Array(3).fill('delivered'));
    expect(leads()).toHaveLength(3);
  });
});

describe('the session', () => {
  test('that ends during a delivery is renewed once', async () => {
    const { stub, deliver } = await scene();
    await deliver(1);
    stub.revokeSessions();
    expect(kinds(await deliver(2))).toEqual(['delivered']);
  });

  test('begins once for requests at the same time', async () => {
    const { stub, deliver } = await scene({ parts: { concurrency: 4 } });
    const before = stub.requests.length;
    await Promise.all([deliver(1), deliver(2), deliver(3)]);
    const logins = stub.requests.slice(before).filter(({ path }) => path.endsWith('/token'));
    expect(logins).toHaveLength(1);
  });

  test('of an app without a user to run as fails with the next step', async () => {
    const { stub, deliver } = await scene();
    stub.settings.hasRunAsUser = false;
    expect(reason((await deliver(1))[0])).toContain('Set a user to run as');
    stub.settings.hasRunAsUser = true;
    expect(kinds(await deliver(1))).toEqual(['delivered']);
  });
});

describe('an administrator', () => {
  test('who hides a field holds the sink, with the next step as the reason', async () => {
    const { stub, sink, deliver, leads } = await scene();
    await deliver(1);
    stub.showField('Lead', 'Leadsync_Service__c', 'hidden');
    for (const _ of [1, 2]) {
      const [outcome] = await deliver(2);
      expect(outcome?.kind).toBe('unavailable');
      expect(reason(outcome)).toContain('leadsync setup sink');
    }
    expect(reason((await deliver(2))[0])).toContain('`Leadsync_Service__c`');
    const [missing, ...others] = (await sink.missingParts?.(NEVER)) ?? [];
    expect([missing?.what, others]).toEqual([expect.stringContaining('permission to write'), []]);
    expect(missing?.how).toContain('<field>Lead.Leadsync_Key__c</field>');
    await missing?.make(NEVER);
    expect(kinds(await deliver(2))).toEqual(['delivered']);
    expect(leads()).toHaveLength(2);
  });

  test.each([404, 400] as const)('who removes the key field (%i) holds the sink', async (absentKeyField) => {
    const { stub, deliver } = await scene({}, { questions: { absentKeyField } });
    await deliver(1);
    stub.removeField('Lead', 'Leadsync_Key__c');
    expect(reason((await deliver(2))[0])).toContain('leadsync setup');
    expect(reason((await deliver(2))[0])).toContain('`Leadsync_Key__c`');
  });

  test('who makes the key not unique gets the advice to mark it as unique', async () => {
    const { stub, sink, deliver } = await scene();
    stub.changeField('Lead', 'Leadsync_Key__c', { unique: false });
    await expect(sink.check(NEVER)).rejects.toMatchObject({ hint: expect.stringContaining('unique') });
    expect(kinds(await deliver(1))).toEqual(['unavailable']);
    expect(stub.records['Lead']).toEqual([]);
  });

  test('whose user of the app may not customize the org gets the files from setup', async () => {
    const stub = await startSalesforceStub({ keyField: 'absent' });
    const sink = openSalesforce(stub);
    try {
      stub.settings.mayCustomize = false;
      const missing = (await sink.missingParts?.(NEVER)) ?? [];
      const [key] = missing;
      expect(key?.what).toBe('field `Leadsync_Key__c` of Lead (Text, external ID, unique)');
      expect(key?.how).toContain('<unique>true</unique>');
      expect(missing.at(-1)?.how).toContain('<field>Lead.Leadsync_Key__c</field>');
      await expect(key?.make(NEVER)).rejects.toThrow('does not allow the user of the app to do this');
    } finally {
      await sink.close();
      await stub.close();
    }
  });

  test('who requires a field gets the failure of check, because the mapping lacks it', async () => {
    const { stub, sink } = await scene();
    stub.changeField('Lead', 'Title', { required: true });
    await expect(sink.check(NEVER)).rejects.toThrow('requires `Title`');
  });

  test('who shortens a field while leads are delivered causes longer texts to be cut', async () => {
    const { stub, deliver, leads } = await scene();
    await deliver(1);
    stub.changeField('Lead', 'Street', { length: 5 });
    const [outcome] = await deliver(2);
    expect(remark(outcome)).toBe('`Street` was cut to 5 characters.');
    expect(String(leads()[1]?.['Street']).length).toBeLessThanOrEqual(5);
  });

  test('who switches on a validation rule, or removes an option, causes only that lead to be refused', async () => {
    const { stub, deliver } = await scene({ fields: { LeadSource: 'lead.id == 1 ? "Gone" : "Web"' } });
    stub.changeField('Lead', 'LeadSource', { restricted: true, values: ['Web'] });
    stub.settings.validationRule = {
      message: 'No',
      field: 'Phone',
      refuses: ({ Leadsync_Key__c: key }) => key === 'main:3',
    };
    const outcomes = await deliver(1, 2, 3);
    expect(kinds(outcomes)).toEqual(['refused', 'delivered', 'refused']);
    expect(reason(outcomes[0])).toContain('`LeadSource` (INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST)');
    expect(reason(outcomes[2])).toContain('`Phone` (FIELD_CUSTOM_VALIDATION_EXCEPTION)');
  });
});

describe('two clients at the same time', () => {
  test('that store the same lead create one', async () => {
    const { stub, deliver, leads } = await scene();
    stub.settings.raced.add('main:1');
    expect(kinds(await deliver(1))).toEqual(['unavailable']);
    stub.settings.raced.add('main:2');
    expect(kinds(await deliver(1, 2, 3))).toEqual(['delivered', 'delivered', 'delivered']);
    expect(leads()).toHaveLength(3);
  });

  test('delay only the lead whose record is locked', async () => {
    const { stub, deliver } = await scene();
    stub.settings.locked.add('main:2');
    expect(kinds(await deliver(1, 2, 3))).toEqual(['delivered', 'unavailable', 'delivered']);
  });
});

describe('the requests of 24 hours', () => {
  test('cause no further request within the hour once they are used up', async () => {
    const clock = new HeldClock();
    const { stub, deliver } = await scene({ parts: { clock } }, { dailyRequests: 1_000 });
    await deliver(1);
    stub.usage.use(1_000);
    const [refused] = await deliver(2);
    expect(refused).toMatchObject({ kind: 'unavailable', retryAfterMs: 3_600_000 });
    const before = stub.requests.length;
    expect(reason((await deliver(2))[0])).toContain('no more API requests');
    expect(stub.requests).toHaveLength(before);
  });

  test('are reported as of the last answer, including those of other programs', async () => {
    const clock = new HeldClock();
    const { stub, sink, deliver } = await scene({ parts: { clock } }, { dailyRequests: 15_000 });
    expect(sink.quota?.()).toBeUndefined();
    stub.usage.use(100);
    await deliver(1);
    const first = { unit: 'API requests', used: stub.usage.used, limit: 15_000, readAt: clock.now() };
    expect(first.used).toBeGreaterThan(100);
    expect(sink.quota?.()).toEqual(first);
    clock.jump(60_000);
    stub.usage.use(1_000);
    expect(sink.quota?.()).toEqual(first);
    await deliver(2);
    expect(sink.quota?.()).toEqual({ ...first, used: stub.usage.used, readAt: clock.now() });
  });

  test('are reported by a test event', async () => {
    const { sink } = await scene();
    const { what } = await sink.test(testBatch('sink', new Date(0)), NEVER);
    expect(what).toMatch(/The org has used \d+ of the 100000 API requests that it may make in 24 hours\.$/);
  });
});
