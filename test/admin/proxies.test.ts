import { describe, expect, test } from 'vitest';
import { type AdminOptions, adminToken, ask } from './asking.ts';
import { anAuditedAdmin } from './audited-admin.ts';

const TOKEN = 'correct-horse-battery-staple';
const bearer = { authorization: `Bearer ${TOKEN}` };

const start = (options: Partial<AdminOptions> = {}) =>
  anAuditedAdmin({ tokens: () => adminToken(TOKEN), ...options });

/** The address that the audit log has for a request with these headers. */
async function addressNoted(server: Awaited<ReturnType<typeof start>>, headers: Record<string, string>) {
  const reveal = { method: 'POST', headers: { ...bearer, ...headers } };
  expect((await ask(server, '/api/v1/leads/main/42/reveal', reveal)).status).toBe(200);
  return server.entries.at(-1)?.address;
}

describe('X-Forwarded-For', () => {
  test('is ignored if it does not come from a trusted proxy', async () => {
    const spoofed = { 'x-forwarded-for': '203.0.113.7' };
    expect(await addressNoted(await start(), spoofed)).toBe('127.0.0.1');
    expect(await addressNoted(await start({ proxies: () => ['10.0.0.0/8', '::1'] }), spoofed)).toBe(
      '127.0.0.1',
    );
  });

  test.each([
    ['203.0.113.7', '203.0.113.7'],
    // What the client itself wrote stands before what the proxy saw.
    ['198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['198.51.100.1, 203.0.113.7, 10.1.2.3', '203.0.113.7'],
    ['2001:db8::7', '2001:db8::7'],
    ['unknown', '127.0.0.1'],
    ['203.0.113.7, <b>x', '127.0.0.1'],
  ])('from a trusted proxy gives the address of the client: %s', async (forwarded, address) => {
    const server = await start({ proxies: () => ['127.0.0.0/8', '10.0.0.0/8'] });
    expect(await addressNoted(server, { 'x-forwarded-for': forwarded })).toBe(address);
  });

  test('is used after the reload that adds the proxy', async () => {
    let proxies: string[] = [];
    const server = await start({ proxies: () => proxies });
    const forwarded = { 'x-forwarded-for': '203.0.113.7' };
    expect(await addressNoted(server, forwarded)).toBe('127.0.0.1');
    proxies = ['127.0.0.1'];
    expect(await addressNoted(server, forwarded)).toBe('203.0.113.7');
  });

  test('separates the wrong tokens of clients behind the same proxy', async () => {
    const server = await start({ proxies: () => ['127.0.0.1'] });
    const from = (address: string, token: string) =>
      ask(server, '/metrics', { headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': address } });
    for (let n = 0; n < 10; n += 1) await from('203.0.113.7', `guess-${n}`);
    expect((await from('203.0.113.7', 'guess-10')).status).toBe(429);
    expect((await from('203.0.113.8', 'guess-10')).status).toBe(401);
    expect((await from('203.0.113.7', TOKEN)).status).toBe(200);
  });
});

describe('X-Forwarded-Host', () => {
  const asked = async (proxies: string[], headers: Record<string, string>) =>
    (await ask(await start({ proxies: () => proxies }), '/metrics', { headers: { ...bearer, ...headers } }))
      .status;

  test.each([
    [{ host: '127.0.0.1', 'x-forwarded-host': 'leads.example.com' }, 200],
    [{ host: '127.0.0.1', 'x-forwarded-host': 'evil.example' }, 421],
    [{ host: 'evil.example', 'x-forwarded-host': 'leads.example.com' }, 421],
  ] as const)('from a trusted proxy must be an allowed name, as must Host: %j', async (headers, status) => {
    const hosts = () => ['leads.example.com'];
    const server = await start({ proxies: () => ['127.0.0.1'], hosts });
    expect((await ask(server, '/metrics', { headers: { ...bearer, ...headers } })).status).toBe(status);
  });

  test('is ignored if it does not come from a trusted proxy', async () => {
    expect(await asked([], { host: 'evil.example', 'x-forwarded-host': 'localhost' })).toBe(421);
    expect(await asked([], { host: 'localhost', 'x-forwarded-host': 'evil.example' })).toBe(200);
  });

  test('from a trusted proxy determines which origin may make changes', async () => {
    const server = await start({ proxies: () => ['127.0.0.1'], hosts: () => ['leads.example.com'] });
    const post = (origin: string) =>
      ask(server, '/-/reload', {
        method: 'POST',
        headers: { ...bearer, host: '127.0.0.1', 'x-forwarded-host': 'leads.example.com', origin },
      });
    expect((await post('https://leads.example.com')).status).toBe(200);
    expect((await post('https://evil.example')).status).toBe(403);
    expect((await post('http://127.0.0.1')).status).toBe(403);
  });
});

test('a session cookie is for https only if a trusted proxy was reached by https', async () => {
  const logIn = async (proxies: string[]) => {
    const server = await start({ proxies: () => proxies });
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-proto': 'https' };
    const answer = await ask(server, '/login', { method: 'POST', headers, body: `token=${TOKEN}` });
    return answer.headers['set-cookie']?.[0];
  };
  expect(await logIn(['127.0.0.1'])).toMatch(/^__Host-.*; Secure/);
  expect(await logIn([])).not.toMatch(/; Secure/);
});

describe('a session over plain http while the public address is https', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded', host: 'leads.lan' };
  const logIn = async (proxies: string[], headers: Record<string, string>) => {
    const pages = { hosts: () => ['leads.lan'], publicUrl: () => 'https://leads.lan' };
    const server = await start({ proxies: () => proxies, ...pages });
    const request = { method: 'POST', headers: { ...form, ...headers }, body: `token=${TOKEN}` };
    return { server, cookie: (await ask(server, '/login', request)).headers['set-cookie']?.[0] ?? '' };
  };

  test.each([
    ['the browser', [], { origin: 'http://leads.lan' }],
    ['a trusted proxy', ['127.0.0.1'], { 'x-forwarded-proto': 'http' }],
  ])('has a cookie that the browser keeps, if %s says http', async (_, proxies, headers) => {
    const { cookie } = await logIn(proxies, headers);
    expect(cookie).toMatch(/^leadsync_session=/);
    expect(cookie).not.toMatch(/; Secure/);
  });

  test('is accepted if a trusted proxy says http', async () => {
    const http = { 'x-forwarded-proto': 'http' };
    const { server, cookie } = await logIn(['127.0.0.1'], http);
    const headers = { ...http, host: 'leads.lan', cookie: cookie.split(';')[0] ?? '' };
    expect((await ask(server, '/metrics', { headers })).status).toBe(200);
  });

  test('is accepted if no proxy names the protocol and the browser sends an http origin', async () => {
    const { server, cookie } = await logIn([], { origin: 'http://leads.lan' });
    const headers = { host: 'leads.lan', cookie: cookie.split(';')[0] ?? '' };
    expect((await ask(server, '/metrics', { headers })).status).toBe(200);
  });

  const OVER_HTTPS = { 'sec-fetch-site': 'same-origin' };

  test.each([
    ['neither the origin nor a proxy names the protocol', [], OVER_HTTPS],
    ['only an unknown proxy says http', [], { 'x-forwarded-proto': 'http', ...OVER_HTTPS }],
    [
      'the browser says https behind a proxy that says http',
      ['127.0.0.1'],
      { 'x-forwarded-proto': 'http', origin: 'https://leads.lan' },
    ],
  ])('has a cookie for https only if %s', async (_, proxies, headers) => {
    expect((await logIn(proxies, headers)).cookie).toMatch(/^__Host-leadsync_session=.*; Secure/);
  });
});
