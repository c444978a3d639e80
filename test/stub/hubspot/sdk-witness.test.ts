import { Client } from '@hubspot/api-client';
import { AssociationSpecAssociationCategoryEnum } from '@hubspot/api-client/lib/codegen/crm/contacts/index.js';
import { FilterOperatorEnum } from '@hubspot/api-client/lib/codegen/crm/contacts/models/Filter.js';
import {
  PropertyCreateFieldTypeEnum,
  PropertyCreateTypeEnum,
} from '@hubspot/api-client/lib/codegen/crm/properties/models/PropertyCreate.js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HeldClock } from '../../support/time/held-clock.ts';
import { type AnswerName, answers } from './answers.ts';
import { type HubSpotStub, startHubSpotStub } from './hubspot-stub.ts';

let clock: HeldClock;
let stub: HubSpotStub;
let crm: Client['crm'];
let client: Client;

beforeEach(async () => {
  clock = new HeldClock();
  stub = await startHubSpotStub({ clock });
  client = new Client({ accessToken: stub.token, basePath: stub.url, numberOfApiCallRetries: 0 });
  crm = client.crm;
});
afterEach(() => stub.close());

const key = {
  name: 'leadsync_key',
  label: 'leadsync key',
  groupName: 'leadsync',
  type: PropertyCreateTypeEnum.String,
  fieldType: PropertyCreateFieldTypeEnum.Text,
  hasUniqueValue: true,
};

test('the SDK sets an account up, and again finds what is there', async () => {
  const group = { name: 'leadsync', label: 'leadsync' };
  expect(await crm.properties.groupsApi.create('deals', group)).toMatchObject({
    name: 'leadsync',
    archived: false,
  });
  await expect(crm.properties.groupsApi.create('deals', group)).rejects.toMatchObject({ code: 409 });
  const made = await crm.properties.batchApi.create('deals', { inputs: [key] });
  expect(made).toMatchObject({
    status: 'COMPLETE',
    results: [{ name: 'leadsync_key', hasUniqueValue: true }],
  });
  const again = await crm.properties.batchApi.create('deals', { inputs: [key] });
  expect(again).toMatchObject({ numErrors: 1, errors: [{ category: 'CONFLICT' }] });
  await expect(crm.properties.coreApi.create('deals', key)).rejects.toMatchObject({ code: 409 });
  expect(await crm.properties.coreApi.getByName('deals', 'leadsync_key')).toMatchObject({
    type: 'string',
    hasUniqueValue: true,
    modificationMetadata: { readOnlyValue: false },
  });
  expect((await crm.properties.coreApi.getAll('deals')).results.length).toBeGreaterThan(10);
});

test('the SDK makes, changes, reads, links and deletes records', async () => {
  stub.addProperty('deals', { ...key, type: 'string', fieldType: 'text', groupName: 'dealinformation' });
  const contact = { idProperty: 'email', id: 'ana@example.com', properties: { email: 'ana@example.com' } };
  const first = await crm.contacts.batchApi.upsert({ inputs: [contact] });
  expect(first.results[0]).toMatchObject({ _new: true, createdAt: clock.now() });
  const second = await crm.contacts.batchApi.upsert({ inputs: [contact] });
  expect(second.results[0]).toMatchObject({ _new: false, id: first.results[0]?.id });
  const contactId = first.results[0]?.id ?? '';

  const deal = { leadsync_key: 'main:1', dealname: 'A job', dealstage: 'qualifiedtobuy' };
  const made = await crm.deals.batchApi.upsert({
    inputs: [{ idProperty: 'leadsync_key', id: 'main:1', properties: deal }],
  });
  const dealId = made.results[0]?.id ?? '';
  const read = await crm.deals.batchApi.read({
    idProperty: 'leadsync_key',
    inputs: [{ id: 'main:1' }, { id: 'main:2' }],
    properties: ['leadsync_key'],
    propertiesWithHistory: [],
  });
  expect(read).toMatchObject({ results: [{ id: dealId }], errors: [{ category: 'OBJECT_NOT_FOUND' }] });

  const linked = await crm.associations.v4.batchApi.createDefault('contacts', 'deals', {
    inputs: [{ _from: { id: contactId }, to: { id: dealId } }],
  });
  expect(linked.results[0]).toMatchObject({ _from: { id: contactId }, to: { id: dealId } });
  const links = await crm.associations.v4.batchApi.getPage('contacts', 'deals', {
    inputs: [{ id: contactId }],
  });
  expect(links.results[0]?.to).toMatchObject([{ toObjectId: dealId }]);
  const page = await crm.associations.v4.basicApi.getPage('contacts', contactId, 'deals');
  expect(page.results).toMatchObject([{ toObjectId: dealId }]);

  const note = await crm.objects.notes.batchApi.create({
    inputs: [
      {
        properties: { hs_timestamp: clock.now().toISOString(), hs_note_body: 'Hello' },
        associations: [
          {
            to: { id: contactId },
            types: [
              {
                associationCategory: AssociationSpecAssociationCategoryEnum.HubspotDefined,
                associationTypeId: 202,
              },
            ],
          },
        ],
      },
    ],
  });
  expect(stub.associated('contacts', contactId, 'notes')).toEqual([note.results[0]?.id]);

  await crm.contacts.basicApi.update(contactId, { properties: { firstname: 'Ana' } });
  const found = await crm.contacts.basicApi.getById(
    'ana@example.com',
    ['firstname'],
    [],
    ['deals'],
    false,
    'email',
  );
  expect(found).toMatchObject({ id: contactId, properties: { firstname: 'Ana' } });
  expect(found.associations?.['deals']?.results).toMatchObject([{ id: dealId }]);
  await crm.deals.basicApi.archive(dealId);
  await expect(crm.deals.basicApi.getById(dealId)).rejects.toMatchObject({ code: 404 });
  await crm.contacts.basicApi.purge({ objectId: 'ana@example.com', idProperty: 'email' });
  expect([stub.records.contacts, stub.records.deals]).toEqual([[], []]);
});

