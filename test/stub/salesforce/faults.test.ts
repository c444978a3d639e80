import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HeldClock } from '../../support/time/held-clock.ts';
import { DAILY_REQUESTS } from './api-usage.ts';
import { aSalesforceLead as aLead, logIn, type RestClient, requestToken } from './rest-client.ts';
import { type SalesforceStub, startSalesforceStub } from './salesforce-stub.ts';

const HOUR_MS = 3_600_000;

let clock: HeldClock;
let stub: SalesforceStub;
let client: RestClient;

beforeEach(async () => {
  clock = new HeldClock();
  stub = await startSalesforceStub({ clock, dailyRequests: DAILY_REQUESTS.developer });
  client = await logIn(stub);
});
afterEach(() => stub.close());

describe('an access token', () => {
  test('comes with the address of the org, and without lifetime or refresh token', async () => {
    const { status, body } = await requestToken(stub);
    expect([status, body.token_type, body.instance_url]).toEqual([200, 'Bearer', stub.url]);
    expect(body).not.toHaveProperty('expires_in');
    expect(body).not.toHaveProperty('refresh_token');
  });

  test('comes for HTTP Basic too', async () => {
    const basic = Buffer.from(`${stub.clientId}:${stub.clientSecret}`).toString('base64');
    const response = await fetch(`${stub.url}/services/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    expect(response.status).toBe(200);
  });

  test.each([
    [{ grant_type: 'password' }, 'unsupported_grant_type'],
    [{ client_id: 'nobody' }, 'invalid_client_id'],
    [{ client_secret: 'wrong' }, 'invalid_client'],
  ])('is refused for %j', async (form, error) => {
    expect((await requestToken(stub, form as Record<string, string>)).body.error).toBe(error);
  });

  test('is refused while the app has no user to run as', async () => {
    stub.settings.hasRunAsUser = false;
    expect((await requestToken(stub)).body).toEqual({
      error: 'invalid_grant',
      error_description: 'no client credentials user enabled',
    });
  });

  test('ends two hours after its last use, or when it is revoked', async () => {
    clock.jump(1.5 * HOUR_MS);
    expect((await client.upsert([aLead('main:1')])).status).toBe(200);
    clock.jump(1.5 * HOUR_MS);
    expect((await client.upsert([aLead('main:2')])).status).toBe(200);
    clock.jump(2.1 * HOUR_MS);
    const expired = await client.upsert([aLead('main:3')]);
    expect([expired.status, expired.body, expired.headers.has('sforce-limit-info')]).toEqual([
      401,
      [{ message: 'Session expired or invalid', errorCode: 'INVALID_SESSION_ID' }],
      false,
    ]);
    const other = await logIn(stub);
    stub.revokeSessions();
    expect((await other.upsert([aLead('main:3')])).status).toBe(401);
  });
});

describe('the daily limit', () => {
  test('is in each answer, counts a batch once, and rejects requests above it', async () => {
    const first = await client.upsert([aLead('main:1'), aLead('main:2')]);
    expect(first.headers.get('sforce-limit-info')).toBe('api-usage=1/15000');
    stub.usage.use(14_998);
    expect((await client.send('GET', 'limits')).body.DailyApiRequests).toEqual({ Max: 15_000, Remaining: 0 });
    const refused = await client.upsert([aLead('main:3')]);
    expect([refused.status, refused.body, refused.headers.get('sforce-limit-info')]).toEqual([
      403,
      [{ message: 'TotalRequests Limit exceeded.', errorCode: 'REQUEST_LIMIT_EXCEEDED' }],
      'api-usage=15000/15000',
    ]);
    expect(refused.headers.has('retry-after')).toBe(false);
    expect(stub.records['Lead']).toHaveLength(2);
  });

  test('is of the last 24 hours', async () => {
    stub.usage.use(10_000);
    clock.jump(23 * HOUR_MS);
    stub.usage.use(5_000);
    const later = await logIn(stub);
    expect((await later.upsert([aLead('main:1')])).status).toBe(403);
    clock.jump(HOUR_MS);
    expect((await later.upsert([aLead('main:1')])).status).toBe(200);
    expect(stub.usage.used).toBe(5_001);
  });
});

describe('a misbehaviour', () => {
  const LEADS = [aLead('main:1'), aLead('main:2')];
  const stored = () => stub.records['Lead']?.length;

  test.each([
    ['cut', 0],
    ['cut-after-storing', 2],
  ] as const)('closes the connection: %s', async (upsert, leads) => {
    stub.misbehave({ upsert, times: 1 });
    await expect(client.upsert(LEADS)).rejects.toThrow('fetch failed');
    expect(stored()).toBe(leads);
    expect((await client.upsert(LEADS)).body).toMatchObject([{ created: leads === 0 }, { success: true }]);
  });

  test.each([
    ['silent', 0],
    ['silent-after-storing', 2],
  ] as const)('never answers: %s', async (upsert, leads) => {
    stub.misbehave({ upsert });
    const answer = client.upsert(LEADS).catch((error: Error) => error.message);
    await expect.poll(() => stub.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(1);
    expect(stub.requests.at(-1)?.status).toBeUndefined();
    expect(stored()).toBe(leads);
    await stub.close();
    expect(await answer).toBe('fetch failed');
    stub = await startSalesforceStub();
  });

  test.each([
    ['no-body-after-storing', 200, undefined, 2],
    ['no-results-after-storing', 200, [], 2],
    ['fewer-results', 200, [expect.objectContaining({ success: true })], 2],
    ['failures-without-errors', 200, Array(2).fill({ success: false, errors: [] }), 2],
    ['maintenance-page', 503, expect.stringContaining('Down For Maintenance'), 0],
    ['proxy-page', 200, expect.stringContaining('<html>'), 0],
    ['proxy-page-after-storing', 200, expect.stringContaining('<html>'), 2],
    ['session-expired', 401, [expect.objectContaining({ errorCode: 'INVALID_SESSION_ID' })], 0],
    ['request-limit', 403, [expect.objectContaining({ errorCode: 'REQUEST_LIMIT_EXCEEDED' })], 0],
    ['server-unavailable', 503, [expect.objectContaining({ errorCode: 'SERVER_UNAVAILABLE' })], 0],
    ['server-error', 500, [expect.objectContaining({ errorCode: 'UNKNOWN_EXCEPTION' })], 0],
    ['server-error-after-storing', 500, [expect.objectContaining({ errorCode: 'UNKNOWN_EXCEPTION' })], 2],
  ] as const)('answers %s with %i', async (upsert, status, body, leads) => {
    stub.misbehave({ upsert, times: 1 });
    const answer = await client.upsert(LEADS);
    expect([answer.status, answer.body]).toEqual([status, body]);
    expect(stored()).toBe(leads);
    expect((await client.upsert(LEADS)).body).toHaveLength(2);
  });

  test('cuts JSON off in the middle', async () => {
    stub.misbehave({ upsert: 'truncated-json-after-storing' });
    await expect(client.upsert(LEADS)).rejects.toThrow(SyntaxError);
    expect(stored()).toBe(2);
  });

  test('waits as long as a test wants', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    stub.misbehave({ upsert: 'slow', until: promise, times: 1 });
    const answer = client.upsert(LEADS);
    await expect.poll(() => stub.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(1);
    expect(stored()).toBe(0);
    resolve();
    expect((await answer).status).toBe(200);
  });

  test('concerns its endpoint alone, until it ends', async () => {
    stub.misbehave({ data: 'server-unavailable', token: 'maintenance-page' });
    expect((await client.upsert(LEADS)).status).toBe(200);
    expect((await client.query('SELECT Id FROM Lead')).status).toBe(503);
    expect((await requestToken(stub)).status).toBe(503);
    stub.behave();
    expect((await client.query('SELECT Id FROM Lead')).status).toBe(200);
  });

  test('may be any answer, with or without storing', async () => {
    stub.answerNext('upsert', { status: 200, body: [], stores: true }, 'cut');
    expect((await client.upsert(LEADS)).body).toEqual([]);
    expect(stored()).toBe(2);
    await expect(client.upsert(LEADS)).rejects.toThrow('fetch failed');
  });
});

test('every request is kept with its answer', async () => {
  await client.upsert([aLead('main:1')], { 'sforce-auto-assign': 'FALSE' });
  expect(stub.requests.map(({ method, path, status }) => [method, path, status])).toEqual([
    ['POST', '/services/oauth2/token', 200],
    ['PATCH', '/services/data/v67.0/composite/sobjects/Lead/Leadsync_Key__c', 200],
  ]);
  expect(stub.requests[1]?.headers['sforce-auto-assign']).toBe('FALSE');
  expect(JSON.parse(stub.requests[1]?.body ?? '').records).toHaveLength(1);
});
