import { describe, expect, it } from 'vitest';
import { aPerson, aStub, call } from './call.ts';

describe('custom fields', () => {
  it('setup finds none by name, adds one and finds it, page by page', async () => {
    const stub = await aStub();
    const names = async () => {
      const all: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const query: Record<string, string | number> = { limit: 3, ...(cursor ? { cursor } : {}) };
        const page = await call(stub, 'GET /dealFields', { query });
        all.push(...page.data.map(({ field_name }: { field_name: string }) => field_name));
        cursor = page.nextCursor;
      }
      return all;
    };
    expect(await names()).not.toContain('leadsync key');
    const body = { field_name: 'leadsync key', field_type: 'varchar' };
    const { data } = await call(stub, 'POST /dealFields', { body });
    expect(data).toMatchObject({ ...body, is_custom_field: true, options: null });
    expect((await names()).filter((name) => name === 'leadsync key')).toHaveLength(1);
    expect((await call(stub, 'GET /dealFields/{field_code}', { id: data.field_code })).data).toEqual(data);
  });

  it('their codes differ per account', async () => {
    const request = { field_name: 'leadsync key', field_type: 'varchar' } as const;
    const [one, two] = [await aStub({ account: 'one' }), await aStub({ account: 'two' })];
    expect(one.addField('deal', request).field_code).not.toBe(two.addField('deal', request).field_code);
  });

  it.each([
    ['an unknown type', { field_name: 'A', field_type: 'url' }, 400],
    ['options missing', { field_name: 'A', field_type: 'enum' }, 400],
    ['no name', { field_type: 'varchar' }, 400],
  ])('refuses a field with %s', async (_what, body, status) => {
    expect((await call(await aStub(), 'POST /personFields', { body })).status).toBe(status);
  });

  it('adding one takes a permission and room in the plan', async () => {
    const stub = await aStub({ customFieldsLeft: 0 });
    const body = { field_name: 'leadsync key', field_type: 'varchar' };
    const full = await call(stub, 'POST /dealFields', { body });
    expect([full.status, full.json?.['code']]).toEqual([403, 'feature_capping_custom_fields_limit']);
    stub.settings.mayEditFields = false;
    const forbidden = await call(stub, 'POST /dealFields', { body });
    expect([forbidden.status, forbidden.json?.['code']]).toEqual([403, undefined]);
  });

  it('a deleted one takes its values along', async () => {
    const stub = await aStub();
    const code = stub.addField('deal', { field_name: 'leadsync key', field_type: 'varchar' }).field_code;
    const person_id = await aPerson(stub);
    await call(stub, 'POST /deals', { body: { title: 'A', custom_fields: { [code]: 'main:1' } } });
    await call(stub, 'POST /leads', { body: { title: 'A', person_id, [code]: 'main:1' } });
    expect((await call(stub, 'GET /deals')).data[0].custom_fields).toEqual({ [code]: 'main:1' });
    expect((await call(stub, 'GET /leads')).data[0]).toMatchObject({ [code]: 'main:1' });
    stub.deleteField('deal', code);
    expect((await call(stub, 'GET /deals')).data[0].custom_fields).toEqual({});
    expect((await call(stub, 'GET /leads')).data[0]).not.toHaveProperty(code);
  });

  it('a deleted one makes v2 and v1 refuse its code', async () => {
    const stub = await aStub();
    const code = stub.addField('deal', { field_name: 'leadsync key', field_type: 'varchar' }).field_code;
    const person_id = await aPerson(stub);
    stub.deleteField('deal', code);
    const deal = await call(stub, 'POST /deals', { body: { title: 'A', custom_fields: { [code]: 'x' } } });
    expect([deal.status, deal.json?.['error']]).toEqual([400, expect.stringContaining(code)]);
    const lead = await call(stub, 'POST /leads', { body: { title: 'A', person_id, [code]: 'x' } });
    expect([lead.status, lead.json?.['error_info']]).toEqual([400, `"${code}" is not allowed`]);
    expect((await call(stub, 'GET /dealFields/{field_code}', { id: code })).status).toBe(410);
  });

  it.each([
    ['varchar', 'text', 5],
    ['text', 'a\nb', true],
    ['double', 1.5, '1.5'],
    ['date', '2026-02-28', '2026-02-30'],
    ['daterange', { value: '2026-01-01', until: '2026-01-02' }, '2026-01-01'],
    ['time', { value: '23:59:59' }, { value: '24:00:00' }],
    ['timerange', { value: '09:00:00', until: '10:00:00' }, { value: '09:00:00' }],
    ['monetary', { value: 1, currency: 'EUR' }, 1],
    ['enum', 1, 'House'],
    ['enum', 2, 99],
    ['set', [1, 2], []],
    ['set', [1], '1'],
    ['people', 7, '7'],
    ['address', { value: 'Main Street 1' }, 'Main Street 1'],
  ] as const)('v2 takes for %s %j, and not %j', async (field_type, good, bad) => {
    const stub = await aStub();
    const options = [{ label: 'House' }, { label: 'Flat' }];
    const code = stub.addField('deal', { field_name: 'Field', field_type, options }).field_code;
    const send = (value: unknown) =>
      call(stub, 'POST /deals', { body: { title: 'A', custom_fields: { [code]: value } } });
    expect((await send(good)).data.custom_fields).toEqual({ [code]: good });
    expect((await send(null)).data.custom_fields).toEqual({ [code]: null });
    expect((await send(bad)).json).toMatchObject({ code: 'ERR_SCHEMA_VALIDATION_FAILED' });
    stub.settings.invalidValueStatus = 422;
    const named = await send(bad);
    expect([named.status, named.json?.['field_code']]).toEqual([422, code]);
  });

  it.each([
    ['varchar', 255],
    ['text', 65_535],
  ] as const)(
    '%s takes %i characters; more are refused or cut, as the setting says',
    async (field_type, longest) => {
      const stub = await aStub();
      const code = stub.addField('deal', { field_name: 'Field', field_type }).field_code;
      const send = (value: string) =>
        call(stub, 'POST /deals', { body: { title: 'A', custom_fields: { [code]: value } } });
      expect((await send('x'.repeat(longest))).status).toBe(200);
      expect((await send('x'.repeat(longest + 1))).status).toBe(400);
      stub.settings.tooLong = 'cut';
      expect((await send('x'.repeat(longest + 1))).data.custom_fields[code]).toHaveLength(longest);
    },
  );
});
