import { Connection } from '@jsforce/jsforce-node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recordError } from './answer.ts';
import { maintenancePage, proxyPage } from './faults.ts';
import { type SalesforceStub, startSalesforceStub } from './salesforce-stub.ts';

/** jsforce, the SDK that Salesforce's own tools use, against the stub: it has to understand every answer. */

let stub: SalesforceStub;

beforeEach(async () => {
  stub = await startSalesforceStub({ keyField: 'absent' });
});
afterEach(() => stub.close());

const KEY = 'Leadsync_Key__c';
const VERSION = '67.0';

async function connect(): Promise<Connection> {
  const connection = new Connection({
    loginUrl: stub.url,
    version: VERSION,
    oauth2: { loginUrl: stub.url, clientId: stub.clientId, clientSecret: stub.clientSecret },
  });
  await connection.authorize({ grant_type: 'client_credentials' });
  return connection;
}

/** A connection with a fixed token, which does not try to renew it. */
const withToken = (accessToken: string) =>
  new Connection({ instanceUrl: stub.url, accessToken, version: VERSION });

async function setUp(connection: Connection): Promise<void> {
  const metadata = {
    label: 'leadsync key',
    type: 'Text',
    length: 80,
    externalId: true,
    unique: true,
    caseSensitive: true,
  };
  await connection.tooling.create('CustomField', { FullName: `Lead.${KEY}`, Metadata: metadata } as never);
  const set = await connection.create('PermissionSet', { Name: 'leadsync', Label: 'leadsync' });
  await connection.create('FieldPermissions', {
    ParentId: set.id,
    SobjectType: 'Lead',
    Field: `Lead.${KEY}`,
    PermissionsRead: true,
    PermissionsEdit: true,
  });
  await connection.create('PermissionSetAssignment', {
    PermissionSetId: set.id,
    AssigneeId: connection.userInfo?.id,
  });
}

const aLead = (key: string, fields: object = {}) => ({
  [KEY]: key,
  LastName: 'Doe',
  Company: 'x',
  ...fields,
});

/** What jsforce throws. */
async function errorOf(
  work: PromiseLike<unknown>,
): Promise<{ errorCode?: string; message: string; data?: unknown }> {
  return Promise.resolve(work).then(
    () => ({ message: 'nothing was thrown' }),
    (error) => error,
  );
}

describe('jsforce', () => {
  test('logs in by client credentials, and knows user and organization', async () => {
    const connection = await connect();
    expect(connection.instanceUrl).toBe(stub.url);
    expect(connection.userInfo).toMatchObject({ id: stub.userId, organizationId: stub.organizationId });
    expect(await connection.identity()).toMatchObject({ user_id: stub.userId });
  });

  test('understands why it gets no token', async () => {
    stub.settings.hasRunAsUser = false;
    expect(await errorOf(connect())).toMatchObject({
      name: 'invalid_grant',
      message: 'no client credentials user enabled',
    });
  });

  test('sets the field up, creates, finds, updates and deletes a lead', async () => {
    const connection = await connect();
    await setUp(connection);
    const described = await connection.describe('Lead');
    expect(described.fields.find(({ name }) => name === KEY)).toMatchObject({ externalId: true, length: 80 });

    const created = await connection.create('Lead', aLead('main:1'));
    expect(created).toEqual({ id: created.id, success: true, errors: [] });
    const id = created.id ?? '';
    expect(await connection.retrieve('Lead', id)).toMatchObject({ Id: id, [KEY]: 'main:1', City: null });
    expect(await connection.update('Lead', { Id: id, City: 'Perth' })).toMatchObject({ success: true });
    expect(await connection.upsert('Lead', aLead('main:1', { City: 'Sydney' }), KEY)).toEqual({
      id,
      success: true,
      errors: [],
      created: false,
    });
    expect(stub.records['Lead']).toMatchObject([{ Id: id, City: 'Sydney' }]);
    expect(await connection.destroy('Lead', id)).toMatchObject({ success: true });
    expect(await errorOf(connection.retrieve('Lead', id))).toMatchObject({ errorCode: 'ENTITY_IS_DELETED' });
  });

  test('upserts a collection, and reads from the answer which records failed', async () => {
    const connection = await connect();
    await setUp(connection);
    const first = await connection.upsert('Lead', [aLead('main:1'), aLead('main:2')], KEY);
    const leads = [
      aLead('main:1', { City: 'Perth' }),
      aLead('main:3', { LastName: '' }),
      aLead('main:4', { Email: 'nobody' }),
      aLead('main:5'),
    ];
    const second = await connection.upsert('Lead', leads, KEY, {
      headers: { 'Sforce-Auto-Assign': 'FALSE', 'Sforce-Duplicate-Rule-Header': 'allowSave=true' },
    });
    expect(first).toMatchObject([{ created: true }, { created: true }]);
    expect(second).toEqual([
      { id: first[0]?.id, success: true, errors: [], created: false },
      {
        success: false,
        created: false,
        errors: [
          recordError('REQUIRED_FIELD_MISSING', 'Required fields are missing: [LastName]', ['LastName']),
        ],
      },
      {
        success: false,
        created: false,
        errors: [recordError('INVALID_EMAIL_ADDRESS', 'Email: invalid email address: nobody', ['Email'])],
      },
      { id: expect.stringMatching(/^00Q.{15}$/), success: true, errors: [], created: true },
    ]);
    expect(connection.limitInfo).toEqual({ apiUsage: { used: stub.usage.used, limit: 100_000 } });
  });

  test('splits what is more than 200 records', async () => {
    const connection = await connect();
    await setUp(connection);
    const leads = Array.from({ length: 450 }, (_, index) => aLead(`main:${index}`));
    expect(await errorOf(connection.upsert('Lead', leads, KEY))).toMatchObject({
      errorCode: 'EXCEEDED_ID_LIMIT',
    });
    const results = await connection.upsert('Lead', leads, KEY, { allowRecursive: true });
    expect(results.filter(({ success }) => success)).toHaveLength(450);
    expect(stub.records['Lead']).toHaveLength(450);
  });

  test('follows a query over its pages', async () => {
    const connection = await connect();
    await setUp(connection);
    const leads = Array.from({ length: 2_100 }, (_, index) => aLead(`main:${index}`));
    await connection.upsert('Lead', leads, KEY, { allowRecursive: true });
    const soql = `SELECT ${KEY} FROM Lead WHERE ${KEY} != null`;
    const found = await connection.query(soql, { autoFetch: true, maxFetch: 5_000 });
    expect(new Set(found.records.map((record) => record[KEY])).size).toBe(2_100);
    expect((await connection.query(soql)).nextRecordsUrl).toContain('/query/01g');
  });

  test('reads what a duplicate rule matched', async () => {
    const connection = await connect();
    await setUp(connection);
    stub.settings.duplicateRule = 'alert';
    const contact = stub.add('Contact', { LastName: 'Doe', Email: 'jo@example.com' });
    const error = await errorOf(connection.create('Lead', aLead('main:1', { Email: 'jo@example.com' })));
    expect(error).toMatchObject({
      errorCode: 'DUPLICATES_DETECTED',
      message: 'Use one of these records?',
      data: {
        duplicateResult: { allowSave: true, matchResults: [{ matchRecords: [{ record: { Id: contact } }] }] },
      },
    });
    expect(
      await connection.upsert('Lead', [aLead('main:1', { Email: 'jo@example.com' })], KEY),
    ).toMatchObject([{ success: false, errors: [{ statusCode: 'DUPLICATES_DETECTED' }] }]);
  });

  test('renews a revoked token, once', async () => {
    const connection = new Connection({
      instanceUrl: stub.url,
      accessToken: 'of yesterday',
      version: VERSION,
      refreshFn: (_, done) => void connect().then(({ accessToken }) => done(null, accessToken ?? '')),
    });
    expect(await connection.limits()).toMatchObject({ DailyApiRequests: { Max: 100_000 } });
    stub.revokeSessions();
    await connection.limits();
    expect(stub.requests.filter(({ path }) => path.endsWith('/token'))).toHaveLength(2);
    expect(stub.requests.filter(({ status }) => status === 401)).toHaveLength(2);
  });

  test('reports an expired session that it cannot renew', async () => {
    expect(await errorOf(withToken('of yesterday').limits())).toMatchObject({
      errorCode: 'INVALID_SESSION_ID',
      message: 'Session expired or invalid',
    });
  });
});

