import { describe, expect, test } from 'vitest';
import type { MappedColumn, MappedValue } from '../../../src/leads/mapped-fields.ts';
import { aBatch } from '../../support/scene/a-delivery.ts';
import { anEnquiry } from './an-enquiry.ts';
import { aCompany, outcomesOf } from './open-pipedrive.ts';

const NEVER = new AbortController().signal;
const HOT = 'f08b42a0-4e75-11ea-9643-03698ef1cfd6';

describe('a constant of the mapping', () => {
  test.each<[string, MappedValue, string]>([
    ['owner_id', 99, '`owner_id`: there is no active user 99'],
    ['lead.owner_id', 99, '`lead.owner_id`: there is no active user 99'],
    ['lead.owner_id', 3, '`lead.owner_id`: there is no active user 3'],
    ['lead.owner_id', 'Kim', '`lead.owner_id`: it takes a whole number'],
    ['lead.label_ids', 'x', '`lead.label_ids`: there is no lead label x'],
    ['lead.label_ids', [HOT, 'y'], '`lead.label_ids`: there is no lead label y'],
    ['lead.value', 100, '`lead.value`: it takes an amount with its currency, such as "100 EUR"'],
  ])('%s: %j that Pipedrive does not take fails the check', async (name, constant, fault) => {
    const { open } = await aCompany();
    await expect(open().check(NEVER, [aConstant(name, constant)])).rejects.toThrow(
      expect.objectContaining({ message: expect.stringContaining(`does not accept the mapping: ${fault}`) }),
    );
  });

  test.each<[string, MappedValue]>([
    ['owner_id', 2],
    ['lead.owner_id', '2'],
    ['lead.label_ids', HOT],
    ['lead.label_ids', [HOT]],
    ['lead.value', '100 EUR'],
  ])('%s: %j passes the check', async (name, constant) => {
    const { open } = await aCompany();
    await expect(open().check(NEVER, [aConstant(name, constant)])).resolves.toBeUndefined();
  });

  test.each(['deal.pipeline_id', 'deal.stage_id'])(
    '%s is compared with every page of the list',
    async (name) => {
      const { stub, open } = await aCompany({ options: { object: 'deal' } });
      stub.fillPipelines(600);
      const sink = open();
      await expect(sink.check(NEVER, [aConstant(name, 110)])).resolves.toBeUndefined();
      await expect(sink.check(NEVER, [aConstant(name, 600)])).resolves.toBeUndefined();
      await expect(sink.check(NEVER, [aConstant(name, 601)])).rejects.toThrow(
        `\`${name}\` does not accept "601"`,
      );
    },
  );

  test('that names no user holds the sink before a person is made, until the user is there', async () => {
    const { stub, open } = await aCompany({ fields: { 'lead.owner_id': '99' } });
    const sink = open();
    const batch = { ...aBatch([anEnquiry(1), anEnquiry(2)]), columns: [aConstant('lead.owner_id', 99)] };
    const failure = await sink.deliver(batch, NEVER).catch((error: unknown) => error);
    expect(failure).toMatchObject({ unsent: true, message: expect.stringContaining('no active user 99') });
    expect(stub.records.persons).toEqual([]);
  });

  test('that only Pipedrive knows to be wrong holds the sink, and refuses no lead', async () => {
    const { stub, open } = await aCompany({ fields: { 'lead.organization_id': '77' } });
    const columns = [aConstant('lead.organization_id', 77)];
    const outcomes = await open().deliver({ ...aBatch([anEnquiry(1), anEnquiry(2)]), columns }, NEVER);
    expect(outcomes).toMatchObject([
      {
        kind: 'unavailable',
        reason: expect.stringContaining(
          'does not accept `lead.organization_id`, which is the same for every lead',
        ),
      },
      { kind: 'unavailable', unsent: true },
    ]);
    expect([stub.records.persons.length, stub.records.leads.length]).toEqual([1, 0]);
  });

  test('is left to Pipedrive if the user of the token may not list the users', async () => {
    const { stub, open } = await aCompany({ fields: { 'lead.owner_id': '2' } });
    const forbidden = { status: 403, body: { success: false, error: 'forbidden' } };
    stub.answerNext('GET /users', forbidden, forbidden);
    const columns = [aConstant('lead.owner_id', 2)];
    await expect(open().check(NEVER, columns)).resolves.toBeUndefined();
    const outcomes = await open().deliver({ ...aBatch([anEnquiry(1)]), columns }, NEVER);
    expect(outcomes).toMatchObject([{ kind: 'delivered' }]);
  });

  test('costs no request if there is none', async () => {
    const { stub, open } = await aCompany();
    await outcomesOf(open(), [anEnquiry(1)]);
    expect(stub.requests.map(({ route }) => route)).not.toContain('GET /users');
  });
});

function aConstant(name: string, constant: MappedValue): MappedColumn {
  return { name, type: 'text', constant };
}
