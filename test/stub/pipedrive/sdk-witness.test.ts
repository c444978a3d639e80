import { v1, v2 } from 'pipedrive';
import { describe, expect, it } from 'vitest';
import { allTables } from './answers.ts';
import { aStub } from './call.ts';
import type { PipedriveStub } from './pipedrive-stub.ts';

/** The official SDK, pointed at the stub. */
function sdkFor({ url, token }: PipedriveStub, apiKey = token) {
  const first = new v1.Configuration({ apiKey, basePath: `${url}/api/v1` });
  const second = new v2.Configuration({ apiKey, basePath: `${url}/api/v2` });
  return {
    leads: new v1.LeadsApi(first),
    leadLabels: new v1.LeadLabelsApi(first),
    leadSources: new v1.LeadSourcesApi(first),
    notes: new v1.NotesApi(first),
    users: new v1.UsersApi(first),
    persons: new v2.PersonsApi(second),
    deals: new v2.DealsApi(second),
    dealFields: new v2.DealFieldsApi(second),
    personFields: new v2.PersonFieldsApi(second),
    pipelines: new v2.PipelinesApi(second),
    stages: new v2.StagesApi(second),
  };
}

describe('the official SDK', () => {
  it('sets up the custom field', async () => {
    const stub = await aStub();
    const { dealFields, personFields } = sdkFor(stub);
    const names: (string | undefined)[] = [];
    let cursor: string | undefined;
    do {
      const page = await dealFields.getDealFields({ limit: 4, ...(cursor === undefined ? {} : { cursor }) });
      names.push(...(page.data ?? []).map(({ field_name }) => field_name));
      cursor = page.additional_data?.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(names).toEqual(stub.fields.deal.map(({ field_name }) => field_name));
    const { data } = await dealFields.addDealField({
      AddDealFieldRequest: { field_name: 'leadsync key', field_type: 'varchar' },
    });
    expect(data).toMatchObject({
      field_name: 'leadsync key',
      field_code: stub.fields.deal.at(-1)?.field_code,
    });
    const added = await personFields.addPersonField({
      AddPersonFieldRequest: { field_name: 'City', field_type: 'enum', options: [{ label: 'Bath' }] },
    });
    expect(added.data?.options).toEqual([{ id: 1, label: 'Bath' }]);
  });

  it('creates a person, a lead with its key, and a note', async () => {
    const stub = await aStub();
    const sdk = sdkFor(stub);
    const key = stub.addField('deal', { field_name: 'leadsync key', field_type: 'varchar' }).field_code;
    const term = { term: 'ada@mail.example', fields: 'email', exact_match: true } as const;
    expect((await sdk.persons.searchPersons(term)).data?.items).toEqual([]);
    const person = await sdk.persons.addPerson({
      AddPersonRequest: {
        name: 'Ada Example',
        emails: [{ value: 'ada@mail.example', primary: true, label: 'work' }],
        phones: [{ value: '+44 20 7946 0000', primary: true, label: 'mobile' }],
      },
    });
    const person_id = Number(person.data?.id);
    expect((await sdk.persons.searchPersons(term)).data?.items?.[0]?.item?.id).toBe(person_id);
    const request: v1.AddLeadRequest = { title: 'Enquiry', person_id, origin_id: 'main:4711' };
    const lead = await sdk.leads.addLead({ AddLeadRequest: Object.assign(request, { [key]: 'main:4711' }) });
    expect(lead).toMatchObject({ success: true, data: { source_name: 'API', [key]: 'main:4711' } });
    const lead_id = String(lead.data?.id);
    await sdk.notes.addNote({ AddNoteRequest: { content: '<p>Hello</p>', lead_id } });
    expect(stub.records.notes).toMatchObject([{ content: '<p>Hello</p>', lead_id }]);
    await sdk.leads.addLead({ AddLeadRequest: request });
    const listed = await sdk.leads.getLeads({ person_id });
    expect(listed.data?.map((each) => Object.entries(each).find(([name]) => name === key)?.[1])).toEqual([
      'main:4711',
      'main:4711',
    ]);
    await sdk.leads.updateLead({ id: lead_id, UpdateLeadRequest: { title: 'Changed' } });
    expect((await sdk.leads.getLead({ id: lead_id })).data?.title).toBe('Changed');
    expect((await sdk.leads.deleteLead({ id: lead_id })).data?.id).toBe(lead_id);
    await expect(sdk.leads.getLead({ id: lead_id })).rejects.toMatchObject({
      success: false,
      error: 'requested lead not found',
    });
  });

  it('creates a deal, and finds it by person', async () => {
    const stub = await aStub();
    const sdk = sdkFor(stub);
    const key = stub.addField('deal', { field_name: 'leadsync key', field_type: 'varchar' }).field_code;
    const person_id = Number((await sdk.persons.addPerson({ AddPersonRequest: { name: 'Ada' } })).data?.id);
    const AddDealRequest = { title: 'Enquiry', person_id, custom_fields: { [key]: 'main:4711' } };
    const id = Number((await sdk.deals.addDeal({ AddDealRequest })).data?.id);
    const found = await sdk.deals.getDeals({ person_id, custom_fields: key });
    expect(found.data).toMatchObject([{ id, custom_fields: { [key]: 'main:4711' } }]);
    await sdk.deals.updateDeal({ id, UpdateDealRequest: { title: 'Changed' } });
    expect((await sdk.deals.getDeal({ id })).data?.title).toBe('Changed');
    expect((await sdk.deals.deleteDeal({ id })).data?.id).toBe(id);
  });

  it('finds a person again by updated_since and by id, changes and deletes it', async () => {
    const stub = await aStub();
    const { persons } = sdkFor(stub);
    const id = Number((await persons.addPerson({ AddPersonRequest: { name: 'Ada' } })).data?.id);
    const updated_since = stub.records.persons[0]?.update_time ?? '';
    expect((await persons.getPersons({ updated_since })).data).toMatchObject([{ id }]);
    expect((await persons.getPersons({ ids: `${id},99` })).data).toMatchObject([{ id }]);
    await persons.updatePerson({ id, UpdatePersonRequest: { name: 'Ada Other' } });
    expect((await persons.getPerson({ id })).data).toMatchObject({ first_name: 'Ada', last_name: 'Other' });
    expect((await persons.deletePerson({ id })).data?.id).toBe(id);
  });

  it('reads the users, labels, sources, pipelines and stages of the company', async () => {
    const sdk = sdkFor(await aStub());
    expect((await sdk.users.getCurrentUser()).data).toMatchObject({ id: 1, company_domain: 'example' });
    expect((await sdk.users.getUsers()).data?.map(({ active_flag }) => active_flag)).toEqual([
      true,
      true,
      false,
    ]);
    expect((await sdk.leadLabels.getLeadLabels()).data?.map(({ name }) => name)).toEqual(['Hot', 'Cold']);
    expect((await sdk.leadSources.getLeadSources()).data?.map(({ name }) => name)).toContain('API');
    expect((await sdk.pipelines.getPipelines()).data?.[0]?.name).toBe('Sales');
    expect((await sdk.stages.getStages({ pipeline_id: 2 })).data?.map(({ name }) => name)).toEqual([
      'Contacted',
    ]);
  });

  it('gets the error for a wrong and for a revoked token', async () => {
    const stub = await aStub();
    const unauthorized = { success: false, error: 'unauthorized access', errorCode: 401 };
    await expect(sdkFor(stub, 'wrong').users.getCurrentUser()).rejects.toEqual(unauthorized);
    stub.settings.tokenRevoked = true;
    await expect(sdkFor(stub).persons.getPersons()).rejects.toEqual(unauthorized);
  });

  it('gets the error for a wrong request, in the format of v1 and of v2', async () => {
    const sdk = sdkFor(await aStub());
    await expect(sdk.leads.addLead({ AddLeadRequest: { title: 'Enquiry' } })).rejects.toMatchObject({
      error: 'provided dataset is not valid',
      error_info: '"value" must contain at least one of [person_id, organization_id]',
    });
    const AddDealRequest = { title: 'Enquiry', custom_fields: { ['0'.repeat(40)]: 'x' } };
    await expect(sdk.deals.addDeal({ AddDealRequest })).rejects.toMatchObject({
      code: 'ERR_SCHEMA_VALIDATION_FAILED',
    });
  });

  it('gets the limits', async () => {
    const stub = await aStub({ limits: { plan: 'lite' } });
    stub.useUpTokens();
    await expect(sdkFor(stub).users.getUsers()).rejects.toMatchObject({
      success: false,
      error: 'request over limit',
    });
  });

  const failing = allTables.filter(({ answer, at }) => answer.status >= 400 && at.includes('POST /deals'));

  it.each(failing)('reads the answer when $what', async ({ answer }) => {
    const stub = await aStub();
    stub.answerNext('POST /deals', answer);
    const adding = sdkFor(stub).deals.addDeal({ AddDealRequest: { title: 'Enquiry' } });
    await expect(adding).rejects.toEqual(answer.body);
  });

  it('sees no answer when the connection is cut after storing', async () => {
    const stub = await aStub();
    stub.misbehave({ at: 'POST /deals', fault: 'cut-after-storing', times: 1 });
    const adding = sdkFor(stub).deals.addDeal({ AddDealRequest: { title: 'Enquiry' } });
    await expect(adding).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(stub.records.deals).toHaveLength(1);
  });
});