describe('jsforce understands that a request failed as a whole:', () => {
  const upsertOne = (connection: Connection) => connection.upsert('Lead', [aLead('main:1')], KEY);

  test('the key field is absent', async () => {
    const error = await errorOf(upsertOne(await connect()));
    expect(error).toMatchObject({
      errorCode: 'NOT_FOUND',
      message: `Provided external ID field does not exist or is not accessible: ${KEY}`,
    });
  });

  test('an unknown field', async () => {
    const connection = await connect();
    await setUp(connection);
    expect(await errorOf(connection.create('Lead', aLead('main:1', { Nothing__c: 1 })))).toMatchObject({
      errorCode: 'INVALID_FIELD',
    });
    expect(await errorOf(connection.query('SELECT Nothing__c FROM Lead'))).toMatchObject({
      errorCode: 'INVALID_FIELD',
    });
  });

  test('a key that is not unique', async () => {
    const connection = await connect();
    await setUp(connection);
    stub.changeField('Lead', KEY, { unique: false });
    const ids = [1, 2].map(() => stub.add('Lead', { [KEY]: 'main:1' }));
    expect(await errorOf(connection.upsert('Lead', aLead('main:1'), KEY))).toMatchObject({
      errorCode: 'MULTIPLE_CHOICES',
      data: ids.map((id) => `/services/data/v${VERSION}/sobjects/Lead/${id}`),
    });
  });

  test.each([
    ['request-limit', 'REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.'],
    ['server-unavailable', 'SERVER_UNAVAILABLE', 'Server unavailable.'],
    ['server-error', 'UNKNOWN_EXCEPTION', expect.stringContaining('ErrorId')],
    ['maintenance-page', 'ERROR_HTTP_503', maintenancePage.body],
  ] as const)('%s', async (upsert, errorCode, message) => {
    const connection = await connect();
    stub.misbehave({ upsert });
    expect(await errorOf(upsertOne(connection))).toMatchObject({ errorCode, message });
  });

  test('the connection is cut', async () => {
    const connection = await connect();
    stub.misbehave({ upsert: 'cut' });
    expect(await errorOf(upsertOne(connection))).toMatchObject({ message: 'fetch failed' });
  });

  test('but takes the page of a proxy for an answer', async () => {
    const connection = await connect();
    stub.misbehave({ upsert: 'proxy-page' });
    expect(await upsertOne(connection)).toBe(proxyPage.body);
  });
});
