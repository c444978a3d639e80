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

describe('an upsert of a collection', () => {
  test('creates a lead, and then finds it by its key', async () => {
    const created = await client.upsert([aLead('main:1'), aLead('main:2')]);
    const updated = await client.upsert([aLead('main:2', { FirstName: 'Jo' }), aLead('main:3')]);
    expect(created.body).toEqual([
      { id: idOf('main:1'), success: true, errors: [], created: true },
      { id: idOf('main:2'), success: true, errors: [], created: true },
    ]);
    expect(updated.body).toEqual([
      { id: idOf('main:2'), success: true, errors: [], created: false },
      { id: idOf('main:3'), success: true, errors: [], created: true },
    ]);
    expect(stub.records['Lead']).toMatchObject([
      { Leadsync_Key__c: 'main:1', Name: 'Doe' },
      { Leadsync_Key__c: 'main:2', Name: 'Jo Doe' },
      { Leadsync_Key__c: 'main:3', OwnerId: stub.userId },
    ]);
  });

  test('answers 200 in the order of the request even if records failed', async () => {
    const { status, body } = await client.upsert([{ Leadsync_Key__c: 'main:1' }, aLead('main:2')]);
    expect(status).toBe(200);
    expect(body).toEqual([
      {
        success: false,
        created: false,
        errors: [
          recordError('REQUIRED_FIELD_MISSING', 'Required fields are missing: [LastName, Company]', [
            'LastName',
            'Company',
          ]),
        ],
      },
      { id: idOf('main:2'), success: true, errors: [], created: true },
    ]);
  });

  test('stores nothing with allOrNone if one record fails', async () => {
    await client.upsert([aLead('main:1', { City: 'Before' })]);
    const leads = [aLead('main:1', { City: 'After' }), aLead('main:2'), aLead('main:3', { Email: 'nobody' })];
    const { status, body } = await client.upsert(leads, {}, true);
    expect(status).toBe(200);
    expect(body.map(({ errors }: { errors: [{ statusCode: string }] }) => errors[0].statusCode)).toEqual([
      'ALL_OR_NONE_OPERATION_ROLLED_BACK',
      'ALL_OR_NONE_OPERATION_ROLLED_BACK',
      'INVALID_EMAIL_ADDRESS',
    ]);
    expect(stub.records['Lead']).toMatchObject([{ City: 'Before' }]);
  });

  test('takes 200 records and refuses 201', async () => {
    const leads = Array.from({ length: 201 }, (_, index) => aLead(`main:${index}`));
    const tooMany = await client.upsert(leads);
    expect(tooMany).toMatchObject({ status: 400, body: [{ errorCode: 'EXCEEDED_ID_LIMIT' }] });
    expect(stub.records['Lead']).toEqual([]);
    expect((await client.upsert(leads.slice(1))).body).toHaveLength(200);
  });

  test('wants attributes, a key and no id in each record', async () => {
    expect(await errorsOf({ ...aLead('main:1'), attributes: { type: 'Contact' } })).toMatchObject([
      { statusCode: 'INVALID_TYPE' },
    ]);
    expect(await errorsOf({ LastName: 'Doe', Company: 'x' })).toMatchObject([
      { statusCode: 'MISSING_ARGUMENT', message: 'Leadsync_Key__c not specified' },
    ]);
    expect(await errorsOf(aLead('main:1', { Id: '00Q5g0000000001EAA' }))).toMatchObject([
      { statusCode: 'INVALID_FIELD' },
    ]);
  });

  test.each([['not JSON'], ['[]'], ['{}'], ['{"records":[1]}'], ['{"records":[],"allOrNone":"no"}']])(
    'is refused as a whole if its body is %s',
    async (body) => {
      const answer = await client.send('PATCH', 'composite/sobjects/Lead/Leadsync_Key__c', body);
      expect(answer).toMatchObject({ status: 400, body: [{ errorCode: 'JSON_PARSER_ERROR' }] });
    },
  );

  test('compares keys by case', async () => {
    await client.upsert([aLead('Main:1'), aLead('main:1')]);
    expect(stub.records['Lead']).toHaveLength(2);
  });
});

