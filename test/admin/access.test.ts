import { afterEach, describe, expect, test } from 'vitest';
import type { AuditEntry } from '../../src/admin/gate/audit.ts';
import { type AdminServer, startAdmin } from '../../src/admin/server.ts';
import { type AdminOptions, adminToken, ask, openOptions } from './asking.ts';
import { aWellLeadsync } from './well-leadsync.ts';

const TOKEN = 'correct-horse-battery-staple';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

let open: AdminServer[] = [];
afterEach(async () => {
  await Promise.all(open.map((server) => server.close()));
  open = [];
});

async function start(options: Partial<AdminOptions> = {}): Promise<AdminServer & { entries: AuditEntry[] }> {
  const entries: AuditEntry[] = [];
  const audit = async (entry: AuditEntry) => void entries.push(entry);
  const operations = aWellLeadsync();
  const server = await startAdmin({
    ...openOptions,
    tokens: () => adminToken(TOKEN),
    operations,
    audit,
    ...options,
  });
  open.push(server);
  return { ...server, entries };
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const logIn = (server: AdminServer, token: string, more: Record<string, string> = {}) =>
  ask(server, '/login', {
    method: 'POST',
    headers: { ...FORM, ...more },
    body: `token=${token}&next=/leads?lead=1`,
  });
const cookieOf = ({ headers }: Awaited<ReturnType<typeof ask>>) => headers['set-cookie']?.[0] ?? '';

describe('with a token', () => {
  test.each([
    '/metrics',
    '/api/v1/overview',
    '/api/v1/configuration',
    '/api/v1/openapi.json',
    '/',
    '/nothing',
  ])('%s answers only a request with the token', async (path) => {
    const server = await start();
    for (const headers of [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: `Basic ${TOKEN}` },
      { authorization: 'Bearer ' },
    ]) {
      const { status, headers: told } = await ask(server, path, { headers });
      expect(status).toBe(401);
      expect(told['www-authenticate']).toBe('Bearer realm="leadsync"');
    }
    expect((await ask(server, path, bearer(TOKEN))).status).not.toBe(401);
  });

  test('the server reloads the configuration only for a request with the token', async () => {
    let reloads = 0;
    const reload = async () => {
      reloads += 1;
      return { applied: true, generation: 2 };
    };
    const server = await start({ reload });
    expect((await ask(server, '/-/reload', { method: 'POST' })).status).toBe(401);
    expect(reloads).toBe(0);
    expect((await ask(server, '/-/reload', { method: 'POST', ...bearer(TOKEN) })).status).toBe(200);
    expect(reloads).toBe(1);
  });

  test('the probes answer every request, and give the reasons only to a request with the token', async () => {
    const server = await start({ ready: () => ['Redis is away.'] });
    expect((await ask(server, '/livez')).status).toBe(200);
    expect(await ask(server, '/readyz')).toMatchObject({ status: 503, text: '{"ready":false}' });
    expect((await ask(server, '/readyz', bearer(TOKEN))).text).toContain('Redis is away.');
  });

  test('without the token, the API names the header to send, as JSON; a browser is redirected to the login page', async () => {
    const server = await start();
    const answer = await ask(server, '/api/v1/overview', { headers: { accept: 'text/html' } });
    expect(JSON.parse(answer.text).error).toMatchObject({
      code: 'credential',
      hint: expect.stringContaining('Bearer'),
    });
    expect(answer.text).toContain('needs a token');
    const wrong = await ask(server, '/api/v1/overview', bearer('another-token'));
    expect(wrong.status).toBe(401);
    expect(wrong.text).toContain('does not know the token of this request');
    const page = await ask(server, '/leads?lead=4', { headers: { accept: 'text/html' } });
    expect(page).toMatchObject({ status: 303, headers: { location: '/login?next=%2Fleads%3Flead%3D4' } });
  });

  test('a form that is sent after the session has ended redirects to the login, which says so and then returns to the page', async () => {
    const server = await start();
    const post = (path: string, headers: Record<string, string>) =>
      ask(server, path, { method: 'POST', headers: { ...FORM, ...headers }, body: 'sure=yes' });
    const html = { accept: 'text/html,*/*' };
    const referer = 'http://127.0.0.1:9464/leads/main/42?a=b';
    const sent = await post('/leads/main/42/data', { ...html, referer });
    expect(sent).toMatchObject({
      status: 303,
      headers: { location: '/login?unsent=1&next=%2Fleads%2Fmain%2F42%3Fa%3Db' },
    });
    expect((await ask(server, sent.headers.location ?? '')).text).toContain('nothing was done');
    expect((await post('/sinks/crm/pause', html)).headers.location).toBe('/login?unsent=1&next=%2F');
    expect((await post('/sinks/crm/pause', { ...html, referer: 'no address' })).status).toBe(303);
    expect((await post('/api/v1/reload', html)).status).toBe(401);
    expect((await post('/sinks/crm/pause', { ...html, origin: 'http://evil.example' })).status).toBe(403);
  });

  test('after a reload has changed the token, only the new one is accepted', async () => {
    let token = TOKEN;
    const server = await start({ tokens: () => adminToken(token) });
    const session = cookieOf(await logIn(server, TOKEN)).split(';')[0] ?? '';
    token = 'another-token-entirely';
    expect((await ask(server, '/metrics', bearer(TOKEN))).status).toBe(401);
    expect((await ask(server, '/metrics', { headers: { cookie: session } })).status).toBe(401);
    expect((await ask(server, '/metrics', bearer(token))).status).toBe(200);
  });
});

