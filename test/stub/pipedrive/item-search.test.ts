import { describe, expect, it } from 'vitest';
import { aPerson, aStub, call } from './call.ts';

describe('the search of several types', () => {
  it('finds leads and deals by a custom field, with their persons, after the lag of the index', async () => {
    let nowMs = 0;
    const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs };
    const stub = await aStub({ clock, searchLagMs: 1_000 });
    const key = stub.addField('deal', { field_name: 'leadsync key', field_type: 'varchar' }).field_code;
    const person_id = await aPerson(stub);
    const { id } = (await call(stub, 'POST /leads', { body: { title: 'E', person_id, [key]: 'main:1' } }))
      .data;
    await call(stub, 'POST /deals', { body: { title: 'E', person_id, custom_fields: { [key]: 'main:10' } } });
    const query = { term: 'MAIN:1', item_types: 'lead,deal', fields: 'custom_fields', exact_match: 'true' };
    const found = async () => (await call(stub, 'GET /itemSearch', { query })).data.items;
    expect(await found()).toEqual([]);
    nowMs += 1_000;
    expect(await found()).toMatchObject([{ item: { type: 'lead', id, person: { id: person_id } } }]);
    await call(stub, 'DELETE /leads/{id}', { id });
    nowMs += 1_000;
    expect(await found()).toEqual([]);
  });

  it('refuses more than 100 items, and types that it does not know', async () => {
    const stub = await aStub();
    const status = async (query: Readonly<Record<string, string>>) =>
      (await call(stub, 'GET /itemSearch', { query: { term: 'main:1', fields: 'custom_fields', ...query } }))
        .status;
    expect(await status({ limit: '100' })).toBe(200);
    expect(await status({ limit: '500' })).toBe(400);
    expect(await status({ item_types: 'letter' })).toBe(400);
  });
});

describe('a merge', () => {
  it('keeps the fields of the other, and moves what hangs on the person', async () => {
    const stub = await aStub();
    const key = stub.addField('person', { field_name: 'leadsync key', field_type: 'varchar' }).field_code;
    const note = stub.addField('person', { field_name: 'Note', field_type: 'varchar' }).field_code;
    const [kept, gone] = [await aPerson(stub, 'a@mail.example'), await aPerson(stub, 'b@mail.example')];
    const set = (id: number, custom_fields: object) =>
      call(stub, 'PATCH /persons/{id}', { id, body: { custom_fields } });
    await set(kept, { [key]: 'main:1' });
    await set(gone, { [key]: 'main:2', [note]: 'text' });
    const lead = (await call(stub, 'POST /leads', { body: { title: 'E', person_id: gone } })).data;
    stub.merge(gone, kept);
    expect((await call(stub, 'GET /persons/{id}', { id: kept })).data).toMatchObject({
      emails: [{ value: 'a@mail.example' }, { value: 'b@mail.example' }],
      custom_fields: { [key]: 'main:1', [note]: 'text' },
    });
    expect((await call(stub, 'GET /persons/{id}', { id: gone })).status).toBe(404);
    expect((await call(stub, 'GET /leads/{id}', { id: lead.id })).data.person_id).toBe(kept);
  });
});
