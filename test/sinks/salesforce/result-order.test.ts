import { afterEach, describe, expect, test } from 'vitest';
import { mayHaveArrived, type Outcome } from '../../../src/leads/outcome.ts';
import { LeaseOver } from '../../../src/sinks/sink-unavailable.ts';
import type { SalesforceStub } from '../../stub/salesforce/salesforce-stub.ts';
import { anUpdateOf, closeScenes, deliverWhile, keyOf, kinds, scene } from './salesforce-scene.ts';

/** The request that verifies the order of results, of a delivery after the first: a query, the request that writes, and this query. */
const VERIFYING = 3;

afterEach(closeScenes);

describe('results that may stand in another order', () => {
  test.each<['in order' | 'reversed', string, (stub: SalesforceStub) => unknown]>([
    ['in order', 'is cut off', (stub) => stub.misbehave({ data: 'cut', times: 1 })],
    ['reversed', 'is cut off', (stub) => stub.misbehave({ data: 'cut', times: 1 })],
    ['reversed', 'gets 503', (stub) => stub.misbehave({ data: 'server-unavailable', times: 1 })],
    [
      'reversed',
      'comes after the end of the lease',
      () => {
        throw new LeaseOver();
      },
    ],
  ])('(%s) settle no lead if the query that verifies them %s', async (order, _, happens) => {
    const org = await scene();
    await org.deliver(1);
    org.stub.settings.validationRule = {
      message: 'Not this one',
      refuses: ({ Leadsync_Key__c: key }) => key === 'main:2',
    };
    if (order === 'reversed') org.stub.misbehave({ upsert: 'reversed-results', times: 1 });
    const outcomes = await deliverWhile(org, happens, [2, 3], VERIFYING);
    expect(outcomes).toMatchObject(Array(2).fill({ kind: 'unavailable', unsent: false }));
    expect(outcomes.map(mayHaveArrived)).toEqual([true, true]);
    expect(kinds(await org.deliver(2, 3))).toEqual(['refused', 'delivered']);
    expect(org.leads().map(keyOf)).toEqual(['main:1', 'main:3']);
  });

  test('refuse no lead that Salesforce has, and deliver none that it does not have', async () => {
    const { stub, deliver, leads } = await scene();
    stub.settings.validationRule = {
      message: 'Not this one',
      refuses: ({ Leadsync_Key__c: key }) => key === 'main:1',
    };
    stub.misbehave({ upsert: 'reversed-results', times: 1 });
    const outcomes = await deliver(1, 2, 3, 4);
    expect(kinds(outcomes)).toEqual(['unavailable', 'delivered', 'delivered', 'delivered']);
    expect(mayHaveArrived(outcomes[0] as Outcome)).toBe(true);
    const ids = new Map(leads().map((lead) => [keyOf(lead), lead.Id]));
    for (const [at, outcome] of outcomes.entries())
      if (at > 0) expect(outcome).toMatchObject({ ref: { id: ids.get(`main:${at + 1}`) } });
    expect(kinds(await deliver(1, 2, 3, 4))).toEqual(['refused', 'delivered', 'delivered', 'delivered']);
    expect(leads()).toHaveLength(3);
  });

  test('link no lead to another one', async () => {
    const { stub, deliver, leads } = await scene();
    stub.misbehave({ upsert: 'reversed-results', times: 1 });
    const outcomes = await deliver(1, 2, 3);
    expect(kinds(outcomes)).toEqual(Array(3).fill('delivered'));
    const ids = new Map(leads().map((lead) => [keyOf(lead), lead.Id]));
    expect(outcomes.map((outcome) => 'ref' in outcome && outcome.ref?.id)).toEqual(
      [1, 2, 3].map((id) => ids.get(`main:${id}`)),
    );
  });

  test('refuse no lead that merely waits for a lock', async () => {
    const { stub, deliver } = await scene({ fields: { LeadSource: 'lead.id == 1 ? "Gone" : "Web"' } });
    stub.changeField('Lead', 'LeadSource', { restricted: true, values: ['Web'] });
    stub.settings.locked.add('main:2');
    stub.misbehave({ upsert: 'reversed-results', times: 1 });
    expect(kinds(await deliver(1, 2))).toEqual(['unavailable', 'unavailable']);
    stub.settings.locked.clear();
    expect(kinds(await deliver(1, 2))).toEqual(['refused', 'delivered']);
  });

  test('that the user of the app may not see are believed', async () => {
    const { stub, deliver } = await scene();
    stub.settings.validationRule = {
      message: 'Not this one',
      refuses: ({ Leadsync_Key__c: key }) => key === 'main:2',
    };
    stub.settings.unseen.add('00Q5g0000000001EAA').add('00Q5g0000000002EAA');
    expect(kinds(await deliver(1, 2, 3))).toEqual(['delivered', 'refused', 'delivered']);
  });

  test('of updates leave the leads waiting, until Salesforce names them', async () => {
    const { stub, deliver, leads } = await scene({ options: { overwrite: 'always' } });
    await deliver(1, 2);
    stub.misbehave({ data: 'slow', times: 1 }); // the query
    stub.misbehave({ data: 'reversed-results', times: 1 });
    const outcomes = await deliver(anUpdateOf(1, 'New One'), anUpdateOf(2, 'New Two'));
    expect(kinds(outcomes)).toEqual(['unavailable', 'unavailable']);
    expect(kinds(await deliver(anUpdateOf(1, 'New One'), anUpdateOf(2, 'New Two')))).toEqual([
      'delivered',
      'delivered',
    ]);
    expect(leads().map(({ LastName }) => LastName)).toEqual(['One', 'Two']);
  });
});
