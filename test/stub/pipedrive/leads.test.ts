import { describe, expect, it } from 'vitest';
import { aPerson, aStub, call } from './call.ts';

describe('leads', () => {
  it('two equal POSTs make two leads, whose source is always API', async () => {
    const stub = await aStub();
    const person_id = await aPerson(stub);
    const body = { title: 'Enquiry', person_id, origin_id: 'main:4711' };
    const first = await call(stub, 'POST /leads', { body });
    const second = await call(stub, 'POST /leads', { body });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(first.data).toMatchObject({ ...body, source_name: 'API', origin: 'API', is_archived: false });
    expect(second.data.id).not.toBe(first.data.id);
    const listed = await call(stub, 'GET /leads', { query: { person_id } });
    expect(listed.data.map(({ id }: { id: string }) => id)).toEqual([first.data.id, second.data.id]);
    expect(listed.json?.['additional_data']).toEqual({
      pagination: { start: 0, limit: 100, more_items_in_collection: false },
    });
  });

  it('has the custom fields of deals beside its own properties, and leaves out the empty ones', async () => {
    const stub = await aStub();
    const person_id = await aPerson(stub);
    const key = stub.addField('deal', { field_name: 'leadsync key', field_type: 'varchar' }).field_code;
    const rooms = stub.addField('deal', { field_name: 'Rooms', field_type: 'double' }).field_code;
    const price = stub.addField('deal', { field_name: 'Price', field_type: 'monetary' }).field_code;
    const type = stub.addField('deal', {
      field_name: 'Type',
      field_type: 'enum',
      options: [{ label: 'House' }, { label: 'Flat' }],
    });
    expect(key).toMatch(/^[0-9a-f]{40}$/);
    const id = type.options?.[1]?.id;
    const body = {
      title: 'E',
      person_id,
      [key]: 'main:1',
      [price]: 5,
      [`${price}_currency`]: 'EUR',
      [type.field_code]: id,
    };
    const { data } = await call(stub, 'POST /leads', { body });
    expect(data).toMatchObject({
      [key]: 'main:1',
      [price]: 5,
      [`${price}_currency`]: 'EUR',
      [type.field_code]: String(id),
    });
    expect(data).not.toHaveProperty(rooms);
    expect(data).not.toHaveProperty('custom_fields');
    expect(stub.records.leads[0]?.custom_fields).toMatchObject({
      [key]: 'main:1',
      [price]: { value: 5, currency: 'EUR' },
    });
    expect(
      (await call(stub, 'PATCH /leads/{id}', { id: data.id, body: { [key]: null } })).data,
    ).not.toHaveProperty(key);
  });

  it.each([
    ['no title', { person_id: 1 }, '"title" is required'],
    [
      'neither person nor organization',
      { title: 'A' },
      'must contain at least one of [person_id, organization_id]',
    ],
    ['an owner that is null', { title: 'A', person_id: 1, owner_id: null }, '"owner_id" must be an integer'],
    ['a person as text', { title: 'A', person_id: '1' }, '"person_id" must be an integer'],
    ['a person that does not exist', { title: 'A', person_id: 99 }, '"person_id" does not exist'],
    [
      'a value without a currency',
      { title: 'A', person_id: 1, value: { amount: 5 } },
      '"value" .currency is required',
    ],
    [
      'a label that does not exist',
      { title: 'A', person_id: 1, label_ids: ['x'] },
      'a label that does not exist',
    ],
    ['its source', { title: 'A', person_id: 1, source_name: 'Website' }, '"source_name" is not allowed'],
    [
      'custom fields as in v2',
      { title: 'A', person_id: 1, custom_fields: {} },
      '"custom_fields" is not allowed',
    ],
    ['an unknown field', { title: 'A', person_id: 1, ['0'.repeat(40)]: 'x' }, 'is not allowed'],
  ])('refuses a lead with %s', async (_what, body, info) => {
    const stub = await aStub();
    await aPerson(stub);
    const { status, json } = await call(stub, 'POST /leads', { body });
    expect([status, json?.['error']]).toEqual([400, 'provided dataset is not valid']);
    expect(json?.['error_info']).toContain(info);
    expect(stub.records.leads).toEqual([]);
  });

  it('ignores an unknown field if the setting says so', async () => {
    const stub = await aStub({ unknownLeadField: 'ignore' });
    const body = { title: 'A', person_id: await aPerson(stub), ['0'.repeat(40)]: 'x' };
    expect((await call(stub, 'POST /leads', { body })).status).toBe(201);
    expect(stub.records.leads[0]?.custom_fields).toEqual({});
  });

  it('answers 404 to a change of an archived or a deleted lead, and of its origin_id 400', async () => {
    const stub = await aStub();
    const person_id = await aPerson(stub);
    const { id } = (await call(stub, 'POST /leads', { body: { title: 'A', person_id } })).data;
    expect((await call(stub, 'PATCH /leads/{id}', { id, body: { origin_id: 'x' } })).status).toBe(400);
    expect((await call(stub, 'PATCH /leads/{id}', { id, body: { title: 'B' } })).data.title).toBe('B');
    stub.archive('leads', id);
    const archived = await call(stub, 'PATCH /leads/{id}', { id, body: { title: 'C' } });
    expect([archived.status, archived.json?.['error']]).toEqual([404, 'requested lead not found']);
    expect((await call(stub, 'GET /leads', { query: { person_id } })).data).toEqual([]);
    expect((await call(stub, 'GET /leads/archived', { query: { person_id } })).data).toHaveLength(1);
    expect((await call(stub, 'GET /leads/{id}', { id })).data).toMatchObject({
      title: 'B',
      is_archived: true,
    });
    expect((await call(stub, 'DELETE /leads/{id}', { id })).data).toEqual({ id });
    expect((await call(stub, 'PATCH /leads/{id}', { id, body: { title: 'C' } })).status).toBe(404);
    expect((await call(stub, 'GET /leads/{id}', { id })).status).toBe(404);
  });

  it('a list follows a lead to another person', async () => {
    const stub = await aStub();
    const [first, second] = [await aPerson(stub), await aPerson(stub)];
    const { id } = (await call(stub, 'POST /leads', { body: { title: 'A', person_id: first } })).data;
    await call(stub, 'PATCH /leads/{id}', { id, body: { person_id: second } });
    const countOf = async (person_id: number) =>
      (await call(stub, 'GET /leads', { query: { person_id } })).data.length;
    expect([await countOf(first), await countOf(second)]).toEqual([0, 1]);
  });
});