test('the SDK understands a mixed answer', async () => {
  const inputs = ['ana@example.com', 'ben@'].map((email, index) => ({
    idProperty: 'email',
    id: email,
    objectWriteTraceId: `t${index}`,
    properties: { email },
  }));
  const answer = await crm.contacts.batchApi.upsert({ inputs });
  expect(answer).toMatchObject({
    status: 'COMPLETE',
    numErrors: 1,
    results: [{ _new: true, objectWriteTraceId: 't0' }],
    errors: [{ category: 'VALIDATION_ERROR', context: { objectWriteTraceId: ['t1'] } }],
  });
});

test('the SDK distinguishes a duplicate from a wrong value', async () => {
  const id = stub.addRecord('contacts', { email: 'ana@example.com' });
  await expect(
    crm.contacts.basicApi.create({ properties: { email: 'ana@example.com' } }),
  ).rejects.toMatchObject({
    code: 409,
    body: { category: 'CONFLICT', message: `Contact already exists. Existing ID: ${id}` },
  });
  await expect(crm.contacts.basicApi.create({ properties: { email: 'ben@' } })).rejects.toMatchObject({
    code: 400,
    body: { category: 'VALIDATION_ERROR', errors: [{ code: 'INVALID_EMAIL' }] },
  });
});

test('the SDK merges contacts, and finds the one by the id of the other', async () => {
  const [kept = '', gone = ''] = ['a', 'b'].map((name) =>
    stub.addRecord('contacts', { email: `${name}@example.com` }),
  );
  await crm.contacts.basicApi.merge({ primaryObjectId: kept, objectIdToMerge: gone });
  expect((await crm.contacts.basicApi.getById(gone)).id).toBe(kept);
});

test('the SDK searches, and reads owners, pipelines and the account', async () => {
  stub.addRecord('contacts', { email: 'ana@example.com', firstname: 'Ana' });
  const filter = { propertyName: 'firstname', operator: FilterOperatorEnum.Eq, value: 'Ana' };
  const search = () =>
    crm.contacts.searchApi.doSearch({
      filterGroups: [{ filters: [filter] }],
      limit: 10,
      properties: ['email'],
    });
  expect((await search()).total).toBe(0);
  clock.jump(10_000);
  expect(await search()).toMatchObject({ total: 1, results: [{ properties: { email: 'ana@example.com' } }] });
  expect((await crm.owners.ownersApi.getPage()).results[0]).toMatchObject({ id: '101', type: 'PERSON' });
  const pipelines = await crm.pipelines.pipelinesApi.getAll('deals');
  expect(pipelines.results[0]?.stages[0]).toMatchObject({ id: 'appointmentscheduled', displayOrder: 0 });
  const details = await client.apiRequest({ path: '/account-info/v3/details' });
  expect(await details.json()).toMatchObject({ portalId: stub.portalId });
});

test('the SDK gets a 401 for a revoked token and a 403 for a missing scope', async () => {
  stub.setScopes([]);
  await expect(crm.owners.ownersApi.getPage()).rejects.toMatchObject({
    code: 403,
    body: {
      category: 'MISSING_SCOPES',
      errors: [{ context: { requiredGranularScopes: ['crm.objects.owners.read'] } }],
    },
  });
  stub.revokeToken();
  await expect(crm.owners.ownersApi.getPage()).rejects.toMatchObject({
    code: 401,
    body: { category: 'INVALID_AUTHENTICATION' },
  });
});

const errors: readonly AnswerName[] = [
  'locked',
  'ten-secondly',
  'secondly',
  'daily',
  'migrating',
  'internal-error',
  'service-unavailable',
  'no-property',
  'not-unique',
];
test.each(errors)('the SDK reads the answer %s', async (name) => {
  stub.answerNext(name);
  await expect(crm.owners.ownersApi.getPage()).rejects.toMatchObject({
    code: answers[name].status,
    body: { message: JSON.parse(answers[name].body([])).message },
  });
});

test.each(['bad-gateway', 'gateway-timeout', 'cloudflare-524', 'no-body'] as const)(
  'the SDK takes the answer %s for no success',
  async (name) => {
    stub.answerNext(name);
    await expect(crm.contacts.batchApi.upsert({ inputs: [] })).rejects.toThrow();
  },
);

test('an HTML page with 200 is a success without results to the SDK, which a sink must not believe', async () => {
  stub.answerNext('html-200');
  expect((await crm.contacts.batchApi.upsert({ inputs: [] })).results).toBeUndefined();
});
