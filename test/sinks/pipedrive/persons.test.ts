import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Person } from '../../../src/leads/person.ts';
import type { PipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { customValue } from './an-enquiry.ts';
import { aCompany, outcomesOf } from './open-pipedrive.ts';
import { WaitingClock } from './waiting-clock.ts';

const NEVER = new AbortController().signal;
const DELIVERED = expect.objectContaining({ kind: 'delivered' });
const LAG = 300_000;

describe('persons and enquiries', () => {
  test.each(['lead', 'deal', 'none'] as const)(
    'the same lead twice is one person and one record, even for a ledger that does not know it (object: %s)',
    async (object) => {
      const { stub, open } = await aCompany({ options: { object } });
      const [first] = await outcomesOf(open(), [enquiry(1)]);
      const [second] = await outcomesOf(open(), [enquiry(1)]);
      expect([first, second]).toEqual([DELIVERED, DELIVERED]);
      expect(second).toEqual(first);
      const { persons, leads, deals, notes } = stub.records;
      expect([persons.length, leads.length + deals.length, notes.length]).toEqual([
        1,
        object === 'none' ? 0 : 1,
        1,
      ]);
    },
  );

  test.each(['one batch', 'two batches', 'two batches at once', 'two processes, one after the other'])(
    'two enquiries of one person in %s are one person and two leads, although the search lags',
    async (how) => {
      const clock = new WaitingClock();
      const { stub, open } = await aCompany({ parts: { clock } }, { clock, searchLagMs: LAG });
      const [one, two] = [enquiry(1), enquiry(2, { client_email: 'Anna@Example.COM' })];
      const sink = open();
      if (how === 'one batch') expect(await outcomesOf(sink, [one, two])).toEqual([DELIVERED, DELIVERED]);
      else if (how === 'two batches at once')
        expect((await Promise.all([outcomesOf(sink, [one]), outcomesOf(sink, [two])])).flat()).toEqual([
          DELIVERED,
          DELIVERED,
        ]);
      else
        for (const lead of [one, two])
          expect(await outcomesOf(how === 'two batches' ? sink : open(), [lead])).toEqual([DELIVERED]);
      expect(heldBy(stub)).toEqual([{ emails: ['anna@example.com'], leads: ['main:1', 'main:2'] }]);
      expect(customValue(stub, 'person', stub.records.persons[0]?.custom_fields, 'leadsync enquiries')).toBe(
        'main:1\nmain:2',
      );
    },
  );

  test('another enquiry finds a person whose creation got no answer, although the search lags', async () => {
    const clock = new WaitingClock();
    const { stub, open } = await aCompany({ parts: { clock } }, { clock, searchLagMs: LAG });
    const sink = open();
    await outcomesOf(sink, [enquiry(1, { client_email: 'bert@example.com' })]);
    stub.misbehave({ fault: 'cut-after-storing', at: 'POST /persons', times: 1 });
    expect(await outcomesOf(sink, [enquiry(2)])).toMatchObject([{ kind: 'unavailable' }]);
    expect(await outcomesOf(sink, [enquiry(3)])).toEqual([DELIVERED]);
    expect(heldBy(stub).map(({ emails }) => emails)).toEqual([['bert@example.com'], ['anna@example.com']]);
  });

  test('an earlier person is found, and gets only values for empty fields', async () => {
    const { stub, open } = await aCompany();
    const id = await addPerson(stub, {
      name: 'Anna of Sales',
      emails: [contact('office@example.com'), { ...contact('ANNA@example.com'), primary: false }],
    });
    expect(await outcomesOf(open(), [enquiry(1)])).toEqual([DELIVERED]);
    const [person] = stub.records.persons;
    expect(stub.records.persons).toHaveLength(1);
    expect(person).toMatchObject({
      name: 'Anna of Sales',
      emails: [{ value: 'office@example.com' }, { value: 'ANNA@example.com' }],
      phones: [{ value: '+4915123456789' }],
    });
    expect(stub.records.leads[0]).toMatchObject({ person_id: id, origin_id: 'main:1' });
    expect(customValue(stub, 'person', person?.custom_fields, 'leadsync key')).toBeUndefined();
  });

  test.each([
    ['never', 'Anna of Sales', []],
    ['empty', 'Anna of Sales', ['+61 1']],
    ['always', 'Anna Müller', ['+4915123456789', '+61 1']],
  ] as const)('overwrite: %s decides what a known person keeps', async (overwrite, name, phones) => {
    const { stub, open } = await aCompany({ options: { overwrite } });
    await addPerson(stub, {
      name: 'Anna of Sales',
      emails: [contact('anna@example.com')],
      phones: phones.length > 0 ? [contact('+61 1')] : [],
    });
    expect(await outcomesOf(open(), [enquiry(1)])).toEqual([DELIVERED]);
    const [person] = stub.records.persons;
    expect(person?.name).toBe(name);
    expect(person?.phones.map(({ value }) => value)).toEqual(phones);
  });

  test('a lead without an email address is found by its key', async () => {
    const clock = new WaitingClock();
    const { stub, open } = await aCompany({ parts: { clock } }, { clock, searchLagMs: LAG });
    const leads = [enquiry(1, { client_email: '' }), enquiry(2, { client_email: '' })];
    expect(await outcomesOf(open(), leads)).toEqual([DELIVERED, DELIVERED]);
    expect(await outcomesOf(open(), leads)).toEqual([DELIVERED, DELIVERED]);
    clock.passedMs += 3_600_000;
    expect(await outcomesOf(open(), leads)).toEqual([DELIVERED, DELIVERED]);
    expect(heldBy(stub)).toEqual([
      { emails: [], leads: ['main:1'] },
      { emails: [], leads: ['main:2'] },
    ]);
  });

  test.each([
    ['none at all', 'anna at example', undefined],
    ['one that Pipedrive refuses', 'anna@example.com', 'emails: [0] .value is not an email address'],
  ])('an email address that is %s does not lose the client', async (_, email, refusal) => {
    const { stub, open } = await aCompany();
    const body = {
      success: false,
      error: `Validation failed: ${refusal}`,
      code: 'ERR_SCHEMA_VALIDATION_FAILED',
    };
    if (refusal) stub.answerNext('POST /persons', { status: 400, body });
    const [outcome] = await outcomesOf(open(), [enquiry(1, { client_email: email })]);
    expect(outcome).toMatchObject({
      kind: 'delivered',
      remark: expect.stringMatching(/^Pipedrive .*`leadsync_email_as_typed`.*\.$/),
    });
    const [person] = stub.records.persons;
    expect(heldBy(stub)).toEqual([{ emails: [], leads: ['main:1'] }]);
    expect(customValue(stub, 'person', person?.custom_fields, 'leadsync email as typed')).toBe(email);
    expect(
      await outcomesOf(open(), [{ ...enquiry(1, { client_email: email }), mayHaveArrived: true }]),
    ).toEqual([DELIVERED]);
    expect(stub.records.leads).toHaveLength(1);
  });

  test('a person whose address a user corrected is found by the key if the lead may have arrived', async () => {
    const { stub, open } = await aCompany();
    await outcomesOf(open(), [enquiry(1)]);
    await changePerson(stub, stub.records.persons[0]?.id ?? 0, { emails: [contact('anna.new@example.com')] });
    expect(await outcomesOf(open(), [{ ...enquiry(1), mayHaveArrived: true }])).toEqual([DELIVERED]);
    expect(heldBy(stub)).toEqual([{ emails: ['anna.new@example.com'], leads: ['main:1'] }]);
  });

  test('a value that does not fit is left out or cut, and reported', async () => {
    const { stub, open } = await aCompany({
      fields: {
        'lead.rooms': '"many"',
        'lead.due': '"2026-02-31"',
        'lead.budget': '"250.50 EUR"',
        'lead.value': '"100 EUR"',
        'lead.short': '"x".substring(0, 1) + lead.all_details_one_liner',
        'lead.tags': '["Red", "blue"]',
        visit: '"09:30"',
      },
    });
    const options = [{ label: 'Red' }, { label: 'Blue' }];
    stub.addField('deal', { field_name: 'Rooms', field_type: 'double' });
    stub.addField('deal', { field_name: 'Due', field_type: 'date' });
    stub.addField('deal', { field_name: 'Budget', field_type: 'monetary' });
    stub.addField('deal', { field_name: 'Short', field_type: 'varchar' });
    stub.addField('deal', { field_name: 'Tags', field_type: 'set', options });
    stub.addField('person', { field_name: 'Visit', field_type: 'time' });
    const [outcome] = await outcomesOf(open(), [enquiry(1, { all_details_one_liner: 'y'.repeat(400) })]);
    expect(outcome).toMatchObject({
      kind: 'delivered',
      remark:
        '`lead.rooms` was left out: it takes a number. `lead.due` was left out: it takes a date. `lead.short` was cut because it was too long.',
    });
    const [lead] = stub.records.leads;
    expect(lead?.value).toEqual({ amount: 100, currency: 'EUR' });
    expect(customValue(stub, 'deal', lead?.custom_fields, 'Budget')).toEqual({
      value: 250.5,
      currency: 'EUR',
    });
    expect(customValue(stub, 'deal', lead?.custom_fields, 'Tags')).toEqual([1, 2]);
    expect(customValue(stub, 'person', stub.records.persons[0]?.custom_fields, 'Visit')).toEqual({
      value: '09:30:00',
    });
    const again = { ...enquiry(1, { all_details_one_liner: 'y'.repeat(400) }), replay: true };
    const before = JSON.stringify(stub.records);
    expect(await outcomesOf(open(), [again])).toEqual([DELIVERED]);
    expect(JSON.stringify(stub.records)).toBe(before);
  });
});

describe('the records in Pipedrive', () => {
  test('have a title, a note with the answers, a phone number and links', async () => {
    const { stub, open } = await aCompany({
      parts: { leadUrl: ({ source, leadId }) => `https://leads.example.com/${source}/${leadId}?a=1&b=2` },
    });
    const [outcome] = await outcomesOf(open(), [enquiry(1, { client_phone_number: '0412 345 678' })]);
    const [lead] = stub.records.leads;
    expect(outcome).toEqual({
      kind: 'delivered',
      ref: { object: 'lead', id: lead?.id, url: `${stub.url}/leads/inbox/${lead?.id}` },
    });
    expect(lead?.title).toBe('House Cleaning: Anna Müller');
    expect(stub.records.persons[0]?.phones.map(({ value }) => value)).toEqual(['+61412345678']);
    expect(stub.records.notes.map(({ content }) => content)).toEqual([
      '<p>How many bedrooms are there?<br>3<br><br>Anything else?<br>Two cats,<br>one &quot;dog&quot;</p><p>leadsync <a href="https://leads.example.com/main/1?a=1&amp;b=2">main:1</a></p>',
    ]);
    expect(customValue(stub, 'deal', lead?.custom_fields, 'leadsync url')).toBe(
      'https://leads.example.com/main/1?a=1&b=2',
    );
    expect(customValue(stub, 'deal', lead?.custom_fields, 'leadsync first seen at')).toBe(
      '2026-11-20T10:00:00.000Z',
    );
  });

  test('with `note: false` have the answers in a field, and take 35 tokens', async () => {
    const clock = new WaitingClock();
    const { stub, open } = await aCompany(
      { options: { note: false }, parts: { clock } },
      { clock, limits: { plan: 'lite' } },
    );
    const sink = open();
    await outcomesOf(sink, [enquiry(1)]);
    const before = stub.limits?.tokensLeft ?? 0;
    await outcomesOf(sink, [enquiry(2, { client_email: 'bob@example.com' })]);
    expect(before - (stub.limits?.tokensLeft ?? 0)).toBe(35);
    expect(stub.records.notes).toEqual([]);
    expect(customValue(stub, 'deal', stub.records.leads[0]?.custom_fields, 'leadsync answers')).toMatch(
      /bedrooms.*\n3/,
    );
  });
});

describe('updates', () => {
  const update = (fields: Readonly<Record<string, unknown>>): Delivery => ({
    ...enquiry(1, fields),
    version: 2,
    event: 'updated',
  });

  test.each(['lead', 'deal'] as const)(
    'with overwrite: always, change the person and the %s',
    async (object) => {
      const { stub, open } = await aCompany({ options: { object, overwrite: 'always' } });
      await outcomesOf(open(), [enquiry(1)]);
      const changed = update({ client_name: 'Anna Other', service_name: 'Gardening' });
      expect(await outcomesOf(open(), [changed])).toEqual([DELIVERED]);
      const [record] = object === 'lead' ? stub.records.leads : stub.records.deals;
      expect([stub.records.persons[0]?.name, record?.title]).toEqual(['Anna Other', 'Gardening: Anna Other']);
      expect(stub.records.notes).toHaveLength(1);
      const before = stub.requests.length;
      expect(await outcomesOf(open(), [changed])).toEqual([DELIVERED]);
      expect(stub.requests.slice(before).filter(({ method }) => method !== 'GET')).toEqual([]);
    },
  );

  test('do not change a lead that was archived or converted, and do not create it again', async () => {
    for (const what of ['archived', 'converted'] as const) {
      const { stub, open } = await aCompany({ options: { overwrite: 'always' } });
      await outcomesOf(open(), [enquiry(1)]);
      const [lead] = stub.records.leads;
      if (what === 'archived') stub.archive('leads', lead?.id ?? '');
      else await convert(stub, lead?.id ?? '');
      const remark = what === 'archived' ? 'The record is archived' : 'The lead has become a deal';
      expect(await outcomesOf(open(), [update({ service_name: 'Gardening' })])).toMatchObject([
        { kind: 'delivered', remark: expect.stringContaining(remark) },
      ]);
      expect(await outcomesOf(open(), [enquiry(1)])).toEqual([DELIVERED]);
      expect(stub.records.leads.length + stub.records.deals.length).toBe(1);
      expect(await keysOf(open())).toEqual(['main:1']);
    }
  });

  test.each(['the lead', 'the person'])(
    'of %s that a user deleted count as delivered, with a remark',
    async (what) => {
      const { stub, open } = await aCompany();
      await outcomesOf(open(), [enquiry(1)]);
      if (what === 'the lead') stub.remove('leads', stub.records.leads[0]?.id ?? '');
      else stub.remove('persons', stub.records.persons[0]?.id ?? 0);
      expect(await outcomesOf(open(), [update({ service_name: 'Gardening' })])).toMatchObject([
        { kind: 'delivered', remark: expect.stringMatching(/deleted|no longer has a person/) },
      ]);
      expect(stub.records.leads).toHaveLength(what === 'the lead' ? 0 : 1);
      if (what === 'the lead') {
        expect(await outcomesOf(open(), [{ ...enquiry(1), replay: true }])).toEqual([DELIVERED]);
        expect(heldBy(stub)).toEqual([{ emails: ['anna@example.com'], leads: ['main:1'] }]);
      }
    },
  );
});

describe('finding and erasing', () => {
  const person: Person = { leads: [1n, 2n].map((leadId) => ({ source: 'main', leadId })), rejected: [] };

  test.each(['lead', 'deal', 'none'] as const)(
    'erase deletes the records that leadsync created (object: %s)',
    async (object) => {
      const { stub, open } = await aCompany({ options: { object } });
      await outcomesOf(open(), [enquiry(1), enquiry(2), enquiry(3, { client_email: 'bob@example.com' })]);
      expect(await open().erase?.(person, NEVER)).toMatchObject({
        deleted: object === 'none' ? { person: 1, note: 2 } : { [object]: 2, note: 2, person: 1 },
        kept: [],
      });
      const { persons, leads, deals, notes } = stub.records;
      expect(persons.filter(({ is_deleted }) => !is_deleted).map(({ emails }) => emails[0]?.value)).toEqual([
        'bob@example.com',
      ]);
      expect(leads.length + deals.filter(({ is_deleted }) => !is_deleted).length).toBe(
        object === 'none' ? 0 : 1,
      );
      expect(notes).toHaveLength(1);
      expect(await open().erase?.(person, NEVER)).toMatchObject({ deleted: {}, kept: [] });
    },
  );

  test('erase keeps a person with another enquiry, without the keys, and finds a lead whose person is deleted', async () => {
    const { stub, open } = await aCompany();
    await addPerson(stub, { name: 'Anna', emails: [contact('anna@example.com')] });
    await outcomesOf(open(), [enquiry(1), enquiry(2), enquiry(3)]);
    const [kept] = stub.records.persons;
    expect(await open().erase?.(person, NEVER)).toMatchObject({
      deleted: { lead: 2 },
      kept: [
        {
          object: 'person',
          id: String(kept?.id),
          why: 'it has 1 other enquiry from leadsync; the keys of these leads were removed from it',
        },
      ],
    });
    const [left] = stub.records.persons;
    expect(left?.is_deleted).toBe(false);
    expect(customValue(stub, 'person', left?.custom_fields, 'leadsync enquiries')).toBe('main:3');
    expect(customValue(stub, 'person', left?.custom_fields, 'leadsync email as typed')).toBe(
      'anna@example.com',
    );
    stub.remove('persons', kept?.id ?? 0);
    const last = { leads: [{ source: 'main', leadId: 3n }], rejected: [] };
    expect(await open().erase?.(last, NEVER)).toMatchObject({ deleted: { lead: 1 }, kept: [] });
    expect(stub.records.leads).toEqual([]);
  });

  test.each(['lead', 'none'] as const)(
    'erase empties the fields of leadsync of a person whom leadsync only found, and names that person (object: %s)',
    async (object) => {
      const { stub, open } = await aCompany({ options: { object } });
      await addPerson(stub, { name: 'Anna', emails: [contact('anna@example.com')] });
      await outcomesOf(open(), [enquiry(1), enquiry(2)]);
      const url = `${stub.url}/person/${stub.records.persons[0]?.id}`;
      expect(await open().erase?.(person, NEVER)).toMatchObject({
        deleted: object === 'none' ? { note: 2 } : { lead: 2, note: 2 },
        kept: [
          { object: 'person', url, why: 'leadsync did not create it; its `leadsync_…` fields were emptied' },
        ],
      });
      const [kept] = stub.records.persons;
      expect(kept).toMatchObject({ is_deleted: false, name: 'Anna' });
      for (const name of ['leadsync enquiries', 'leadsync email as typed', 'leadsync service'])
        expect(customValue(stub, 'person', kept?.custom_fields, name) ?? null).toBeNull();
      expect(stub.records.notes).toEqual([]);
      expect(await open().erase?.(person, NEVER)).toMatchObject({ deleted: {}, kept: [] });
    },
  );

  test('a person is found by email address, phone number and lead', async () => {
    const { open } = await aCompany({ options: { object: 'deal' } });
    await outcomesOf(open(), [
      enquiry(1),
      enquiry(2),
      enquiry(11, { client_email: 'b@example.com', client_phone_number: '1' }),
    ]);
    const found = async (subject: Parameters<NonNullable<ReturnType<typeof open>['findPerson']>>[0]) =>
      (await open().findPerson?.(subject, NEVER))?.leads.map(({ source, leadId }) => `${source}:${leadId}`);
    expect(await found({ kind: 'email', contact: 'anna@example.com' })).toEqual(['main:1', 'main:2']);
    expect(await found({ kind: 'phone', contact: '+4915123456789' })).toEqual(['main:1', 'main:2']);
    expect(await found({ kind: 'lead', lead: 1n })).toEqual(['main:1']);
    expect(await found({ kind: 'email', contact: 'nobody@example.com' })).toEqual([]);
  });

  test.each(['lead', 'deal', 'none'] as const)(
    'the stored leads are read from every page (object: %s)',
    async (object) => {
      const { stub, open } = await aCompany({ options: { object } });
      const count = 501;
      await outcomesOf(
        open(),
        Array.from({ length: count }, (_, at) => enquiry(at + 1)),
      );
      if (object !== 'none') {
        const [first] = object === 'lead' ? stub.records.leads : stub.records.deals;
        stub.archive(`${object}s`, first?.id ?? '');
      }
      const keys = await keysOf(open());
      expect(keys).toHaveLength(count);
      expect(new Set(keys).size).toBe(count);
    },
  );
});

/** Returns a lead of the same person. */
function enquiry(id: number, fields: Readonly<Record<string, unknown>> = {}): Delivery {
  return aDelivery({ leadId: BigInt(id), raw: aLead({ id, client_email: 'anna@example.com', ...fields }) });
}

function contact(value: string) {
  return { value, primary: true, label: 'work' };
}

/** Returns the persons with the keys of their leads, oldest first. */
function heldBy(stub: PipedriveStub) {
  return stub.records.persons.map(({ id, emails }) => ({
    emails: emails.map(({ value }) => value),
    leads: stub.records.leads.filter(({ person_id }) => person_id === id).map(({ origin_id }) => origin_id),
  }));
}

async function keysOf(
  sink: ReturnType<Awaited<ReturnType<typeof aCompany>>['open']>,
): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { source, leadId } of sink.storedLeads?.(NEVER) ?? []) keys.push(`${source}:${leadId}`);
  return keys;
}

async function send({ url, token }: PipedriveStub, method: string, path: string, body?: object) {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'x-api-token': token, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { data } = (await answer.json()) as { data: { id: number } };
  return data;
}

async function addPerson(stub: PipedriveStub, body: object): Promise<number> {
  return (await send(stub, 'POST', '/api/v2/persons', body)).id;
}

async function changePerson(stub: PipedriveStub, id: number, body: object): Promise<void> {
  await send(stub, 'PATCH', `/api/v2/persons/${id}`, body);
}

/** Converts a lead into a deal, as Pipedrive does: the deal has its custom fields, and the lead is deleted. */
async function convert(stub: PipedriveStub, id: string): Promise<void> {
  const lead = stub.records.leads.find((one) => one.id === id);
  if (!lead) throw new Error('there is no such lead');
  const { title, person_id, custom_fields } = lead;
  await send(stub, 'POST', '/api/v2/deals', { title, person_id, custom_fields });
  stub.remove('leads', id);
}
