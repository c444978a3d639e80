import { afterEach, describe, expect, test } from 'vitest';
import { mayHaveArrived, type Outcome } from '../../../src/leads/outcome.ts';
import type { SalesforceStub } from '../../stub/salesforce/salesforce-stub.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import {
  aDeliveryOf,
  anUpdateOf,
  closeScenes,
  deliverWhile,
  keyOf,
  kinds,
  reason,
  remark,
  scene,
} from './salesforce-scene.ts';

const NEVER = new AbortController().signal;
const DAY_MS = 24 * 3_600_000;

afterEach(closeScenes);

/** Expects that every lead waits, and may not have arrived. */
function expectWaiting(outcomes: readonly Outcome[]): void {
  expect(kinds(outcomes)).toEqual(outcomes.map(() => 'unavailable'));
  expect(outcomes.some(mayHaveArrived)).toBe(false);
}

describe('between the two requests of a lead', () => {
  test('the token is revoked: leadsync gets another one, and the lead arrives once', async () => {
    const org = await scene();
    await org.deliver(1);
    expect(kinds(await deliverWhile(org, (stub) => stub.revokeSessions(), [2]))).toEqual(['delivered']);
    expect(org.leads().map(keyOf)).toEqual(['main:1', 'main:2']);
  });

  test('the app is switched off: the leads wait with the next step as the reason, and arrive once', async () => {
    const org = await scene();
    await org.deliver(1);
    const switchOff = (stub: SalesforceStub) => {
      stub.settings.hasRunAsUser = false;
      stub.revokeSessions();
    };
    const outcomes = await deliverWhile(org, switchOff, [2, 3]);
    expectWaiting(outcomes);
    expect(reason(outcomes[0])).toContain('Set a user to run as in the client credentials flow of the app');
    org.stub.settings.hasRunAsUser = true;
    expect(kinds(await org.deliver(2, 3))).toEqual(['delivered', 'delivered']);
    expect(org.leads().map(keyOf)).toEqual(['main:1', 'main:2', 'main:3']);
  });

  test.each(['record', 'request'] as const)(
    'an administrator deletes a field (%s): the leads wait with the next step as the reason, and arrive once',
    async (unreadableRecord) => {
      const org = await scene({}, { questions: { unreadableRecord } });
      await org.deliver(1);
      const drop = (stub: SalesforceStub) => stub.removeField('Lead', 'Leadsync_Service__c');
      const outcomes = await deliverWhile(org, drop, [2, 3]);
      expectWaiting(outcomes);
      expect(reason(outcomes[0])).toContain(
        '`leadsync setup sink` shows what is missing; `--yes` creates it',
      );
      const [again] = await org.deliver(2, 3);
      expect(reason(again)).toContain('Leads in Salesforce have no `Leadsync_Service__c`');
      for (const { make } of (await org.sink.missingParts?.(NEVER)) ?? []) await make(NEVER);
      expect(kinds(await org.deliver(2, 3))).toEqual(['delivered', 'delivered']);
      expect(org.leads().map(keyOf)).toEqual(['main:1', 'main:2', 'main:3']);
    },
  );

  test('an administrator switches on a validation rule: only its lead is refused, with the next step', async () => {
    const org = await scene();
    await org.deliver(1);
    const refuses = ({ Leadsync_Key__c: key }: Readonly<Record<string, unknown>>) => key === 'main:2';
    const switchOn = ({ settings }: SalesforceStub) => {
      settings.validationRule = { message: 'Not Jane', field: 'Phone', refuses };
    };
    const outcomes = await deliverWhile(org, switchOn, [2, 3]);
    expect(kinds(outcomes)).toEqual(['refused', 'delivered']);
    expect(reason(outcomes[0])).toMatch(
      /does not accept `Phone` \(FIELD_CUSTOM_VALIDATION_EXCEPTION\)\. A validation rule of the org refuses it: change the rule, or `fields`\.$/,
    );
    org.stub.settings.validationRule = undefined;
    expect(kinds(await org.deliver(2))).toEqual(['delivered']);
    expect(org.leads()).toHaveLength(3);
  });

  test('an option of a picklist is deleted: only its lead is refused, with the next step', async () => {
    const org = await scene({ fields: { LeadSource: 'lead.id == 2 ? "Radio" : "Web"' } });
    await org.deliver(1);
    const take = (values: readonly string[]) => (stub: SalesforceStub) =>
      stub.changeField('Lead', 'LeadSource', { restricted: true, values });
    const outcomes = await deliverWhile(org, take(['Web']), [2, 3]);
    expect(kinds(outcomes)).toEqual(['refused', 'delivered']);
    expect(reason(outcomes[0])).toMatch(
      /`LeadSource` \(INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST\)\. Add the value to the picklist, or map to one that it has\.$/,
    );
    take(['Web', 'Radio'])(org.stub);
    expect(kinds(await org.deliver(2))).toEqual(['delivered']);
    expect(org.leads()).toHaveLength(3);
  });

  test('the requests of the day are used up: the leads wait, and arrive once the next day', async () => {
    const clock = new HeldClock();
    const org = await scene({ parts: { clock } }, { dailyRequests: 1_000, clock });
    await org.deliver(1);
    const outcomes = await deliverWhile(org, ({ usage }) => usage.use(1_000), [2, 3]);
    expectWaiting(outcomes);
    expect(reason(outcomes[0])).toContain('the org has used up its requests for 24 hours');
    expect(org.sink.quota?.()).toMatchObject({ used: 1_000, limit: 1_000 });
    clock.jump(DAY_MS + 60_000);
    expect(kinds(await org.deliver(2, 3))).toEqual(['delivered', 'delivered']);
    expect(org.leads().map(keyOf)).toEqual(['main:1', 'main:2', 'main:3']);
  });

  test('a salesperson converts the lead: the update counts as delivered, with a remark', async () => {
    const org = await scene({ options: { overwrite: 'always' } });
    await org.deliver(1, 2);
    const id = String(org.leads()[0]?.Id);
    const convert = (stub: SalesforceStub) => stub.change(id, { IsConverted: true });
    const outcomes = await deliverWhile(org, convert, [anUpdateOf(1), anUpdateOf(2)]);
    expect(kinds(outcomes)).toEqual(['delivered', 'delivered']);
    expect(outcomes[0]).toMatchObject({ ref: { id } });
    expect(remark(outcomes[0])).toContain('has been converted');
    const [converted, other] = org.leads();
    expect(converted?.['LastName']).not.toBe('Name');
    expect(other?.['LastName']).toBe('Name');
  });

  test('a salesperson merges the lead into another one: the update creates no lead, and reports so', async () => {
    const org = await scene({ options: { overwrite: 'always' } });
    await org.deliver(1, 2);
    const merge = (stub: SalesforceStub) => stub.remove(String(org.leads()[1]?.Id));
    const outcomes = await deliverWhile(org, merge, [anUpdateOf(2)]);
    expect(kinds(outcomes)).toEqual(['delivered']);
    expect(remark(outcomes[0])).toContain('deleted');
    expect(kinds(await org.deliver(anUpdateOf(2)))).toEqual(['delivered']);
    expect(org.leads().map(keyOf)).toEqual(['main:1']);
  });
});

