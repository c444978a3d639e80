import { describe, expect, it } from 'vitest';
import { HeldClock } from '../../support/time/held-clock.ts';
import { aPerson, aStub, call } from './call.ts';
import type { PipedriveStub } from './pipedrive-stub.ts';

describe('persons', () => {
  it('two equal POSTs make two persons', async () => {
    const stub = await aStub();
    const [first, second] = [await aPerson(stub), await aPerson(stub)];
    expect(first).not.toBe(second);
    expect(stub.records.persons).toHaveLength(2);
  });

  it('the search finds by the exact e-mail address, whatever its case', async () => {
    const stub = await aStub();
    const id = await aPerson(stub, 'Ada@mail.example');
    await aPerson(stub, 'other-ada@mail.example');
    const found = await search(stub, { term: 'ada@MAIL.example', fields: 'email', exact_match: 'true' });
    expect(found.map(({ item }) => item.id)).toEqual([id]);
    expect(await search(stub, { term: 'ada@mail', fields: 'email', exact_match: 'true' })).toEqual([]);
    expect(await search(stub, { term: 'ada@mail', fields: 'email' })).toHaveLength(2);
    expect(await search(stub, { term: 'Ada@mail.example', fields: 'phone', exact_match: 'true' })).toEqual(
      [],
    );
  });

  it('the index of the search lags, and the list does not', async () => {
    const clock = new HeldClock();
    const stub = await aStub({ clock, searchLagMs: 5_000 });
    const term = { term: 'ada@mail.example', fields: 'email', exact_match: 'true' };
    const id = await aPerson(stub);
    clock.jump(4_999);
    expect(await search(stub, term)).toEqual([]);
    expect((await call(stub, 'GET /persons', { query: { ids: id } })).data).toHaveLength(1);
    clock.jump(1);
    expect(await search(stub, term)).toHaveLength(1);
    await call(stub, 'DELETE /persons/{id}', { id });
    expect(await search(stub, term)).toHaveLength(1);
    clock.jump(5_000);
    expect(await search(stub, term)).toEqual([]);
  });

  it.each([
    ['text', 0],
    ['digits', 1],
  ] as const)(
    'the search compares the %s of phone numbers, as the setting says',
    async (phoneSearch, found) => {
      const stub = await aStub({ phoneSearch });
      await call(stub, 'POST /persons', { body: { name: 'Ada', phones: [{ value: '+44 20 7946 0000' }] } });
      const term = { term: '+442079460000', fields: 'phone', exact_match: 'true' };
      expect(await search(stub, term)).toHaveLength(found);
    },
  );

  it('lists by updated_since, which is inclusive and takes whole seconds only', async () => {
    const clock = new HeldClock('2026-11-20T10:00:00.700Z');
    const stub = await aStub({ clock });
    const first = await aPerson(stub);
    clock.jump(10_000);
    const second = await aPerson(stub);
    const since = async (updated_since: string) =>
      (await call(stub, 'GET /persons', { query: { updated_since } })).data.map(
        ({ id }: { id: number }) => id,
      );
    expect(await since('2026-11-20T10:00:00Z')).toEqual([first, second]);
    expect(await since('2026-11-20T10:00:10Z')).toEqual([second]);
    expect(await since('2026-11-20T10:00:11Z')).toEqual([]);
    clock.jump(10_000);
    await call(stub, 'PATCH /persons/{id}', { id: first, body: { name: 'Ada Other' } });
    expect(await since('2026-11-20T10:00:11Z')).toEqual([first]);
    const fraction = await call(stub, 'GET /persons', {
      query: { updated_since: '2026-11-20T10:00:00.700Z' },
    });
    expect([fraction.status, fraction.json?.['error']]).toEqual([
      400,
      expect.stringContaining('not a valid datetime'),
    ]);
  });

  it('pages by an opaque cursor that no new or deleted record moves', async () => {
    const stub = await aStub();
    const ids = [];
    for (let at = 0; at < 5; at += 1) ids.push(await aPerson(stub));
    const first = await call(stub, 'GET /persons', { query: { limit: 2 } });
    stub.remove('persons', Number(ids[0]));
    const second = await call(stub, 'GET /persons', { query: { limit: 2, cursor: first.nextCursor ?? '' } });
    expect(second.data.map(({ id }: { id: number }) => id)).toEqual(ids.slice(2, 4));
    expect((await call(stub, 'GET /persons', { query: { cursor: 'made-up' } })).status).toBe(400);
  });

  it.each([
    ['a limit above 500', { limit: 501 }],
    ['more than 100 ids', { ids: Array.from({ length: 101 }, (_, at) => at + 1).join(',') }],
    ['more than 15 custom fields', { custom_fields: Array(16).fill('0'.repeat(40)).join(',') }],
    ['an unknown parameter', { email: 'ada@mail.example' }],
    ['an unknown order', { sort_by: 'name' }],
  ])('refuses a list with %s', async (_what, query) => {
    const { status, json } = await call(await aStub(), 'GET /persons', { query });
    expect([status, json?.['code']]).toEqual([400, 'ERR_SCHEMA_VALIDATION_FAILED']);
  });

  it('refuses a search without a term, by an unknown field, or for one character that need not match exactly', async () => {
    const stub = await aStub();
    const status = async (query: Record<string, string>) =>
      (await call(stub, 'GET /persons/search', { query })).status;
    expect(await status({ fields: 'email' })).toBe(400);
    expect(await status({ term: 'ada', fields: 'e-mail' })).toBe(400);
    expect(await status({ term: 'a' })).toBe(400);
    expect(await status({ term: 'a', exact_match: 'true' })).toBe(200);
  });

  it.each([
    ['no name', {}],
    ['an unknown parameter', { name: 'A', email: 'a@mail.example' }],
    ['an e-mail address as text', { name: 'A', emails: 'a@mail.example' }],
    ['an e-mail address without a value', { name: 'A', emails: [{ label: 'work' }] }],
    ['a number as text', { name: 'A', owner_id: '1' }],
    ['an owner who has left', { name: 'A', owner_id: 3 }],
    ['a name that is too long', { name: 'A'.repeat(256) }],
  ])('refuses a person with %s', async (_what, body) => {
    const stub = await aStub();
    const { status, json } = await call(stub, 'POST /persons', { body });
    expect([status, json?.['code']]).toEqual([400, 'ERR_SCHEMA_VALIDATION_FAILED']);
    expect(stub.records.persons).toEqual([]);
  });

  it('takes the fields of contact sync only if the company has it', async () => {
    const stub = await aStub();
    const body = { name: 'Ada', job_title: 'Director' };
    expect((await call(stub, 'POST /persons', { body })).status).toBe(403);
    stub.settings.contactSync = true;
    expect((await call(stub, 'POST /persons', { body })).data).toMatchObject(body);
  });

  it.each([404, 410] as const)(
    'answers %i for a deleted person, as the setting says',
    async (deletedStatus) => {
      const stub = await aStub({ deletedStatus });
      const id = await aPerson(stub);
      expect((await call(stub, 'DELETE /persons/{id}', { id })).data).toEqual({ id });
      expect((await call(stub, 'PATCH /persons/{id}', { id, body: { name: 'B' } })).status).toBe(
        deletedStatus,
      );
      expect((await call(stub, 'GET /persons')).data).toEqual([]);
      expect((await call(stub, 'GET /persons/{id}', { id: 999 })).status).toBe(404);
    },
  );
});

async function search(
  stub: PipedriveStub,
  query: Record<string, string>,
): Promise<{ item: { id: number } }[]> {
  return (await call(stub, 'GET /persons/search', { query })).data.items;
}
