import { afterEach, describe, expect, test } from 'vitest';
import { aDeliveryOf, closeScenes, kinds, remark, scene } from './salesforce-scene.ts';

afterEach(closeScenes);

describe('a value that does not fit its type', () => {
  const answering = (answer: string) => ({
    service_question_answers: [{ question: 'When?', slug: 'when', answer }],
  });

  test.each([
    ['date', '2026-05-03', '2026-05-03'],
    ['date', '2026-05-03T23:30:00Z', '2026-05-03'],
    ['date', '2026-02-30', undefined],
    ['date', '3', undefined],
    ['date', 'as soon as possible 7', undefined],
    ['date', '5/3/2026', undefined],
    ['date', 'May 5 2026', undefined],
    ['datetime', '2026-05-03T09:30:00+10:00', '2026-05-02T23:30:00.000+0000'],
    ['datetime', '2026-05-03', '2026-05-03T00:00:00.000+0000'],
    ['datetime', '2026-05-03T09:30', '2026-05-03T09:30:00.000+0000'],
    ['datetime', '2026-05-03T25:30Z', undefined],
    ['datetime', '5/3/2026', undefined],
    ['int', '12', 12],
    ['int', '2.5', undefined],
    ['int', '0x10', undefined],
    ['int', '1e3', undefined],
    ['int', '99999999999', undefined],
    ['int', '999999999', undefined], // no room
    ['double', '-2.5', -2.5],
    ['double', '1e999', undefined],
    ['double', '0x1F', undefined],
  ] as const)('%s: %j is stored as %j, and else kept in the description', async (type, answer, stored) => {
    const { stub, deliver, leads } = await scene({ fields: { Value__c: 'answer("when")' } });
    stub.changeField('Lead', 'Value__c', { type, length: 0, precision: 8, scale: type === 'double' ? 2 : 0 });
    const [outcome] = await deliver(aDeliveryOf(1, answering(answer)));
    expect(outcome?.kind).toBe('delivered');
    const [lead] = leads();
    expect(lead?.['Value__c']).toBe(stored);
    if (stored === undefined) expect(remark(outcome)).toContain('`Value__c` was left out: ');
    expect(String(lead?.['Description']).endsWith(`Value__c: ${answer}`)).toBe(stored === undefined);
  });
});

describe('an answer that is longer than leadsync reads', () => {
  test('to a query is avoided by several queries', async () => {
    const { stub, deliver, leads } = await scene();
    for (const id of [1, 2, 3]) {
      const Description = 'ä'.repeat(2_500_000);
      stub.add('Lead', { LastName: 'Long', Company: 'Long', Leadsync_Key__c: `main:${id}`, Description });
    }
    const before = stub.requests.length;
    expect(kinds(await deliver(1, 2, 3))).toEqual(Array(3).fill('delivered'));
    expect(leads()).toHaveLength(3);
    const queries = stub.requests.slice(before).filter(({ path }) => path.includes('/query'));
    expect(queries).toHaveLength(5); // of three leads, two, and each alone
  });

  test('to a request that makes leads is avoided by several requests, and makes none twice', async () => {
    const { stub, deliver, leads } = await scene();
    stub.answerNext('upsert', { status: 200, body: ' '.repeat(8 * 1024 * 1024 + 1), stores: true });
    expect(kinds(await deliver(1, 2, 3))).toEqual(Array(3).fill('delivered'));
    expect(leads()).toHaveLength(3);
  });
});
