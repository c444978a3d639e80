import { describe, expect, it } from 'vitest';
import { aPerson, aStub, call } from './call.ts';

describe('deals', () => {
  it('two equal POSTs make two deals, found by person with the custom fields that the query names', async () => {
    const stub = await aStub();
    const person_id = await aPerson(stub);
    const [key = '', other = ''] = ['leadsync key', 'leadsync key'].map(
      (field_name) => stub.addField('deal', { field_name, field_type: 'varchar' }).field_code,
    );
    const body = { title: 'Enquiry', person_id, custom_fields: { [key]: 'main:1', [other]: 'x' } };
    await call(stub, 'POST /deals', { body });
    await call(stub, 'POST /deals', { body });
    await call(stub, 'POST /deals', { body: { ...body, person_id: await aPerson(stub) } });
    const { data, json } = await call(stub, 'GET /deals', { query: { person_id, custom_fields: key } });
    expect(data.map((deal: { custom_fields: object }) => deal.custom_fields)).toEqual([
      { [key]: 'main:1' },
      { [key]: 'main:1' },
    ]);
    expect(json?.['additional_data']).toEqual({ next_cursor: null });
    expect(data[0]).toMatchObject({ stage_id: 1, pipeline_id: 1, status: 'open', origin: 'API' });
  });

  it.each([
    ['no title', {}],
    ['a custom field beside the parameters', { title: 'A', ['0'.repeat(40)]: 'x' }],
    ['a custom field that does not exist', { title: 'A', custom_fields: { ['0'.repeat(40)]: 'x' } }],
    ['a stage of another pipeline', { title: 'A', pipeline_id: 1, stage_id: 3 }],
    ['an unknown stage', { title: 'A', stage_id: 99 }],
    ['a value as text', { title: 'A', value: '100' }],
    ['an unknown currency', { title: 'A', currency: 'XXY' }],
    ['a reason for losing an open deal', { title: 'A', lost_reason: 'Too late' }],
    ['origin_id', { title: 'A', origin_id: 'main:1' }],
  ])('refuses a deal with %s', async (_what, body) => {
    const stub = await aStub();
    expect((await call(stub, 'POST /deals', { body })).json).toMatchObject({
      code: 'ERR_SCHEMA_VALIDATION_FAILED',
    });
    expect(stub.records.deals).toEqual([]);
  });

  it('answers 404 to a change of an archived or a deleted deal, and lists neither', async () => {
    const stub = await aStub();
    const [first, second] = [
      (await call(stub, 'POST /deals', { body: { title: 'A' } })).data.id,
      (await call(stub, 'POST /deals', { body: { title: 'B' } })).data.id,
    ];
    expect((await call(stub, 'PATCH /deals/{id}', { id: first, body: { stage_id: 3 } })).data).toMatchObject({
      pipeline_id: 2,
    });
    stub.archive('deals', first);
    await call(stub, 'DELETE /deals/{id}', { id: second });
    for (const id of [first, second]) {
      expect((await call(stub, 'PATCH /deals/{id}', { id, body: { title: 'C' } })).status).toBe(404);
    }
    expect((await call(stub, 'GET /deals')).data).toEqual([]);
    expect((await call(stub, 'GET /deals', { query: { status: 'deleted' } })).data).toHaveLength(1);
    expect((await call(stub, 'GET /deals/archived')).data).toHaveLength(1);
  });

  it('refuses a deal and a lead for which the plan has no room', async () => {
    const stub = await aStub({ dealsLeft: 1, leadsLeft: 0 });
    const person_id = await aPerson(stub);
    expect((await call(stub, 'POST /deals', { body: { title: 'A' } })).status).toBe(200);
    const deal = await call(stub, 'POST /deals', { body: { title: 'A' } });
    expect([deal.status, deal.json?.['code']]).toEqual([403, 'feature_capping_deals_limit']);
    const lead = await call(stub, 'POST /leads', { body: { title: 'A', person_id } });
    expect([lead.status, lead.json?.['code']]).toEqual([403, 'feature_capping_leads_limit']);
  });
});
