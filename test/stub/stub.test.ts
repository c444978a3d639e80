import { createHash, randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../support/time/until.ts';
import { type Stub, type StubOptions, startStub } from './stub.ts';

const running: Stub[] = [];

afterEach(async () => {
  for (const stub of running.splice(0)) await stub.close();
});

async function aStub(options: StubOptions = {}): Promise<Stub> {
  const stub = await startStub(options);
  running.push(stub);
  return stub;
}

interface TokenAnswer {
  access_token: string;
  refresh_token: string;
  error: string;
  [field: string]: unknown;
}

async function askToken(stub: Stub, fields: Record<string, string> = {}) {
  const answer = await fetch(`${stub.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: stub.clientId,
      client_secret: stub.clientSecret,
      ...fields,
    }),
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as TokenAnswer };
}

async function aToken(stub: Stub): Promise<string> {
  return (await askToken(stub)).body.access_token;
}

async function list(stub: Stub, token: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${stub.url}/api/v1/leads`, { headers: { authorization: `Bearer ${token}`, ...headers } });
}

describe("the stub's token endpoint", () => {
  it('client_credentials returns the described fields and a JWT', async () => {
    const { status, body } = await askToken(await aStub());
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual([
      'access_token',
      'created_at',
      'expires_in',
      'refresh_token',
      'token_type',
    ]);
    expect(body['token_type']).toBe('Bearer');
    expect(body.access_token.split('.')).toHaveLength(3);
  });

  it.each([
    ['a wrong secret', { client_secret: 'wrong' }, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'nobody' }, 401, 'invalid_client'],
    ['an unknown grant', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['an unknown scope', { scope: 'everything' }, 400, 'invalid_scope'],
    ['a refresh without a token', { grant_type: 'refresh_token' }, 400, 'invalid_request'],
    ['an unknown refresh token', { grant_type: 'refresh_token', refresh_token: 'x' }, 400, 'invalid_grant'],
    [
      'an unknown code',
      { grant_type: 'authorization_code', code: 'x', redirect_uri: 'y' },
      400,
      'invalid_grant',
    ],
    [
      'a code without its redirect address',
      { grant_type: 'authorization_code', code: 'x' },
      400,
      'invalid_request',
    ],
  ])('the token endpoint refuses %s', async (_what, fields, status, error) => {
    const answer = await askToken(await aStub(), fields);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
  });

  it('the token endpoint accepts no JSON, no Basic header and no fields in the URL', async () => {
    const stub = await aStub();
    const fields = {
      grant_type: 'client_credentials',
      client_id: stub.clientId,
      client_secret: stub.clientSecret,
    };
    const form = new URLSearchParams(fields);
    const requests: [string, RequestInit][] = [
      ['', { body: JSON.stringify(fields), headers: { 'content-type': 'application/json' } }],
      ['', { body: form, headers: { authorization: 'Basic eDp5' } }],
      [`?${form}`, { body: '', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
      ['', { body: new URLSearchParams(`${form}&client_id=other`) }],
    ];
    for (const [query, init] of requests) {
      const answer = await fetch(`${stub.url}/oauth/token${query}`, { method: 'POST', ...init });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }
  });

  it('a rotated refresh token stays valid until the new access token is first used', async () => {
    const stub = await aStub();
    const first = (await askToken(stub)).body;
    const refresh = () => askToken(stub, { grant_type: 'refresh_token', refresh_token: first.refresh_token });
    const second = await refresh();
    const third = await refresh();
    expect([second.status, third.status]).toEqual([200, 200]);
    expect((await list(stub, third.body.access_token)).status).toBe(200);
    expect((await refresh()).body.error).toBe('invalid_grant');
  });

  it('a refresh token ends with its use or never, as configured', async () => {
    for (const [refreshRotation, status] of [
      ['at-once', 400],
      ['off', 200],
    ] as const) {
      const stub = await aStub({ refreshRotation });
      const { refresh_token } = (await askToken(stub)).body;
      await askToken(stub, { grant_type: 'refresh_token', refresh_token });
      const again = await askToken(stub, { grant_type: 'refresh_token', refresh_token });
      expect(again.status).toBe(status);
    }
  });
});

describe("the stub's authorization endpoint", () => {
  const verifier = randomBytes(32).toString('base64url');
  const redirect_uri = 'http://127.0.0.1:5555/callback';

  async function authorize(stub: Stub, more: Record<string, string> = {}) {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: stub.clientId,
      redirect_uri,
      state: 'abc',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...more,
    });
    return fetch(`${stub.url}/oauth/authorize?${query}`, { redirect: 'manual' });
  }

  it('the endpoint returns a code and the state; the code works once, with its verifier', async () => {
    const stub = await aStub();
    const back = new URL((await authorize(stub)).headers.get('location') ?? '');
    expect(back.searchParams.get('state')).toBe('abc');
    const fields = {
      grant_type: 'authorization_code',
      code: back.searchParams.get('code') ?? '',
      redirect_uri,
      code_verifier: verifier,
    };
    expect((await askToken(stub, fields)).status).toBe(200);
    expect((await askToken(stub, fields)).body.error).toBe('invalid_grant');
  });

  it('a wrong verifier or another redirect address gets no token', async () => {
    const stub = await aStub();
    for (const wrong of [{ code_verifier: 'wrong' }, { redirect_uri: 'http://127.0.0.1:5555/other' }]) {
      const code =
        new URL((await authorize(stub)).headers.get('location') ?? '').searchParams.get('code') ?? '';
      const fields = {
        grant_type: 'authorization_code',
        code,
        redirect_uri,
        code_verifier: verifier,
        ...wrong,
      };
      expect((await askToken(stub, fields)).body.error).toBe('invalid_grant');
    }
  });

  it('the endpoint never redirects for a wrong client or to an address that is not allowed', async () => {
    const stub = await aStub();
    expect((await authorize(stub, { client_id: 'nobody' })).status).toBe(401);
    expect((await authorize(stub, { redirect_uri: 'http://evil.example/' })).status).toBe(400);
  });
});

describe("the stub's listing", () => {
  it('the listing requires a valid token', async () => {
    const stub = await aStub({ leads: 1 });
    expect((await fetch(`${stub.url}/api/v1/leads`)).status).toBe(401);
    expect((await list(stub, 'nonsense')).status).toBe(401);
    const token = await aToken(stub);
    expect((await list(stub, token)).status).toBe(200);
    stub.revoke('all');
    expect((await list(stub, token)).status).toBe(401);
  });

  it('the listing refuses an expired token', async () => {
    let now = new Date('2026-11-20T10:00:00Z');
    const stub = await aStub({ tokenLifetimeSeconds: 60, now: () => now });
    const token = await aToken(stub);
    now = new Date('2026-11-20T10:00:59Z');
    expect((await list(stub, token)).status).toBe(200);
    now = new Date('2026-11-20T10:01:01Z');
    expect((await list(stub, token)).status).toBe(401);
  });

  it('a token without the scope gets a 403', async () => {
    const stub = await aStub({ scopes: ['public', 'leads'], requiredScope: 'leads' });
    expect((await list(stub, await aToken(stub))).status).toBe(200);
    const { body } = await askToken(stub, { scope: 'public' });
    expect((await list(stub, body.access_token)).status).toBe(403);
  });

  it('the listing equals the record of served leads, byte for byte', async () => {
    const stub = await aStub({ leads: 300, seed: 5 });
    const text = await (await list(stub, await aToken(stub))).text();
    const served = stub.served.ids();
    expect(served).toHaveLength(300);
    expect(text).toBe(`[${served.map((id) => stub.served.text(id)).join(',')}]`);
  });

  it.each(['chunked', 'length'] as const)(
    'the listing is the same compressed and uncompressed (%s)',
    async (transfer) => {
      const stub = await aStub({ leads: 500, transfer, gzip: true });
      const token = await aToken(stub);
      const zipped = await list(stub, token, { 'accept-encoding': 'gzip' });
      const plain = await list(stub, token, { 'accept-encoding': 'identity' });
      expect(zipped.headers.get('content-encoding')).toBe('gzip');
      expect(plain.headers.has('content-length')).toBe(transfer === 'length');
      expect(await zipped.text()).toBe(await plain.text());
    },
  );

  it('the listing shows added, changed and removed leads, and the record keeps each served version', async () => {
    const stub = await aStub({ leads: 3, firstId: 100 });
    const token = await aToken(stub);
    const ids = async () =>
      ((await (await list(stub, token)).json()) as { id: number }[]).map(({ id }) => id);
    expect(await ids()).toEqual([100, 101, 102]);
    expect(stub.addLeads(2)).toEqual([103, 104]);
    expect(stub.addLeads(2, { from: 50 })).toEqual([50, 51]);
    stub.changeLead(100);
    stub.changeLead(100);
    stub.removeLead(101);
    expect(await ids()).toEqual([50, 51, 100, 102, 103, 104]);
    expect(stub.served.versions(100)).toEqual([1, 3]);
    expect(stub.served.text(100, 2)).toBeUndefined();
    expect(stub.served.has(101)).toBe(true);
  });

  it('a lead can return to its previous version, and the record says which version was served last', async () => {
    const stub = await aStub({ leads: 2 });
    const token = await aToken(stub);
    const first = await (await list(stub, token)).text();
    expect([stub.changeLead(1), stub.changeLead(1), stub.changeLeadBack(1)]).toEqual([2, 3, 2]);
    await (await list(stub, token)).text();
    expect([stub.served.newest(1), stub.served.newest(2)]).toEqual([2, 1]);
    expect([stub.changeLead(1), stub.changeLeadBack(2)]).toEqual([4, 1]);
    expect(stub.served.history(1)).toEqual([1, 2, 3, 2, 4]);
    const other = await aStub({ leads: 2 });
    other.changeLead(1);
    other.changeLeadBack(1);
    expect(await (await list(other, await aToken(other))).text()).toBe(first);
    expect(other.served.history(1)).toEqual([1, 2, 1]);
  });

  it('the listing answers 304 to its own ETag until something changes', async () => {
    const stub = await aStub({ leads: 3, doorkeeper: true });
    const token = await aToken(stub);
    const etag = (await list(stub, token)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/"/);
    expect((await list(stub, token, { 'if-none-match': etag })).status).toBe(304);
    stub.changeLead(1);
    expect((await list(stub, token, { 'if-none-match': etag })).status).toBe(200);
    expect((await list(stub, 'nonsense', { 'if-none-match': etag })).status).toBe(401);
  });

  it('a client can read all pages by following the Link header', async () => {
    const stub = await aStub({ leads: 25, paging: { style: 'link', size: 10 } });
    const token = await aToken(stub);
    let next: string | undefined = `${stub.url}/api/v1/leads`;
    const ids: number[] = [];
    while (next !== undefined) {
      const answer: Response = await fetch(next, { headers: { authorization: `Bearer ${token}` } });
      ids.push(...((await answer.json()) as { id: number }[]).map(({ id }) => id));
      next = /<(.*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
    }
    expect(ids).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
  });

  it('leads arrive at the requested rate and stop on request', async () => {
    const stub = await aStub({ leadsPerSecond: 200 });
    await until('some leads have arrived', () => stub.shown >= 20);
    stub.arrive(0);
    expect(stub.shown).toBeLessThan(200);
  });

  it('the listing serves a hundred thousand leads in chunks and records all of them', async () => {
    const stub = await aStub({ leads: 100_000 });
    const answer = await list(stub, await aToken(stub));
    let bytes = 0;
    expect(answer.headers.has('content-length')).toBe(false);
    for await (const chunk of answer.body ?? []) bytes += chunk.length;
    expect(bytes).toBeGreaterThan(80_000_000);
    expect(stub.served.ids()).toHaveLength(100_000);
  });
});

describe('the stub in the manner of Doorkeeper', () => {
  it('client_credentials returns no refresh token, and every token error carries a challenge', async () => {
    const stub = await aStub({ doorkeeper: true });
    expect((await askToken(stub)).body).not.toHaveProperty('refresh_token');
    const refused = await askToken(stub, { grant_type: 'refresh_token', refresh_token: 'x' });
    expect(refused.status).toBe(400);
    expect(refused.headers.get('www-authenticate')).toContain('error="invalid_grant"');
  });

  it("an empty 401 names the token's fault only in WWW-Authenticate", async () => {
    const stub = await aStub({ doorkeeper: true });
    const token = await aToken(stub);
    stub.revoke('all');
    const answer = await list(stub, token);
    expect(await answer.text()).toBe('');
    expect(answer.headers.get('content-type')).toBe('text/html');
    expect(answer.headers.get('www-authenticate')).toContain('The access token was revoked');
  });
});