describe('a value', () => {
  test.each([
    ['STRING_TOO_LONG', { LastName: 'x'.repeat(81) }, ['LastName']],
    ['STRING_TOO_LONG', { Company: 'x'.repeat(256) }, ['Company']],
    ['REQUIRED_FIELD_MISSING', { LastName: '   ' }, ['LastName']],
    ['INVALID_EMAIL_ADDRESS', { Email: 'jo@example' }, ['Email']],
    ['INVALID_EMAIL_ADDRESS', { Email: 'jo @example.com' }, ['Email']],
    ['NUMBER_OUTSIDE_VALID_RANGE', { NumberOfEmployees: 100_000_000 }, ['NumberOfEmployees']],
    ['JSON_PARSER_ERROR', { NumberOfEmployees: 'many' }, []],
    ['JSON_PARSER_ERROR', { HasOptedOutOfEmail: 'yes' }, []],
    ['JSON_PARSER_ERROR', { Description: { text: 'x' } }, []],
    ['MALFORMED_ID', { OwnerId: 'me' }, ['OwnerId']],
    ['INVALID_FIELD', { Leadsync_Service__c: 'plumbing' }, []],
    ['INVALID_FIELD_FOR_INSERT_UPDATE', { IsConverted: true }, ['IsConverted']],
  ])('is refused with %s: %j', async (statusCode, fields, named) => {
    expect(await errorsOf(aLead('main:1', fields))).toMatchObject([{ statusCode, fields: named }]);
    expect(stub.records['Lead']).toEqual([]);
  });

  test('is stored trimmed, and an empty text as none', async () => {
    await client.upsert([aLead('main:1', { LastName: ' Doe ', City: '', LeadSource: 'Anything' })]);
    expect(stub.records['Lead']).toMatchObject([{ LastName: 'Doe', City: null, LeadSource: 'Anything' }]);
  });

  test('has to be one of a restricted picklist', async () => {
    stub.changeField('Lead', 'LeadSource', { restricted: true });
    expect(await errorsOf(aLead('main:1', { LeadSource: 'Listing' }))).toEqual([
      recordError(
        'INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST',
        'Lead Source: bad value for restricted picklist field: Listing',
        ['LeadSource'],
      ),
    ]);
    expect(await errorsOf(aLead('main:1', { LeadSource: 'Web' }))).toEqual([]);
  });

  test('has to be a known state with state picklists', async () => {
    stub.settings.states = ['New South Wales'];
    expect(await errorsOf(aLead('main:1', { State: 'NSW' }))).toMatchObject([
      { statusCode: 'FIELD_INTEGRITY_EXCEPTION', fields: ['State'] },
    ]);
  });

  test('of another unique field belongs to one lead', async () => {
    stub.changeField('Lead', 'Other_Key__c', { unique: true, length: 20 });
    await client.upsert([aLead('main:1', { Other_Key__c: 'a' })]);
    expect(await errorsOf(aLead('main:2', { Other_Key__c: 'A' }))).toEqual([
      recordError(
        'DUPLICATE_VALUE',
        `duplicate value found: Other_Key__c duplicates value on record with id: ${idOf('main:1')}`,
      ),
    ]);
  });

  test('that cannot be read fails the whole request where Salesforce reads so', async () => {
    const strict = await startSalesforceStub({ questions: { unreadableRecord: 'request' } });
    const other = await logIn(strict);
    const { status, body } = await other.upsert([aLead('main:1'), aLead('main:2', { Nothing__c: 1 })]);
    expect([status, body]).toEqual([
      400,
      [{ errorCode: 'INVALID_FIELD', message: "No such column 'Nothing__c' on sobject of type Lead" }],
    ]);
    expect(strict.records['Lead']).toEqual([]);
    await strict.close();
  });
});

