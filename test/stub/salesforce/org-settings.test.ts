import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recordError } from './answer.ts';
import { aSalesforceLead as aLead, logIn, type RestClient } from './rest-client.ts';
import { type SalesforceStub, startSalesforceStub } from './salesforce-stub.ts';

let stub: SalesforceStub;
let client: RestClient;

beforeEach(async () => {
  stub = await startSalesforceStub();
  client = await logIn(stub);
});
afterEach(() => stub.close());

const idOf = (key: string) =>
  stub.records['Lead']?.find((lead) => lead['Leadsync_Key__c'] === key)?.Id ?? 'no such lead';

async function errorsOf(lead: object): Promise<object[]> {
  const { status, body } = await client.upsert([lead]);
  expect(status).toBe(200);
  return body[0].errors;
}

describe('what an administrator switches on', () => {
  test('a validation rule refuses a lead', async () => {
    stub.settings.validationRule = {
      message: 'A lead must have a phone number',
      field: 'Phone',
      refuses: ({ Phone }) => !Phone,
    };
    expect(await errorsOf(aLead('main:1'))).toEqual([
      recordError('FIELD_CUSTOM_VALIDATION_EXCEPTION', 'A lead must have a phone number', ['Phone']),
    ]);
    expect(await errorsOf(aLead('main:1', { Phone: '1' }))).toEqual([]);
  });

  test('a trigger stops a lead', async () => {
    stub.settings.trigger = ({ City }) =>
      City === 'Nowhere' ? recordError('CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY', 'LeadTrigger: …') : undefined;
    expect(await errorsOf(aLead('main:1', { City: 'Nowhere' }))).toMatchObject([
      { statusCode: 'CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY' },
    ]);
    expect(await errorsOf(aLead('main:2'))).toEqual([]);
  });

  test.each([
    ['UNABLE_TO_LOCK_ROW', () => stub.settings.locked.add('main:1')],
    ['STORAGE_LIMIT_EXCEEDED', () => Object.assign(stub.settings, { storageFull: true })],
    [
      'INSERT_UPDATE_DELETE_NOT_ALLOWED_DURING_MAINTENANCE',
      () => Object.assign(stub.settings, { readOnlyMode: true }),
    ],
    ['INSUFFICIENT_ACCESS_OR_READONLY', () => Object.assign(stub.settings, { leadAccess: 'read' })],
  ])('answers %s', async (statusCode, arrange) => {
    arrange();
    expect(await errorsOf(aLead('main:1'))).toMatchObject([{ statusCode }]);
  });

  test('a user without access to leads sees none', async () => {
    stub.settings.leadAccess = 'none';
    expect((await client.upsert([aLead('main:1')])).status).toBe(404);
    expect(await client.query('SELECT Id FROM Lead')).toMatchObject({
      status: 400,
      body: [{ errorCode: 'INVALID_TYPE' }],
    });
  });

  test('a converted lead cannot be changed', async () => {
    await client.upsert([aLead('main:1')]);
    stub.change(idOf('main:1'), { IsConverted: true });
    expect(await errorsOf(aLead('main:1', { City: 'x' }))).toEqual([
      recordError('CANNOT_UPDATE_CONVERTED_LEAD', 'cannot reference converted lead'),
    ]);
  });

  test('an assignment rule gives new leads their owners, unless the request switches it off', async () => {
    const owners = ['anna', 'ben'].map((name) => stub.add('User', { Username: `${name}@example.com` }));
    stub.settings.assignmentRule = { id: '01Q5g0000000001EAA', owners };
    await client.upsert([aLead('main:1'), aLead('main:2')]);
    await client.upsert([aLead('main:3')], { 'sforce-auto-assign': 'true' });
    await client.upsert([aLead('main:4')], { 'sforce-auto-assign': 'FALSE' });
    await client.upsert([aLead('main:5')], { 'sforce-auto-assign': '01Q5g0000000001EAA' });
    const [anna, ben] = owners;
    expect(stub.records['Lead']?.map(({ OwnerId }) => OwnerId)).toEqual([anna, ben, anna, stub.userId, ben]);
    expect(await client.upsert([aLead('main:6')], { 'sforce-auto-assign': '01Q000000000000' })).toMatchObject(
      { status: 400, body: [{ errorCode: 'INVALID_ASSIGNMENT_RULE' }] },
    );
  });
});

describe('a duplicate rule', () => {
  const twin = aLead('main:2', { Email: 'Jo@Example.com' });
  const ALLOW = { 'sforce-duplicate-rule-header': 'allowSave=true' };

  beforeEach(async () => {
    await client.upsert([aLead('main:1', { Email: 'jo@example.com' })]);
  });

  test('that alerts refuses a second lead of a person, and passes it with allowSave', async () => {
    stub.settings.duplicateRule = 'alert';
    expect(await errorsOf(twin)).toEqual([recordError('DUPLICATES_DETECTED', 'Use one of these records?')]);
    expect((await client.upsert([twin], ALLOW)).body).toMatchObject([{ created: true }]);
  });

  test('that blocks refuses it with allowSave too', async () => {
    stub.settings.duplicateRule = 'block';
    expect((await client.upsert([twin], ALLOW)).body).toMatchObject([
      { errors: [{ statusCode: 'DUPLICATES_DETECTED' }] },
    ]);
  });

  test('does not find a lead to be its own duplicate', async () => {
    stub.settings.duplicateRule = 'block';
    expect(await errorsOf(aLead('main:1', { Email: 'JO@example.com' }))).toEqual([]);
  });

  test('matches contacts, and names its matches to the request for a single record', async () => {
    stub.settings.duplicateRule = 'block';
    const contact = stub.add('Contact', { LastName: 'Doe', Email: 'jo@example.com' });
    const { status, body } = await client.send('POST', 'sobjects/Lead', twin);
    expect([status, body[0].errorCode, body[0].duplicateResult.allowSave]).toEqual([
      400,
      'DUPLICATES_DETECTED',
      false,
    ]);
    expect(
      body[0].duplicateResult.matchResults.map(
        ({
          entityType,
          matchRecords,
        }: {
          entityType: string;
          matchRecords: [{ record: { Id: string } }];
        }) => [entityType, matchRecords[0].record.Id],
      ),
    ).toEqual([
      ['Lead', idOf('main:1')],
      ['Contact', contact],
    ]);
  });

  test('names its matches in collections where Salesforce does', async () => {
    const other = await startSalesforceStub({ questions: { collectionDuplicates: 'named' } });
    other.settings.duplicateRule = 'alert';
    const client = await logIn(other);
    const { body } = await client.upsert([aLead('main:1', { Email: 'jo@example.com' }), twin]);
    expect(body[1].errors[0].duplicateResult.matchResults[0].matchRecords[0].record.Id).toBe(body[0].id);
    await other.close();
  });
});
