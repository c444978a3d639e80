import { afterEach, describe, expect, test } from 'vitest';
import { aDeliveryOf, closeScenes, keyOf, kinds, reason, remark, scene } from './salesforce-scene.ts';

afterEach(closeScenes);

describe('duplicate rules', () => {
  const twice = [
    aDeliveryOf(1, { client_email: 'same@example.com' }),
    aDeliveryOf(2, { client_email: 'same@example.com' }),
  ];

  test.each([
    ['refuse', 'alert', 'refused'],
    ['refuse', 'block', 'refused'],
    ['save', 'alert', 'delivered'],
    ['save', 'block', 'refused'],
    ['update', 'alert', 'delivered'],
    ['update', 'block', 'delivered'],
  ] as const)(
    'with `duplicates: %s` and a rule that would %s: the second lead is %s',
    async (duplicates, rule, kind) => {
      for (const collectionDuplicates of ['unnamed', 'named'] as const) {
        const open = { options: { duplicates } };
        const { stub, deliver, leads } = await scene(open, { questions: { collectionDuplicates } });
        stub.settings.duplicateRule = rule;
        const outcomes = await deliver(...twice);
        expect(kinds(outcomes)).toEqual(['delivered', kind]);
        expect(leads()).toHaveLength(duplicates === 'save' && rule === 'alert' ? 2 : 1);
        if (duplicates !== 'update') continue;
        expect(outcomes[1]).toMatchObject({
          ref: { id: leads()[0]?.Id },
          remark: expect.stringContaining('duplicate rule'),
        });
        expect(leads().map(keyOf)).toEqual(['main:1']);
        expect(kinds(await deliver(...twice))).toEqual(['delivered', 'delivered']);
        expect(leads()).toHaveLength(1);
      }
    },
  );

  test('`update` gives its key to a lead that a user created, and refuses a contact with its id', async () => {
    const { stub, deliver, leads } = await scene({ options: { duplicates: 'update', converted: 'refuse' } });
    stub.settings.duplicateRule = 'alert';
    stub.add('Lead', { LastName: 'Typed', Company: 'Typed', Email: 'client1@example.com' });
    const contact = stub.add('Contact', { LastName: 'Known', Email: 'client2@example.com' });
    const outcomes = await deliver(1, 2);
    expect(kinds(outcomes)).toEqual(['delivered', 'refused']);
    expect(leads()).toMatchObject([{ LastName: 'Typed', Leadsync_Key__c: 'main:1' }]);
    expect(reason(outcomes[1])).toContain(`Contact ${contact}`);
  });

  const second = aDeliveryOf(2, {
    client_email: 'same@example.com',
    client_phone_number: '0499 999 999',
    client_name: 'Jim Other',
  });

  test('`update` adds values that the lead has differently to its description, once', async () => {
    const { stub, deliver, leads } = await scene({ options: { duplicates: 'update' } });
    stub.settings.duplicateRule = 'alert';
    await deliver(aDeliveryOf(1, { client_email: 'same@example.com' }));
    const phone = leads()[0]?.['Phone'];
    for (const _ of [1, 2]) {
      const [outcome] = await deliver(second);
      expect(outcome).toMatchObject({ kind: 'delivered', ref: { id: leads()[0]?.Id } });
      const [lead] = leads();
      expect([leads().length, lead?.['Phone']]).toEqual([1, phone]);
      const description = String(lead?.['Description']);
      expect(description.split('leadsync main:2:')).toHaveLength(2);
      expect(description).toMatch(
        /\n\nleadsync main:2:\nFirst Name: Jim\nLast Name: Other\nPhone: \+61499999999$/,
      );
    }
  });

  test('`update` reports which values did not fit', async () => {
    const { stub, deliver, leads } = await scene({ options: { duplicates: 'update' } });
    stub.settings.duplicateRule = 'alert';
    await deliver(aDeliveryOf(1, { client_email: 'same@example.com' }));
    stub.change(String(leads()[0]?.Id), { Description: 'x'.repeat(32_000) });
    expect(remark((await deliver(second))[0])).toMatch(
      /`Phone`.*did not fit there, so only leadsync has them/,
    );
    expect(leads()).toHaveLength(1);
  });

  test('`update` with `overwrite: never` writes nothing, and says so', async () => {
    const { stub, deliver, leads } = await scene({ options: { duplicates: 'update', overwrite: 'never' } });
    stub.settings.duplicateRule = 'alert';
    await deliver(aDeliveryOf(1, { client_email: 'same@example.com' }));
    const [before] = leads();
    expect(remark((await deliver(second))[0])).toContain('wrote nothing from the enquiry');
    expect(leads()).toEqual([before]);
  });

  test('`update` with `overwrite: never` gives a lead without a key only the key, and says so', async () => {
    const { stub, deliver, leads } = await scene({ options: { duplicates: 'update', overwrite: 'never' } });
    stub.settings.duplicateRule = 'alert';
    await deliver(aDeliveryOf(1, { client_email: 'same@example.com' }));
    const [first] = leads();
    stub.change(String(first?.Id), { Leadsync_Key__c: null });
    expect(remark((await deliver(second))[0])).toMatch(
      /leadsync wrote only `Leadsync_Key__c`.* from the enquiry/,
    );
    expect(leads()).toMatchObject([{ Leadsync_Key__c: 'main:2', Phone: first?.['Phone'] }]);
  });

  test('an update of an enquiry that is in another lead does not report it as deleted', async () => {
    const { stub, deliver } = await scene({ options: { duplicates: 'update' } });
    stub.settings.duplicateRule = 'alert';
    await deliver(...twice);
    const [outcome] = await deliver(aDeliveryOf(2, {}, { event: 'updated', version: 2 }));
    expect(remark(outcome)).toContain('or a duplicate rule found the person');
  });

  test.each([
    ['new', 'alert', 'delivered', 2],
    ['new', 'block', 'refused', 1],
    ['refuse', 'alert', 'refused', 1],
  ] as const)(
    'an enquiry of a converted client, with `converted: %s` and a rule that would %s, is %s, once',
    async (converted, rule, kind, count) => {
      const { stub, deliver, leads } = await scene({ options: { duplicates: 'update', converted } });
      stub.settings.duplicateRule = rule;
      await deliver(aDeliveryOf(1, { client_email: 'same@example.com' }));
      stub.change(String(leads()[0]?.Id), { IsConverted: true });
      const [outcome] = await deliver(second);
      expect(outcome?.kind).toBe(kind);
      if (kind === 'delivered') expect(remark(outcome)).toContain('created a new one');
      else expect(reason(outcome)).toContain(`Lead ${leads()[0]?.Id}`);
      expect(kinds(await deliver(second))).toEqual([kind]);
      expect(leads()).toHaveLength(count);
    },
  );
});
