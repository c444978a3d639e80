import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aSalesforceLead as aLead, logIn, type RestClient } from './rest-client.ts';
import { type SalesforceStub, startSalesforceStub } from './salesforce-stub.ts';

let stub: SalesforceStub;
let client: RestClient;

beforeEach(async () => {
  stub = await startSalesforceStub({ keyField: 'absent' });
  client = await logIn(stub);
});
afterEach(() => stub.close());

const KEY_FIELD = {
  FullName: 'Lead.Leadsync_Key__c',
  Metadata: {
    label: 'leadsync key',
    type: 'Text',
    length: 80,
    externalId: true,
    unique: true,
    caseSensitive: true,
  },
};

const makeField = (body: object = KEY_FIELD) => client.send('POST', 'tooling/sobjects/CustomField', body);

async function make(object: string, fields: object): Promise<string> {
  const { status, body } = await client.send('POST', `sobjects/${object}`, fields);
  expect([status, body.success]).toEqual([201, true]);
  return body.id;
}

async function describedKey() {
  const { body } = await client.send('GET', 'sobjects/Lead/describe');
  return body.fields.find(({ name }: { name: string }) => name === 'Leadsync_Key__c');
}

describe('setting up the key field', () => {
  test('takes a field, a permission set with access to it, and the assignment to the user', async () => {
    expect(await client.upsert([aLead('main:1')])).toMatchObject({ status: 404 });
    expect(await makeField()).toMatchObject({ status: 201, body: { success: true, errors: [] } });
    expect(await describedKey()).toBeUndefined();

    const set = await make('PermissionSet', { Name: 'leadsync', Label: 'leadsync' });
    await make('FieldPermissions', {
      ParentId: set,
      SobjectType: 'Lead',
      Field: 'Lead.Leadsync_Key__c',
      PermissionsRead: true,
      PermissionsEdit: true,
    });
    expect(await client.upsert([aLead('main:1')])).toMatchObject({ status: 404 });

    const assignment = await make('PermissionSetAssignment', {
      PermissionSetId: set,
      AssigneeId: stub.userId,
    });
    expect(await describedKey()).toMatchObject({
      type: 'string',
      length: 80,
      externalId: true,
      unique: true,
      caseSensitive: true,
      idLookup: true,
      createable: true,
      updateable: true,
    });
    expect((await client.upsert([aLead('main:1')])).body).toMatchObject([{ created: true }]);

    await client.send('DELETE', `sobjects/PermissionSetAssignment/${assignment}`);
    expect(await describedKey()).toBeUndefined();
  });

  test('finds the field again by a query of the Tooling API, hidden or not', async () => {
    const { body } = await makeField();
    const soql = "SELECT Id FROM CustomField WHERE TableEnumOrId = 'Lead' AND DeveloperName = 'Leadsync_Key'";
    const found = await client.send('GET', `tooling/query?q=${encodeURIComponent(soql)}`);
    expect(found.body.records).toMatchObject([{ Id: body.id }]);
    expect((await client.send('GET', `tooling/sobjects/CustomField/${body.id}`)).body).toMatchObject({
      FullName: 'Lead.Leadsync_Key__c',
      Metadata: { length: 80, externalId: true, unique: true },
    });
  });

  test('a second time is refused', async () => {
    await makeField();
    expect(await makeField()).toMatchObject({
      status: 400,
      body: [{ errorCode: 'DUPLICATE_DEVELOPER_NAME' }],
    });
  });

  test.each([
    [{ ...KEY_FIELD, FullName: 'Nothing.Leadsync_Key__c' }, 'INVALID_CROSS_REFERENCE_KEY'],
    [{ FullName: KEY_FIELD.FullName }, 'REQUIRED_FIELD_MISSING'],
    [{ ...KEY_FIELD, Metadata: { ...KEY_FIELD.Metadata, length: 256 } }, 'FIELD_INTEGRITY_EXCEPTION'],
    [
      { ...KEY_FIELD, Metadata: { ...KEY_FIELD.Metadata, type: 'LongTextArea' } },
      'FIELD_INTEGRITY_EXCEPTION',
    ],
    [{ ...KEY_FIELD, Metadata: { type: 'Text', length: 80 } }, 'FIELD_INTEGRITY_EXCEPTION'],
  ])('with %j is refused', async (body, errorCode) => {
    expect(await makeField(body)).toMatchObject({ status: 400, body: [{ errorCode }] });
  });

  test('is forbidden to a user who may not customize the org', async () => {
    stub.settings.mayCustomize = false;
    expect(await makeField()).toMatchObject({ status: 403, body: [{ errorCode: 'INSUFFICIENT_ACCESS' }] });
  });

  test('is undone by deleting the field', async () => {
    stub.changeField('Lead', 'Leadsync_Key__c', { externalId: true, unique: true, length: 80 });
    expect((await client.upsert([aLead('main:1')])).status).toBe(200);
    stub.removeField('Lead', 'Leadsync_Key__c');
    expect((await client.upsert([aLead('main:1')])).status).toBe(404);
    expect(stub.records['Lead']?.[0]).not.toHaveProperty('Leadsync_Key__c');
  });
});

describe('who and what the org is', () => {
  test('versions need no session', async () => {
    const versions = await (await fetch(`${stub.url}/services/data`)).json();
    expect(versions).toContainEqual({
      label: "Summer '26",
      url: '/services/data/v67.0',
      version: '67.0',
    });
  });

  test('a retired version is gone, and one to come does not exist', async () => {
    expect((await client.send('GET', '/services/data/v30.0/limits')).status).toBe(410);
    expect((await client.send('GET', '/services/data/v99.0/limits')).status).toBe(404);
  });

  test('the identity names user and organization', async () => {
    const identity = { user_id: stub.userId, organization_id: stub.organizationId };
    expect((await client.send('GET', '/services/oauth2/userinfo')).body).toMatchObject(identity);
    const path = `/id/${stub.organizationId}/${stub.userId}`;
    expect((await fetch(stub.url + path)).status).toBe(401);
    expect(
      (await fetch(stub.url + path, { headers: { authorization: `Bearer ${client.token}` } })).status,
    ).toBe(200);
  });

  test('describe returns types, lengths and picklist values', async () => {
    const { body } = await client.send('GET', 'sobjects/Lead/describe');
    const described = Object.fromEntries(body.fields.map((field: { name: string }) => [field.name, field]));
    expect(described).toMatchObject({
      LastName: { length: 80, nillable: false },
      Company: { length: 255, nillable: false },
      Email: { type: 'email', length: 80 },
      Description: { length: 32_000, filterable: false },
      IsConverted: { createable: false, updateable: false },
    });
    expect(described['LeadSource'].picklistValues.map(({ value }: { value: string }) => value)).toContain(
      'Web',
    );
    expect((await client.send('GET', 'sobjects/Nothing/describe')).status).toBe(404);
  });

  test('what is stored is shown to a person at the stub', async () => {
    const records = await (await fetch(`${stub.url}/stub/records`)).json();
    expect(records).toMatchObject({ Lead: [], User: [{ Id: stub.userId }] });
  });
});
