import { describe, expect, test } from 'vitest';
import type { PipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import { anEnquiry, contact, send } from './an-enquiry.ts';
import { aCompany, outcomesOf } from './open-pipedrive.ts';
import { WaitingClock } from './waiting-clock.ts';

const DELIVERED = expect.objectContaining({ kind: 'delivered' });
const NEVER = new AbortController().signal;

describe('a lead that has another person by now', () => {
  test.each(['lead', 'deal'] as const)('is recognised, and gets its update (object: %s)', async (object) => {
    const { stub, open } = await aCompany({ options: { object, overwrite: 'always' } });
    await outcomesOf(open(), [anEnquiry(1)]);
    const other = await send(stub, 'POST', '/api/v2/persons', { name: 'Her husband' });
    await giveTo(stub, object, other.id);
    for (const delivery of [{}, { replay: true }, { mayHaveArrived: true }])
      expect(await outcomesOf(open(), [anEnquiry(1, {}, delivery)])).toEqual([DELIVERED]);
    const update = anEnquiry(1, { service_name: 'Gardening' }, { event: 'updated', version: 2 });
    const [outcome] = await outcomesOf(open(), [update]);
    const [record, ...more] = recordsOf(stub, object);
    expect(outcome).toMatchObject({ kind: 'delivered', ref: { object, id: String(record?.id) } });
    expect(outcome).not.toHaveProperty('remark');
    expect(record).toMatchObject({ person_id: other.id, title: 'Gardening: Anna Müller' });
    expect([more, stub.records.notes.length]).toEqual([[], 1]);
  });

  test('is found although it was converted or archived', async () => {
    const { stub, open } = await aCompany({ options: { object: 'deal' } });
    await outcomesOf(open(), [anEnquiry(1)]);
    const other = await send(stub, 'POST', '/api/v2/persons', { name: 'Her husband' });
    await giveTo(stub, 'deal', other.id);
    stub.archive('deals', stub.records.deals[0]?.id ?? 0);
    expect(await outcomesOf(open({ options: { object: 'lead' } }), [anEnquiry(1)])).toEqual([DELIVERED]);
    expect([stub.records.leads.length, stub.records.deals.length]).toEqual([0, 1]);
  });

  test('leads to the person of a corrected address, also as the second enquiry', async () => {
    const clock = new WaitingClock();
    const { stub, open } = await aCompany({ parts: { clock } }, { clock });
    const wrong = { client_email: 'anna@exmple.com' };
    await outcomesOf(open(), [anEnquiry(1, wrong), anEnquiry(2, wrong)]);
    const [person] = stub.records.persons;
    await send(stub, 'PATCH', `/api/v2/persons/${person?.id}`, { emails: [contact('anna@example.com')] });
    clock.passedMs += 3_600_000;
    const again = [1, 2].map((id) => anEnquiry(id, wrong, { mayHaveArrived: true }));
    for (const delivery of again) expect(await outcomesOf(open(), [delivery])).toEqual([DELIVERED]);
    expect([stub.records.persons.length, stub.records.leads.length]).toEqual([1, 2]);
  });

  test('is made again for a replay if it was deleted, although the search still has it', async () => {
    const clock = new WaitingClock();
    const opening = { options: { object: 'deal' }, parts: { clock } } as const;
    const { stub, open } = await aCompany(opening, { clock, deletedStatus: 200 });
    await outcomesOf(open(), [anEnquiry(1)]);
    clock.passedMs += 3_600_000;
    expect(await outcomesOf(open(), [anEnquiry(2)])).toEqual([DELIVERED]); // the search now has the first
    stub.settings.searchLagMs = 3_600_000;
    stub.remove('deals', stub.records.deals[0]?.id ?? 0);
    expect(await outcomesOf(open(), [anEnquiry(1, {}, { replay: true })])).toEqual([DELIVERED]);
    expect(stub.records.deals.map(({ is_deleted: isDeleted }) => isDeleted)).toEqual([true, false, false]);
  });

  test('is not mistaken for that of a client who typed its key into another field', async () => {
    const { stub, open } = await aCompany();
    await outcomesOf(open(), [
      anEnquiry(7, { client_email: 'other@example.com', service_name: 'main:1' }),
      anEnquiry(8, { client_email: 'third@example.com', client_address: { friendly_address: 'main:1' } }),
    ]);
    expect(await outcomesOf(open(), [anEnquiry(1, {}, { mayHaveArrived: true })])).toEqual([DELIVERED]);
    expect([stub.records.persons.length, stub.records.leads.length]).toEqual([3, 3]);
  });
});

describe('a person who was merged into another', () => {
  const work = { client_email: 'anna@work.example' };

  /** Makes two persons with an enquiry each, and merges that of the second into the first. */
  async function merged() {
    const { stub, open } = await aCompany();
    await outcomesOf(open(), [anEnquiry(1, work), anEnquiry(2)]);
    const [kept, gone] = stub.records.persons.map(({ id }) => id);
    stub.merge(gone ?? 0, kept ?? 0);
    return { stub, open };
  }

  test.each([404, 410, 200] as const)(
    'leads to the one that stays, with the next enquiry and with a repeat (a deleted person is answered %i)',
    async (deletedStatus) => {
      const { stub, open } = await merged();
      stub.settings.deletedStatus = deletedStatus;
      expect(await outcomesOf(open(), [anEnquiry(2, {}, { mayHaveArrived: true })])).toEqual([DELIVERED]);
      expect(await outcomesOf(open(), [anEnquiry(3)])).toEqual([DELIVERED]);
      expect(stub.records.leads.map(({ origin_id, person_id }) => [origin_id, person_id])).toEqual(
        ['main:1', 'main:2', 'main:3'].map((key) => [key, stub.records.persons[0]?.id]),
      );
    },
  );

  test('is named by an erasure, which no longer finds the key there', async () => {
    const { stub, open } = await merged();
    const person = { leads: [{ source: 'main', leadId: 2n }], rejected: [] };
    const [kept] = stub.records.persons;
    const found = await open().findPerson?.({ kind: 'email', contact: 'anna@example.com' }, NEVER);
    expect(found?.leads.map(({ leadId }) => leadId)).toEqual([1n, 2n]);
    expect(await open().erase?.(person, NEVER)).toMatchObject({
      deleted: { lead: 1, note: 1 },
      kept: [{ object: 'person', id: String(kept?.id), why: expect.stringContaining('merged') }],
    });
  });
});

function recordsOf(stub: PipedriveStub, object: 'lead' | 'deal') {
  return object === 'lead' ? stub.records.leads : stub.records.deals;
}

/** Gives the only lead or deal to another person, as a salesperson does. */
async function giveTo(stub: PipedriveStub, object: 'lead' | 'deal', personId: number): Promise<void> {
  const path = object === 'lead' ? '/api/v1/leads' : '/api/v2/deals';
  await send(stub, 'PATCH', `${path}/${recordsOf(stub, object)[0]?.id}`, { person_id: personId });
}