describe('an answer that is not one of Salesforce', () => {
  test.each(['token', 'data', 'upsert'] as const)(
    '(a page with status 200 from %s) loses nothing, and makes nothing twice',
    async (endpoint) => {
      const { stub, sink, deliver, leads } = await scene();
      stub.misbehave({
        [endpoint]: endpoint === 'upsert' ? 'proxy-page-after-storing' : 'proxy-page',
        times: 1,
      });
      const outcomes = await deliver(1, 2);
      expect(kinds(outcomes)).toEqual(['unavailable', 'unavailable']);
      expect(outcomes.every(mayHaveArrived)).toBe(endpoint === 'upsert');
      expect(reason(outcomes[0])).toContain(
        "but not in Salesforce's format. Check `domain`, and whether a proxy",
      );
      expect(kinds(await deliver(1, 2))).toEqual(['delivered', 'delivered']);
      expect(leads().map(keyOf)).toEqual(['main:1', 'main:2']);
      await sink.check(NEVER);
    },
  );
});

test('a lead that the user of the app may no longer see is not made twice, and the reason says what to do', async () => {
  const { stub, deliver } = await scene();
  await deliver(1);
  stub.settings.unseen.add(String(stub.records['Lead']?.[0]?.Id));
  const outcomes = await deliver(1, 2);
  expect(kinds(outcomes)).toEqual(['unavailable', 'delivered']);
  expect(reason(outcomes[0])).toContain('let the user view all leads');
  stub.settings.unseen.clear();
  expect(kinds(await deliver(1, 2))).toEqual(['delivered', 'delivered']);
  expect(stub.records['Lead']).toHaveLength(2);
});

test('a process that ends between any two requests of a lead makes nothing twice, also with `duplicates: update`', async () => {
  const twins = [1, 2].map((id) => aDeliveryOf(id, { client_email: 'same@example.com' }));
  for (let request = 1; ; request += 1) {
    const org = await scene({ options: { duplicates: 'update' } });
    await org.deliver(aDeliveryOf(9));
    org.stub.settings.duplicateRule = 'alert';
    const before = org.stub.requests.length;
    const end = (stub: SalesforceStub) =>
      stub.misbehave({ upsert: 'cut-after-storing', data: 'cut', times: 1 });
    await deliverWhile(org, end, twins, request);
    org.stub.behave();
    expect(kinds(await org.deliver(...twins))).toEqual(['delivered', 'delivered']);
    expect(org.leads().map(keyOf)).toEqual(['main:9', 'main:1']);
    if (org.stub.requests.length - before < request) break;
    expect(request).toBeLessThan(12);
  }
});
