import { describe, expect, it } from 'vitest';
import { aPerson, aStub, type Call, call } from './call.ts';
import type { RouteName } from './routes.ts';

describe('access', () => {
  it('takes the token in the header x-api-token alone', async () => {
    const stub = await aStub();
    const wrong = [
      { headers: { 'x-api-token': 'wrong' } },
      { headers: { 'x-api-token': '', authorization: `Bearer ${stub.token}` } },
      { headers: { 'x-api-token': '' }, query: { api_token: stub.token } },
    ];
    for (const request of wrong) {
      const { status, json } = await call(stub, 'GET /users/me', request);
      expect([status, json]).toEqual([401, { success: false, error: 'unauthorized access', errorCode: 401 }]);
    }
    expect((await call(stub, 'GET /users/me')).data).toMatchObject({ id: 1, company_domain: 'example' });
  });

  it('answers 401 once the token is revoked, and 402 while the company does not pay', async () => {
    const stub = await aStub();
    stub.settings.accountOpen = false;
    expect((await call(stub, 'GET /users')).status).toBe(402);
    stub.settings.tokenRevoked = true;
    expect((await call(stub, 'GET /users')).status).toBe(401);
  });

  it('serves v1 at two prefixes and v2 at one, and knows 404 from 405', async () => {
    const { url, token } = await aStub();
    const status = async (method: string, path: string) =>
      (await fetch(url + path, { method, headers: { 'x-api-token': token } })).status;
    expect(await status('GET', '/v1/leads')).toBe(200);
    expect(await status('GET', '/api/v1/leads')).toBe(200);
    expect(await status('GET', '/api/v2/persons')).toBe(200);
    expect(await status('GET', '/v2/persons')).toBe(404);
    expect(await status('GET', '/api/v2/leads')).toBe(404);
    expect(await status('PUT', '/api/v2/persons')).toBe(405);
  });

  it('keeps every request with its body and the status of its answer', async () => {
    const stub = await aStub();
    await call(stub, 'POST /persons', { body: { name: '' }, headers: { 'x-request': '7' } });
    expect(stub.requests).toMatchObject([
      { method: 'POST', path: '/api/v2/persons', route: 'POST /persons', body: { name: '' }, status: 400 },
    ]);
    expect(stub.requests[0]?.headers['x-request']).toBe('7');
  });

  it('shows what is stored, for trying by hand', async () => {
    const stub = await aStub();
    await aPerson(stub);
    const shown = (await (await fetch(`${stub.url}/stub/records`)).json()) as { persons: unknown[] };
    expect(shown.persons).toHaveLength(1);
    expect(stub.requests).toHaveLength(1);
  });
});

describe('notes and what a company has', () => {
  it('a note belongs to a record that exists, and loses its scripts', async () => {
    const stub = await aStub();
    const person_id = await aPerson(stub);
    const lead_id = (await call(stub, 'POST /leads', { body: { title: 'A', person_id } })).data.id;
    const content = '<b>Hello</b><script>alert(1)</script>';
    expect((await call(stub, 'POST /notes', { body: { content, lead_id } })).data).toMatchObject({
      content: '<b>Hello</b>',
      lead_id,
    });
    expect((await call(stub, 'GET /notes', { query: { lead_id } })).data).toHaveLength(1);
    expect((await call(stub, 'POST /notes', { body: { content } })).status).toBe(400);
    expect((await call(stub, 'POST /notes', { body: { lead_id } })).status).toBe(400);
    stub.settings.missingLinkStatus = 404;
    expect((await call(stub, 'POST /notes', { body: { content, lead_id: 'gone' } })).status).toBe(404);
  });

  it.each([
    ['GET /leadLabels', 'Hot'],
    ['GET /leadSources', 'API'],
    ['GET /users', 'Former Employee'],
    ['GET /pipelines', 'Sales'],
    ['GET /stages', 'Proposal'],
  ] as const)('%s names %s', async (name, expected) => {
    const { data } = await call(await aStub(), name);
    expect(data.map((item: { name: string }) => item.name)).toContain(expected);
  });

  it('deleting takes a permission', async () => {
    const stub = await aStub({ mayDelete: false });
    const id = await aPerson(stub);
    expect((await call(stub, 'DELETE /persons/{id}', { id })).status).toBe(403);
  });

  it.each([
    ['no JSON', { headers: { 'content-type': 'text/plain' }, body: { name: 'A' } }],
    ['an array', { body: [{ name: 'A' }] }],
    ['nothing', {}],
  ] as [string, Call][])('refuses a body that is %s', async (_what, request) => {
    expect((await call(await aStub(), 'POST /persons', request)).status).toBe(400);
  });

  it.each([200, 201] as const)('answers a creation with %i, as the setting says', async (createdStatus) => {
    const stub = await aStub({ createdStatus });
    const bodies: [RouteName, object][] = [
      ['POST /persons', { name: 'A' }],
      ['POST /deals', { title: 'A' }],
      ['POST /notes', { content: 'A', person_id: 1 }],
      ['POST /dealFields', { field_name: 'A', field_type: 'varchar' }],
    ];
    for (const [name, body] of bodies) expect((await call(stub, name, { body })).status).toBe(createdStatus);
  });
});
