import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HeldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';
import { allTables } from './answers.ts';
import { type HubSpotStub, type HubSpotStubOptions, startHubSpotStub } from './hubspot-stub.ts';
import type { NewProperty } from './properties.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // The answers differ in form, and each test looks at the fields of its own.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly body: any;
}

let clock: HeldClock;
let stub: HubSpotStub;

beforeEach(async () => {
  clock = new HeldClock();
  await restart();
});
afterEach(() => stub.close());

async function restart(options: HubSpotStubOptions = {}): Promise<void> {
  await stub?.close().catch(() => {});
  stub = await startHubSpotStub({ clock, ...options });
}

async function call(method: string, path: string, body?: unknown, token = stub.token): Promise<Answer> {
  const response = await fetch(`${stub.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
}

const contacts = '/crm/objects/2026-09/contacts';
const deals = '/crm/objects/2026-09/deals';

function batch(path: string, inputs: readonly object[]): Promise<Answer> {
  return call('POST', path, { inputs });
}

/** Upserts contacts by e-mail; `traced` gives each input a trace id. */
function upsertContacts(inputs: readonly Record<string, string>[], traced = false): Promise<Answer> {
  return batch(
    `${contacts}/batch/upsert`,
    inputs.map((properties, index) => ({
      idProperty: 'email',
      id: properties['email'],
      properties,
      ...(traced ? { objectWriteTraceId: `t${index}` } : {}),
    })),
  );
}

const key: NewProperty = {
  name: 'leadsync_key',
  label: 'leadsync key',
  type: 'string',
  fieldType: 'text',
  groupName: 'dealinformation',
  hasUniqueValue: true,
};

function upsertDeals(...properties: readonly Record<string, string>[]): Promise<Answer> {
  return batch(
    `${deals}/batch/upsert`,
    properties.map((own) => ({
      idProperty: 'leadsync_key',
      id: own['leadsync_key'],
      properties: { dealname: 'A job', dealstage: 'qualifiedtobuy', ...own },
    })),
  );
}

describe('a batch of records', () => {
  test('an upsert makes a contact, then changes it, and says which it did', async () => {
    const first = await upsertContacts([{ email: 'ana@example.com', firstname: 'Ana' }]);
    expect([first.status, first.body.results[0].new]).toEqual([200, true]);
    const second = await upsertContacts([{ email: 'ana@example.com', firstname: 'Anna', phone: '1' }]);
    expect(second.body.results[0]).toMatchObject({ new: false, id: first.body.results[0].id });
    expect(stub.records.contacts).toMatchObject([{ properties: { firstname: 'Anna', phone: '1' } }]);
  });

  test('e-mail addresses are stored in lower case and found in any', async () => {
    await upsertContacts([{ email: 'Ana@Example.COM' }]);
    const again = await upsertContacts([{ email: 'aNa@example.com' }]);
    expect(again.body.results[0]).toMatchObject({ new: false, properties: { email: 'ana@example.com' } });
  });

  test('without trace ids one bad record fails all of them, and nothing is stored', async () => {
    const answer = await upsertContacts([{ email: 'ana@example.com' }, { email: 'ben@' }]);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      status: 'error',
      category: 'VALIDATION_ERROR',
      errors: [{ code: 'INVALID_EMAIL', context: { propertyName: ['email'] } }],
    });
    expect(answer.body.message).toContain('Property values were not valid: [{"isValid":false');
    expect(stub.records.contacts).toEqual([]);
  });

  test('with trace ids each record has its own fate, and the errors name theirs', async () => {
    const answer = await upsertContacts([{ email: 'ana@example.com' }, { email: 'ben@' }], true);
    expect(answer.status).toBe(207);
    expect(answer.body).toMatchObject({
      status: 'COMPLETE',
      numErrors: 1,
      results: [{ objectWriteTraceId: 't0' }],
      errors: [{ status: 'error', category: 'VALIDATION_ERROR', context: { objectWriteTraceId: ['t1'] } }],
    });
    expect(stub.records.contacts).toHaveLength(1);
  });

  test('trace ids that are not unique, or not on every input, switch nothing on', async () => {
    const input = (email: string, objectWriteTraceId?: string) => ({
      properties: { email },
      ...(objectWriteTraceId === undefined ? {} : { objectWriteTraceId }),
    });
    const path = `${contacts}/batch/create`;
    expect((await batch(path, [input('a@example.com', 't'), input('b@', 't')])).status).toBe(400);
    expect((await batch(path, [input('a@example.com', 't'), input('b@')])).status).toBe(400);
    expect(stub.records.contacts).toEqual([]);
  });

  test('an id that comes twice fails the whole request, trace ids or not', async () => {
    const answer = await upsertContacts([{ email: 'a@example.com' }, { email: 'A@example.com' }], true);
    expect(answer).toMatchObject({
      status: 400,
      body: {
        message: 'Duplicate IDs found in batch input: [a@example.com]. IDs must be unique',
        context: { ids: ['a@example.com'] },
      },
    });
  });

  test('takes 100 inputs and not 101, nor none', async () => {
    const many = Array.from({ length: 101 }, (_, index) => ({ email: `p${index}@example.com` }));
    expect((await upsertContacts(many)).body.message).toContain('supported in a batch is 100');
    expect((await upsertContacts([])).status).toBe(400);
    expect((await upsertContacts(many.slice(1))).body.results).toHaveLength(100);
  });

  test('values are texts, neither numbers nor null, and fields that HubSpot does not know are refused', async () => {
    const create = (input: object) => batch(`${contacts}/batch/create`, [input]);
    expect((await create({ properties: { zip: 2000 } })).body.message).toContain('Invalid input JSON');
    expect((await create({ properties: { zip: null } })).status).toBe(400);
    expect((await create({ properties: {}, objectTraceId: '1' })).status).toBe(400);
  });

  test('an upsert needs a unique property, which hs_object_id is not', async () => {
    const upsert = (idProperty: string) =>
      batch(`${contacts}/batch/upsert`, [{ idProperty, id: '1', properties: { firstname: 'A' } }]);
    expect((await upsert('phone')).body.message).toBe(
      'Unable to perform update/upsert by non-unique 0-1 property phone',
    );
    expect((await upsert('hs_object_id')).status).toBe(400);
  });

  test('an update by an id that does not exist is an error of its input alone', async () => {
    const id = stub.addRecord('contacts', { email: 'ana@example.com' });
    const answer = await batch(`${contacts}/batch/update`, [
      { id, properties: { firstname: 'Ana' } },
      { id: '7', properties: { firstname: 'Ben' } },
    ]);
    expect(answer).toMatchObject({
      status: 207,
      body: { results: [{ id }], errors: [{ category: 'OBJECT_NOT_FOUND', context: { ids: ['7'] } }] },
    });
  });

  test('a read names those that it does not find, and gives the properties that were asked for', async () => {
    const id = stub.addRecord('contacts', { email: 'ana@example.com', firstname: 'Ana', phone: '1' });
    const answer = await call('POST', `${contacts}/batch/read`, {
      idProperty: 'email',
      properties: ['firstname', 'lastname'],
      inputs: [{ id: 'ana@example.com' }, { id: 'ben@example.com' }],
    });
    expect(answer.status).toBe(207);
    expect(answer.body.results).toMatchObject([
      { id, properties: { firstname: 'Ana', lastname: null, hs_object_id: id } },
    ]);
    expect(answer.body.results[0].properties).not.toHaveProperty('phone');
    expect(answer.body.errors[0].context.ids).toEqual(['ben@example.com']);
  });

  test('results come in another order, or without trace ids, by option', async () => {
    await restart({ resultOrder: 'reversed', tracedResults: false });
    const { body } = await upsertContacts([{ email: 'a@example.com' }, { email: 'b@example.com' }], true);
    expect(body.results.map((one: { properties: object }) => one.properties)).toMatchObject([
      { email: 'b@example.com' },
      { email: 'a@example.com' },
    ]);
    expect(body.results[0]).not.toHaveProperty('objectWriteTraceId');
  });

  test('an upsert by e-mail clears what its input leaves out, by option', async () => {
    await restart({ upsertByEmailKeepsOmitted: false });
    await upsertContacts([{ email: 'a@example.com', firstname: 'Ana', phone: '1' }]);
    await upsertContacts([{ email: 'a@example.com', firstname: 'Ana' }]);
    expect(stub.records.contacts[0]?.properties).not.toHaveProperty('phone');
  });

  test('an empty text clears a property', async () => {
    await upsertContacts([{ email: 'a@example.com', phone: '1' }]);
    await upsertContacts([{ email: 'a@example.com', phone: '' }]);
    expect(stub.records.contacts[0]?.properties).not.toHaveProperty('phone');
  });
});

describe('uniqueness', () => {
  test('a second contact with an address gets a 409 that names the first in its message', async () => {
    const id = stub.addRecord('contacts', { email: 'ana@example.com' });
    const answer = await call('POST', contacts, { properties: { email: 'ANA@example.com' } });
    expect(answer).toMatchObject({
      status: 409,
      body: { category: 'CONFLICT', message: `Contact already exists. Existing ID: ${id}` },
    });
  });

  test('two creations with one address in a request conflict with each other', async () => {
    const inputs = [1, 2].map((n) => ({
      properties: { email: 'ana@example.com' },
      objectWriteTraceId: String(n),
    }));
    const answer = await batch(`${contacts}/batch/create`, inputs);
    expect(answer.status).toBe(207);
    expect(answer.body.errors).toMatchObject([
      { category: 'CONFLICT', message: `Contact already exists. Existing ID: ${answer.body.results[0].id}` },
    ]);
  });

  test('secondary addresses are unique too, and an upsert finds them by option', async () => {
    const contact = { email: 'ana@example.com', hs_additional_emails: 'a@example.com;b@example.com' };
    const id = stub.addRecord('contacts', contact);
    expect((await upsertContacts([{ email: 'b@example.com' }])).body.message).toContain(`Existing ID: ${id}`);
    await restart({ upsertFindsSecondaryEmail: true });
    stub.addRecord('contacts', contact);
    expect((await upsertContacts([{ email: 'b@example.com' }])).body.results[0].new).toBe(false);
    expect(stub.records.contacts).toMatchObject([
      { properties: { email: 'b@example.com', hs_additional_emails: 'ana@example.com;a@example.com' } },
    ]);
  });

  test('a unique property of one’s own is a key of upserts, also of partial ones', async () => {
    stub.addProperty('deals', key);
    const made = await upsertDeals({ leadsync_key: 'main:1', amount: '10' });
    const changed = await batch(`${deals}/batch/upsert`, [
      { idProperty: 'leadsync_key', id: 'main:1', properties: { amount: '20' } },
    ]);
    expect(changed.body.results[0]).toMatchObject({ id: made.body.results[0].id, new: false });
    expect(stub.records.deals).toMatchObject([{ properties: { dealname: 'A job', amount: '20' } }]);
  });

  test('a value that another record has is refused', async () => {
    stub.addProperty('deals', key);
    await upsertDeals({ leadsync_key: 'main:1' }, { leadsync_key: 'main:2' });
    const [, second] = stub.records.deals;
    const answer = await call('PATCH', `${deals}/${second?.id}`, { properties: { leadsync_key: 'main:1' } });
    expect(answer.body.errors[0].code).toBe('CONFLICTING_UNIQUE_VALUE');
  });

  test('a deleted record frees its values', async () => {
    const id = stub.addRecord('contacts', { email: 'ana@example.com' });
    expect((await call('DELETE', `${contacts}/${id}`)).status).toBe(204);
    expect((await call('GET', `${contacts}/${id}`)).status).toBe(404);
    expect((await upsertContacts([{ email: 'ana@example.com' }])).body.results[0].new).toBe(true);
  });

  test('a merged contact answers by its old id, and its address becomes a secondary one', async () => {
    const [kept, gone] = [{ email: 'a@example.com' }, { email: 'b@example.com', phone: '1' }].map((one) =>
      stub.addRecord('contacts', one),
    );
    stub.mergeContacts(kept ?? '', gone ?? '');
    expect(
      (await call('GET', `${contacts}/${gone}?properties=email,hs_additional_emails`)).body,
    ).toMatchObject({
      id: kept,
      properties: { email: 'a@example.com', hs_additional_emails: 'b@example.com' },
    });
    const updated = await batch(`${contacts}/batch/update`, [{ id: gone, properties: { city: 'Perth' } }]);
    expect(updated.body.results).toMatchObject([{ id: kept }]);
  });

  test('a batch update leaves a merged contact out of its results by option, without an error', async () => {
    await restart({ updateNamesMerged: false });
    const kept = stub.addRecord('contacts', { email: 'a@example.com' });
    const gone = stub.addRecord('contacts', { email: 'b@example.com' });
    stub.mergeContacts(kept, gone);
    const { status, body } = await batch(`${contacts}/batch/update`, [
      { id: gone, properties: { city: 'P' } },
    ]);
    expect([status, body.results, body.errors]).toEqual([200, [], undefined]);
  });
});

describe('values', () => {
  const cases = [
    ['contacts', 'email', 'ana@example.con', 'INVALID_EMAIL'],
    ['contacts', 'email', 'ana@@example.com', 'INVALID_EMAIL'],
    ['contacts', 'numemployees', 'many', 'INVALID_OPTION'],
    ['contacts', 'firstname', 'x'.repeat(65_537), 'VALUE_TOO_LONG'],
    ['contacts', 'hs_object_id', '7', 'READ_ONLY_VALUE'],
    ['contacts', 'leadsync_service', 'plumbing', 'PROPERTY_DOESNT_EXIST'],
    ['contacts', 'hubspot_owner_id', '999', 'INVALID_OWNER_ID'],
    ['deals', 'amount', 'a lot', 'INVALID_INTEGER'],
    ['deals', 'amount', '10 ', 'INVALID_INTEGER'],
    ['deals', 'closedate', 'tomorrow', 'INVALID_DATE'],
    ['deals', 'dealstage', 'nowhere', 'INVALID_OPTION'],
    ['deals', 'pipeline', 'nowhere', 'INVALID_OPTION'],
    ['notes', 'hs_timestamp', '2026-11-20 10:00', 'INVALID_DATE'],
  ] as const;
  test.each(cases)('%s.%s does not take %.20s', async (object, property, value, code) => {
    const required = {
      contacts: {},
      deals: { dealname: 'A job', dealstage: 'qualifiedtobuy' },
      notes: { hs_timestamp: '2026-11-20T10:00:00Z' },
    }[object];
    const answer = await call('POST', `/crm/objects/2026-09/${object}`, {
      properties: { ...required, [property]: value },
    });
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toMatchObject([{ code, context: { propertyName: [property] } }]);
  });

  test('a date is midnight UTC; a time is ISO 8601 or milliseconds', async () => {
    stub.addProperty('deals', {
      ...key,
      name: 'due',
      type: 'date',
      fieldType: 'date',
      hasUniqueValue: false,
    });
    const deal = (properties: object) =>
      call('POST', deals, { properties: { dealname: 'A job', dealstage: 'qualifiedtobuy', ...properties } });
    expect((await deal({ due: '2026-11-20', closedate: '1763632800000' })).status).toBe(201);
    expect((await deal({ closedate: '2026-11-20T10:00:00+01:00' })).status).toBe(201);
    expect((await deal({ due: '2026-11-20T10:00:00Z' })).body.errors[0].code).toBe('INVALID_DATE');
  });

  test('a lifecycle stage only moves forward; a step back is ignored, or refused by option', async () => {
    const move = async (lifecyclestage: string) => {
      const id = stub.records.contacts[0]?.id ?? stub.addRecord('contacts', { email: 'a@example.com' });
      return call('PATCH', `${contacts}/${id}`, { properties: { lifecyclestage } });
    };
    for (const stage of ['customer', 'lead']) expect((await move(stage)).status).toBe(200);
    expect(stub.records.contacts[0]?.properties['lifecyclestage']).toBe('customer');
    for (const stage of ['', 'lead']) await move(stage);
    expect(stub.records.contacts[0]?.properties['lifecyclestage']).toBe('lead');
    await restart({ lifecycleBackward: 'refused' });
    await move('customer');
    expect((await move('lead')).status).toBe(400);
  });

  test('an administrator’s rule refuses values from one day to the next', async () => {
    stub.setRule('contacts', 'phone', (value) => value.startsWith('+'));
    const create = () => call('POST', contacts, { properties: { phone: '0412' } });
    expect((await create()).body.errors[0].code).toBe('VALIDATION_RULE');
    stub.setRule('contacts', 'phone');
    expect((await create()).status).toBe(201);
  });

  test('a record without its required properties is not made', async () => {
    expect((await call('POST', deals, { properties: { dealname: 'A job' } })).body).toMatchObject({
      message: 'Error creating DEAL. Some required properties were not set.',
      context: { properties: ['dealstage'] },
    });
  });

  test('a lead needs a contact from the start, so that an upsert makes none', async () => {
    const contact = stub.addRecord('contacts', { email: 'a@example.com' });
    const types = [{ associationCategory: 'HUBSPOT_DEFINED', associationTypeId: 578 }];
    const lead = { properties: { hs_lead_name: 'A job' } };
    const path = '/crm/objects/2026-09/leads/batch/create';
    expect((await batch(path, [lead])).status).toBe(400);
    const made = await batch(path, [{ ...lead, associations: [{ to: { id: contact }, types }] }]);
    expect(made.status).toBe(201);
    expect(stub.associated('contacts', contact, 'leads')).toEqual([made.body.results[0].id]);
  });
});

describe('properties', () => {
  const path = '/crm/properties/2026-09/deals';

  test('a group and a property are made once; the second time is a 409', async () => {
    const group = { name: 'leadsync', label: 'leadsync' };
    const create = () => call('POST', path, { ...key, groupName: 'leadsync' });
    expect((await create()).body.message).toBe('Property group "leadsync" does not exist.');
    expect((await call('POST', `${path}/groups`, group)).status).toBe(201);
    expect((await call('POST', `${path}/groups`, group)).status).toBe(409);
    expect((await create()).status).toBe(201);
    expect(await create()).toMatchObject({ status: 409, body: { category: 'CONFLICT' } });
    expect((await call('GET', `${path}/leadsync_key`)).body).toMatchObject({
      name: 'leadsync_key',
      type: 'string',
      hasUniqueValue: true,
    });
    expect((await call('GET', path)).body.results.map(({ name }: { name: string }) => name)).toContain(
      'leadsync_key',
    );
  });

  test('a batch makes those that it can', async () => {
    const { hasUniqueValue, ...plain } = key;
    await batch(`${path}/batch/create`, [plain]);
    const answer = await batch(`${path}/batch/create`, [plain, { ...plain, name: 'other' }]);
    expect(answer).toMatchObject({ status: 207, body: { results: [{ name: 'other' }], numErrors: 1 } });
  });

  test('an object has ten unique properties at most, and they are texts or numbers', async () => {
    for (let count = 1; count <= 10; count += 1) stub.addProperty('deals', { ...key, name: `key_${count}` });
    expect((await call('POST', path, key)).body.message).toContain('limit of 10 unique properties');
    const date = { ...key, type: 'date', fieldType: 'date' };
    expect((await call('POST', path, date)).status).toBe(400);
  });

  test('a property that an administrator deletes no longer exists', async () => {
    stub.addProperty('deals', key);
    stub.deleteProperty('deals', 'leadsync_key');
    expect((await call('GET', `${path}/leadsync_key`)).status).toBe(404);
    expect((await upsertDeals({ leadsync_key: 'main:1' })).body.message).toContain('non-unique 0-3 property');
  });
});

describe('links, search and what an account is', () => {
  test('the default link is made twice without harm, and read back', async () => {
    const contact = stub.addRecord('contacts', { email: 'a@example.com' });
    const deal = stub.addRecord('deals', { dealname: 'A job' });
    const path = '/crm/associations/2026-09/contacts/deals/batch';
    const input = { from: { id: contact }, to: { id: deal } };
    for (let time = 0; time < 2; time += 1) {
      const answer = await batch(`${path}/associate/default`, [input]);
      expect([answer.status, answer.body.results.length]).toEqual([200, 2]);
    }
    expect((await batch(`${path}/read`, [{ id: contact }])).body.results).toMatchObject([
      { from: { id: contact }, to: [{ toObjectId: deal, associationTypes: [{ typeId: 4 }] }] },
    ]);
    const missing = await batch(`${path}/associate/default`, [{ ...input, to: { id: '7' } }]);
    expect(missing).toMatchObject({
      status: 207,
      body: { errors: [{ subCategory: 'crm.associations.TO_OBJECT_NOT_FOUND' }] },
    });
    await call('DELETE', `${deals}/${deal}`);
    expect(stub.associated('contacts', contact, 'deals')).toEqual([]);
  });

  test('a note is linked as it is made', async () => {
    const contact = stub.addRecord('contacts', { email: 'a@example.com' });
    const note = { properties: { hs_timestamp: '2026-11-20T10:00:00Z', hs_note_body: 'Hello' } };
    const types = [{ associationCategory: 'HUBSPOT_DEFINED', associationTypeId: 202 }];
    await batch('/crm/objects/2026-09/notes/batch/create', [
      { ...note, associations: [{ to: { id: contact }, types }] },
    ]);
    expect(stub.associated('contacts', contact, 'notes')).toEqual([stub.records.notes[0]?.id]);
  });

  test('search is behind: it finds a record, and a change of it, only after its lag', async () => {
    const find = async (value: string) => {
      const filters = [{ propertyName: 'firstname', operator: 'EQ', value }];
      return (await call('POST', `${contacts}/search`, { filterGroups: [{ filters }] })).body.total;
    };
    const id = stub.addRecord('contacts', { email: 'a@example.com', firstname: 'Ana' });
    expect(await find('Ana')).toBe(0);
    clock.jump(10_000);
    expect(await find('Ana')).toBe(1);
    stub.editRecord('contacts', id, { firstname: 'Anna' });
    expect([await find('Ana'), await find('Anna')]).toEqual([1, 0]);
    clock.jump(10_000);
    expect([await find('Ana'), await find('Anna')]).toEqual([0, 1]);
  });

  test('a contact that is deleted for good is gone, and its address stays out', async () => {
    stub.addRecord('contacts', { email: 'ana@example.com' });
    const erased = await call('POST', `${contacts}/gdpr-delete`, {
      objectId: 'ana@example.com',
      idProperty: 'email',
    });
    expect([erased.status, stub.records.contacts]).toEqual([204, []]);
    expect((await upsertContacts([{ email: 'ana@example.com' }])).body.message).toContain('GDPR');
  });

  test('pipelines, owners and details of the account are served', async () => {
    expect((await call('GET', '/crm/pipelines/2026-09/deals')).body.results[0].id).toBe('default');
    expect((await call('GET', '/crm/pipelines/2026-09/leads')).body.results[0].stages[0].id).toBe(
      'new-stage-id',
    );
    expect((await call('GET', '/crm/owners/2026-09?limit=100')).body.results[0].id).toBe('101');
    expect((await call('GET', '/account-info/2026-09/details')).body).toMatchObject({
      portalId: stub.portalId,
      timeZone: 'America/New_York',
    });
  });
});

describe('the token, the plan and limits', () => {
  test('a token that is wrong or revoked gets a 401, a new one works', async () => {
    expect((await call('GET', '/crm/owners/2026-09', undefined, 'wrong')).status).toBe(401);
    stub.revokeToken('pat-eu1-new');
    expect((await call('GET', '/crm/owners/2026-09')).body.category).toBe('INVALID_AUTHENTICATION');
    expect((await call('GET', '/crm/owners/2026-09', undefined, 'pat-eu1-new')).status).toBe(200);
  });

  test('a scope that is missing is named', async () => {
    stub.setScopes(['crm.objects.contacts.read']);
    expect(await upsertContacts([{ email: 'a@example.com' }])).toMatchObject({
      status: 403,
      body: {
        category: 'MISSING_SCOPES',
        errors: [{ context: { requiredGranularScopes: ['crm.objects.contacts.write'] } }],
      },
    });
  });

  test('an object that the plan does not have is a 404, one that does not exist a 400', async () => {
    stub.withdrawObject('leads');
    expect((await call('GET', '/crm/pipelines/2026-09/leads')).status).toBe(404);
    expect((await call('GET', '/crm/objects/2026-09/persons/1')).status).toBe(400);
    expect((await call('GET', '/crm/objects/2026-03/contacts/1')).status).toBe(404);
  });

  test('a hundred requests in ten seconds are allowed on the free plan, and the headers count them', async () => {
    await restart({ limits: 'free' });
    for (let count = 1; count <= 100; count += 1) await call('GET', '/crm/owners/2026-09');
    const refused = await call('GET', '/crm/owners/2026-09');
    expect(refused).toMatchObject({
      status: 429,
      body: { policyName: 'TEN_SECONDLY_ROLLING', errorType: 'RATE_LIMIT' },
    });
    expect(refused.headers.get('x-hubspot-ratelimit-remaining')).toBe('0');
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(await (await fetch(`${stub.url}/stub/counts`)).json()).toEqual({ requests: 101, refused: 1 });
    clock.jump(10_000);
    const allowed = await call('GET', '/crm/owners/2026-09');
    expect([allowed.status, allowed.headers.get('x-hubspot-ratelimit-remaining')]).toEqual([200, '99']);
    expect(allowed.headers.get('x-hubspot-ratelimit-daily-remaining')).toBe('249899');
  });

  test('five searches a second are allowed, and carry no headers', async () => {
    await restart({ limits: 'free' });
    for (let count = 1; count <= 5; count += 1) await call('POST', `${contacts}/search`, {});
    const refused = await call('POST', `${contacts}/search`, {});
    expect([refused.status, refused.body.policyName]).toEqual([429, 'SECONDLY']);
    expect(refused.headers.get('x-hubspot-ratelimit-max')).toBeNull();
  });

  test('the day ends at midnight in the account’s time zone', async () => {
    stub.useUpDay();
    expect((await call('GET', '/crm/owners/2026-09')).body.policyName).toBe('DAILY');
    clock.jump(18 * 3_600_000); // it was 05:00 in New York
    expect((await call('GET', '/crm/owners/2026-09')).status).toBe(429);
    clock.jump(3_600_000);
    expect((await call('GET', '/crm/owners/2026-09')).status).toBe(200);
  });
});

describe('misbehaviour', () => {
  test('an answer that leaves a stored record out names the others by their own ids', async () => {
    await upsertContacts([{ email: 'first@example.com' }]);
    stub.misbehave({ answer: 'fewer-results', stores: true });
    const answer = await upsertContacts([{ email: 'a@example.com' }, { email: 'b@example.com' }], true);
    expect(stub.records.contacts).toHaveLength(3);
    expect(answer.body.results).toMatchObject([
      { id: stub.records.contacts[2]?.id, objectWriteTraceId: 't1' },
    ]);
  });

  test.each(allTables)('answers %s once, stores nothing, and then behaves', async (name, documented) => {
    stub.answerNext(name);
    const answer = await upsertContacts([{ email: 'a@example.com' }, { email: 'b@example.com' }], true);
    expect(answer.status).toBe(documented.status);
    expect(stub.records.contacts).toEqual([]);
    if (answer.body?.results && documented.outcome === 'delivered')
      expect(answer.body.results).toMatchObject([{ objectWriteTraceId: 't0' }, { objectWriteTraceId: 't1' }]);
    expect((await upsertContacts([{ email: 'a@example.com' }])).status).toBe(200);
  });

  test('cuts the connection before or after it stored', async () => {
    stub.misbehave({ answer: 'cut' });
    await expect(upsertContacts([{ email: 'a@example.com' }])).rejects.toThrow('fetch failed');
    expect(stub.records.contacts).toHaveLength(0);
    stub.misbehave({ answer: 'cut', stores: true });
    await expect(upsertContacts([{ email: 'a@example.com' }])).rejects.toThrow('fetch failed');
    expect(stub.records.contacts).toHaveLength(1);
  });

  test('sends half an answer after it stored', async () => {
    stub.misbehave({ answer: 'truncated' });
    await expect(upsertContacts([{ email: 'a@example.com' }])).rejects.toThrow();
    expect(stub.records.contacts).toHaveLength(1);
  });

  test('answers 504 although it stored, to the requests that are meant, as often as asked', async () => {
    stub.addProperty('deals', key);
    stub.misbehave({ answer: 'gateway-timeout', stores: true, at: 'deals/batch', times: 2 });
    expect((await upsertContacts([{ email: 'a@example.com' }])).status).toBe(200);
    for (const status of [504, 504, 200])
      expect((await upsertDeals({ leadsync_key: 'main:1' })).status).toBe(status);
    expect(stub.records.deals).toHaveLength(1);
  });

  test('never answers, and answers what a test makes up, with a Retry-After', async () => {
    stub.misbehave({ answer: 'silent', stores: true });
    const abort = new AbortController();
    const waiting = fetch(`${stub.url}${contacts}`, {
      method: 'POST',
      signal: abort.signal,
      headers: { authorization: `Bearer ${stub.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ properties: { email: 'a@example.com' } }),
    });
    await until('the stub has stored the contact', () => stub.records.contacts.length === 1);
    abort.abort();
    await expect(waiting).rejects.toThrow('aborted');
    stub.misbehave({ answer: { status: 429, body: { message: 'slow down' } }, retryAfter: '3000' });
    const answer = await call('GET', '/crm/owners/2026-09');
    expect([answer.status, answer.headers.get('retry-after'), answer.body.message]).toEqual([
      429,
      '3000',
      'slow down',
    ]);
  });

  test('forgets what is still to come, and notes every request', async () => {
    stub.answerNext('locked', 'daily');
    stub.behave();
    await call('GET', '/crm/owners/2026-09');
    expect(stub.requests).toMatchObject([
      {
        method: 'GET',
        path: '/crm/owners/2026-09',
        status: 200,
        headers: { authorization: 'Bearer pat-eu1-stub' },
      },
    ]);
    expect(stub.requestCount).toBe(1);
  });

  test('a body that is no JSON is a 400, of another type a 415', async () => {
    const post = async (type: string) =>
      (
        await fetch(`${stub.url}${contacts}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${stub.token}`, 'content-type': type },
          body: '{',
        })
      ).status;
    expect([await post('application/json'), await post('text/plain')]).toEqual([400, 415]);
  });
});