describe('a key', () => {
  test.each(['DUPLICATE_VALUE', 'DUPLICATE_EXTERNAL_ID'] as const)(
    'that stands twice in a request fails both records with %s',
    async (sameKeyTwice) => {
      const other = await startSalesforceStub({ questions: { sameKeyTwice } });
      const { body } = await (await logIn(other)).upsert([aLead('main:1'), aLead('main:2'), aLead('main:1')]);
      const error = recordError(sameKeyTwice, 'Duplicate external id specified: main:1', ['Leadsync_Key__c']);
      expect(body).toMatchObject([{ errors: [error] }, { success: true }, { errors: [error] }]);
      expect(other.records['Lead']).toHaveLength(1);
      await other.close();
    },
  );

  test('that is not unique fails its record, or answers 300 to a single upsert', async () => {
    const other = await startSalesforceStub({ keyField: 'not-unique' });
    const ids = [1, 2].map(() =>
      other.add('Lead', { Leadsync_Key__c: 'main:1', LastName: 'Doe', Company: 'x' }),
    );
    const client = await logIn(other);
    const { body } = await client.upsert([aLead('main:1'), aLead('main:2')]);
    expect(body).toMatchObject([
      {
        errors: [
          {
            statusCode: 'DUPLICATE_EXTERNAL_ID',
            message: `leadsync key: more than one record found for external id field: [${ids.join(', ')}]`,
          },
        ],
      },
      { created: true },
    ]);
    const single = await client.send('PATCH', 'sobjects/Lead/Leadsync_Key__c/main:1', { City: 'x' });
    expect([single.status, single.body]).toEqual([
      300,
      ids.map((id) => `/services/data/v67.0/sobjects/Lead/${id}`),
    ]);
    await other.close();
  });

  test.each(['absent', 'hidden'] as const)('that is %s looks as if it did not exist', async (keyField) => {
    for (const absentKeyField of [404, 400] as const) {
      const other = await startSalesforceStub({ keyField, questions: { absentKeyField } });
      const answer = await (await logIn(other)).upsert([aLead('main:1')]);
      expect([answer.status, answer.body[0].message]).toEqual([
        absentKeyField,
        'Provided external ID field does not exist or is not accessible: Leadsync_Key__c',
      ]);
      await other.close();
    }
  });

  test('that may only be read cannot be written', async () => {
    stub.showField('Lead', 'Leadsync_Key__c', 'read');
    expect(await errorsOf(aLead('main:1'))).toMatchObject([
      { statusCode: 'INVALID_FIELD_FOR_INSERT_UPDATE', fields: ['Leadsync_Key__c'] },
    ]);
  });

  test('that another request stores at the same time collides once', async () => {
    stub.settings.raced.add('main:1');
    const [collision] = await errorsOf(aLead('main:1'));
    expect(collision).toMatchObject({
      statusCode: 'DUPLICATE_VALUE',
      message: `duplicate value found: Leadsync_Key__c duplicates value on record with id: ${idOf('main:1')}`,
    });
    expect((await client.upsert([aLead('main:1')])).body).toMatchObject([{ created: false }]);
  });

  test('of a deleted lead creates another one, or is refused where Salesforce finds it', async () => {
    await client.upsert([aLead('main:1')]);
    stub.remove(idOf('main:1'));
    expect((await client.upsert([aLead('main:1')])).body).toMatchObject([{ created: true }]);
    const other = await startSalesforceStub({ questions: { deletedKey: 'ENTITY_IS_DELETED' } });
    other.remove(other.add('Lead', { Leadsync_Key__c: 'main:1' }));
    expect((await (await logIn(other)).upsert([aLead('main:1')])).body).toMatchObject([
      { errors: [{ statusCode: 'ENTITY_IS_DELETED', message: 'entity is deleted' }] },
    ]);
    await other.close();
  });
});