test('without a token in the configuration, a server that other machines can reach answers only the probes', async () => {
  const server = await start({ tokens: () => [], loopback: false });
  expect((await ask(server, '/metrics')).status).toBe(401);
  expect((await ask(server, '/metrics', bearer('undefined'))).status).toBe(401);
  expect((await ask(server, '/livez')).status).toBe(200);
});

describe('a session', () => {
  test('begins with the token, in a cookie that no script and no other site can read, and ends with the logout', async () => {
    const server = await start();
    const login = await logIn(server, TOKEN);
    expect(login).toMatchObject({ status: 303, headers: { location: '/leads?lead=1' } });
    expect(cookieOf(login)).toMatch(
      /^leadsync_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const headers = { cookie: cookieOf(login).split(';')[0] ?? '' };
    expect((await ask(server, '/api/v1/overview', { headers })).status).toBe(200);
    expect((await ask(server, '/logout', { method: 'POST', headers })).status).toBe(303);
    expect((await ask(server, '/api/v1/overview', { headers })).status).toBe(401);
  });

  test('has a cookie for https only, if the browser uses https', async () => {
    const server = await start();
    const secure = { host: 'leadsync.internal', origin: 'https://leadsync.internal' };
    const cookie = cookieOf(await logIn(server, TOKEN, secure));
    expect(cookie).toMatch(
      /^__Host-leadsync_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const out = await ask(server, '/logout', {
      method: 'POST',
      headers: { ...secure, cookie: cookie.split(';')[0] ?? '' },
    });
    expect(cookieOf(out)).toMatch(/^__Host-leadsync_session=; Max-Age=0; Path=\/; HttpOnly; Secure/);
  });

  test('over https ignores a cookie that another host of the domain or plain http could have set', async () => {
    const publicUrl = () => 'https://leads.example.com';
    const server = await start({ hosts: () => ['leads.example.com'], publicUrl });
    const plain = cookieOf(await logIn(server, TOKEN)).split(';')[0] ?? '';
    const statusAt = async (host: string | undefined, cookie: string) =>
      (
        await ask(server, '/metrics', {
          headers: { ...(host && { host, 'sec-fetch-site': 'same-origin' }), cookie },
        })
      ).status;
    expect(plain).toMatch(/^leadsync_session=/);
    expect(await statusAt(undefined, plain)).toBe(200);
    expect(await statusAt('leads.example.com', plain)).toBe(401);
    const origin = { host: 'leads.example.com', origin: 'https://leads.example.com' };
    const session = cookieOf(await logIn(server, TOKEN, origin)).split(';')[0] ?? '';
    expect(await statusAt('leads.example.com', `${session}; ${plain}`)).toBe(200);
  });

  test('ends by itself after twelve hours', async () => {
    let nowMs = 0;
    const server = await start({ monotonicMs: () => nowMs });
    const headers = { cookie: cookieOf(await logIn(server, TOKEN)).split(';')[0] ?? '' };
    nowMs = 12 * 3_600_000 - 1;
    expect((await ask(server, '/metrics', { headers })).status).toBe(200);
    nowMs += 2;
    expect((await ask(server, '/metrics', { headers })).status).toBe(401);
  });

  test('begins only with the right token, even after many wrong ones', async () => {
    const server = await start();
    for (let n = 0; n < 12; n += 1) {
      const refused = await logIn(server, `wrong-${n}`);
      expect(refused.status).toBe(n < 10 ? 401 : 429);
      expect(refused.text).toContain(
        n < 10 ? 'This token is wrong.' : 'many wrong ones came from your address',
      );
      expect(refused.headers).not.toHaveProperty('set-cookie');
    }
    expect((await logIn(server, TOKEN)).status).toBe(303);
    expect(server.entries.map(({ what }) => what)).toEqual([...Array(10).fill('login refused'), 'login']);
    expect(JSON.stringify(server.entries)).not.toContain('wrong-');
  });

  test.each(['//evil.example', '/\\evil.example', 'https://evil.example', '/a%0d%0aset-cookie:x', ''])(
    'never redirects to another site: %s',
    async (next) => {
      const server = await start();
      const body = `token=${TOKEN}&next=${encodeURIComponent(next)}`;
      const { headers } = await ask(server, '/login', { method: 'POST', headers: FORM, body });
      expect(headers.location).toMatch(/^\/(?![/\\])/);
      expect(headers.location).not.toContain('\n');
    },
  );

  test.each([{ origin: 'http://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])(
    'cannot be used by a page of another origin: %j',
    async (from) => {
      const server = await start();
      const headers = { cookie: cookieOf(await logIn(server, TOKEN)).split(';')[0] ?? '', ...from };
      expect((await ask(server, '/-/reload', { method: 'POST', headers })).status).toBe(403);
      expect((await logIn(server, TOKEN, from)).status).toBe(403);
    },
  );
});

test('every answer has the security headers', async () => {
  const server = await start();
  for (const path of ['/livez', '/api/v1/overview', '/login'])
    expect((await ask(server, path)).headers).toMatchObject({
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
});

describe('the audit log', () => {
  test('records who does what, and from where, before the server does it', async () => {
    const order: string[] = [];
    const operations = {
      ...aWellLeadsync(),
      reveal: async () => void order.push('revealed'),
      previews: async () => void order.push('previewed'),
      tryExpression: async () => {
        order.push('tried');
        return { kind: 'value' as const, type: 'number', json: '1' };
      },
      findLeads: async () => {
        order.push('found');
        return { rows: [], next: null, searched_until: null };
      },
    };
    const audit = async ({ what, ...rest }: AuditEntry) => void order.push(`${what} ${JSON.stringify(rest)}`);
    const server = await start({ operations, audit });
    await ask(server, '/api/v1/leads/main/42/reveal', { method: 'POST', ...bearer(TOKEN) });
    await ask(server, '/api/v1/leads/main/42/versions/2/reveal', { method: 'POST', ...bearer(TOKEN) });
    expect(order).toEqual([
      'reveal {"who":"admin","via":"token","role":"admin","address":"127.0.0.1","source":"main","lead":"42"}',
      'revealed',
      'reveal {"who":"admin","via":"token","role":"admin","address":"127.0.0.1","source":"main","lead":"42","version":2}',
      'revealed',
    ]);
    order.length = 0;
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    await ask(server, '/leads/main/42/answers?delivery=crm:main:42:1:0a1b2c3d', {
      method: 'POST',
      headers: { ...bearer(TOKEN).headers, ...form },
      body: '',
    });
    expect(order).toEqual([
      'reveal {"who":"admin","via":"token","role":"admin","address":"127.0.0.1","source":"main","lead":"42","delivery":"crm:main:42:1:0a1b2c3d"}',
      'revealed',
    ]);
    order.length = 0;
    await ask(server, '/api/v1/leads/main/42/preview', { method: 'POST', ...bearer(TOKEN) });
    const expression = (body: object) =>
      ask(server, '/api/v1/expressions/try', {
        method: 'POST',
        headers: { ...bearer(TOKEN).headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    await expression({ expression: '"Ada Example"', source: 'main', lead: '42' });
    await expression({ expression: 'lead.client_name' }); // of the sample lead
    await ask(server, '/api/v1/leads/find', {
      method: 'POST',
      headers: { ...bearer(TOKEN).headers, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'Ada Example', source: 'main' }),
    });
    expect(order).toEqual([
      'reveal {"who":"admin","via":"token","role":"admin","address":"127.0.0.1","source":"main","lead":"42","as":"previews"}',
      'previewed',
      'reveal {"who":"admin","via":"token","role":"admin","address":"127.0.0.1","source":"main","lead":"42","as":"expression"}',
      'tried',
      'tried',
      'find {"who":"admin","via":"token","role":"admin","address":"127.0.0.1","source":"main"}', // without the text
      'found',
    ]);
  });

  test('that cannot be written makes the server reveal nothing and do nothing', async () => {
    let done = 0;
    const count = async () => {
      done += 1;
      return undefined;
    };
    const operations = { ...aWellLeadsync(), reveal: count, previews: count, test: count };
    const audit = () => Promise.reject(Object.assign(new Error('no room'), { code: 'ENOSPC' }));
    const server = await start({ operations, audit, tokens: () => [] });
    for (const path of [
      '/api/v1/leads/main/42/reveal',
      '/api/v1/leads/main/42/preview',
      '/api/v1/sinks/crm/test',
      '/-/reload',
    ]) {
      const answer = await ask(server, path, { method: 'POST' });
      expect(answer.status).toBe(503);
      expect(answer.text).toContain('the audit log cannot be written (ENOSPC)');
    }
    expect(done).toBe(0);
  });

  test('has no line for a request that only reads', async () => {
    const server = await start();
    for (const path of [
      'overview',
      'leads',
      'leads/main/42',
      'deliveries',
      'sinks',
      'polls',
      'expressions',
      'configuration',
    ])
      expect((await ask(server, `/api/v1/${path}`, bearer(TOKEN))).status).toBe(200);
    expect(server.entries).toEqual([]);
  });
});
