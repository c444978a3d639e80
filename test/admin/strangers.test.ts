import { describe, expect, test } from 'vitest';
import type { AdminServer } from '../../src/admin/server.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import { adminToken, ask } from './asking.ts';
import { anAuditedAdmin } from './audited-admin.ts';
import { aWellLeadsync } from './well-leadsync.ts';

const TOKEN = 'correct-horse-battery-staple';
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

const start = anAuditedAdmin;

describe('a wrong token', () => {
  const show = (server: AdminServer, token: string, path = '/metrics') =>
    ask(server, path, { headers: { authorization: `Bearer ${token}` } });

  test('is recorded in the audit log by the address of its client, without the token', async () => {
    const server = await start({ tokens: () => adminToken(TOKEN) });
    expect((await show(server, 'a-wrong-one')).status).toBe(401);
    expect(server.entries).toEqual([{ what: 'token refused', address: '127.0.0.1' }]);
  });

  test('is refused without a record after ten in a minute, with the time to wait', async () => {
    let nowMs = 0;
    const server = await start({ tokens: () => adminToken(TOKEN), monotonicMs: () => nowMs });
    for (let n = 0; n < 10; n += 1) expect((await show(server, `guess-${n}`)).status).toBe(401);
    nowMs = 15_000;
    const answer = await show(server, 'guess-10');
    expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': '45' } });
    expect(answer.text).toContain('Too many wrong tokens');
    const refused = await show(server, 'guess-11', '/api/v1/overview');
    expect(JSON.parse(refused.text).error.code).toBe('too-many');
    expect(server.entries).toHaveLength(10);
    nowMs = 60_000;
    expect((await show(server, 'guess-12')).status).toBe(401);
  });

  test('does not block the right token, even from the same address, so Prometheus continues to scrape', async () => {
    const server = await start({ tokens: () => adminToken(TOKEN), ready: () => ['Redis is away.'] });
    for (let n = 0; n < 20; n += 1) {
      await show(server, `guess-${n}`);
      expect((await show(server, TOKEN)).status).toBe(200);
    }
    expect((await show(server, 'guess-20')).status).toBe(429);
    expect((await show(server, 'guess-21', '/readyz')).text).toBe('{"ready":false}');
    expect((await show(server, 'guess-22', '/livez')).status).toBe(200);
    expect((await show(server, TOKEN, '/readyz')).text).toContain('Redis is away.');
  });

  test('that is repeated counts as one guess: it blocks no client, and is recorded once a minute', async () => {
    const server = await start({ tokens: () => adminToken(TOKEN) });
    for (let n = 0; n < 30; n += 1) expect((await show(server, 'the-one-before')).status).toBe(401);
    expect((await show(server, TOKEN)).status).toBe(200);
    expect(server.entries).toHaveLength(1);
  });

  test('is refused even if the audit log cannot be written', async () => {
    const server = await start({
      tokens: () => adminToken(TOKEN),
      audit: () => Promise.reject(new Error('ENOSPC')),
    });
    expect((await show(server, 'a-wrong-one')).status).toBe(401);
  });
});

describe('an error page', () => {
  const refused: readonly [string, string, Parameters<typeof ask>[2], number, RegExp][] = [
    ['a page that is not there', '/nothing', {}, 404, /Page not found/],
    ['a lead that is not there', '/leads/main/43', {}, 404, /No such lead/],
    ['a page that can only be read', '/leads', { method: 'POST' }, 405, /Method not allowed/],
    [
      'a form of another site',
      '/sinks/crm/pause',
      { method: 'POST', headers: { origin: 'http://evil.example' } },
      403,
      /Forbidden/,
    ],
    ['another host', '/', { headers: { host: 'evil.example' } }, 421, /Wrong host name/],
    ['an address that is none', '/leads/%zz', {}, 400, /Bad request/],
  ];
  test.each(refused)(
    'for %s is HTML for a browser, and a line or JSON for other clients',
    async (_, path, request, status, title) => {
      const server = await start();
      const page = await ask(server, path, { ...request, headers: { ...request?.headers, ...BROWSER } });
      expect(page).toMatchObject({
        status,
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': expect.stringContaining("default-src 'none'; script-src 'self'"),
        },
      });
      expect(page.text).toMatch(title);
      const headers = { ...request?.headers, 'content-type': 'application/x-www-form-urlencoded' };
      const line = await ask(server, path, { ...request, headers });
      if (!path.startsWith('/leads/main')) {
        expect(line).toMatchObject({ status, headers: { 'content-type': 'text/plain; charset=utf-8' } });
        expect(line.text).toMatch(/^[^<\n]+\n$/);
      }
      const api = await ask(server, `/api/v1${path}`, {
        ...request,
        headers: { ...request?.headers, ...BROWSER },
      });
      expect(api.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(Object.keys(JSON.parse(api.text).error)).toEqual(['code', 'message', 'hint']);
    },
  );

  test('shows a stranger no state of leadsync', async () => {
    const operations = aWellLeadsync();
    const server = await start({ tokens: () => adminToken(TOKEN), operations });
    for (let n = 0; n < 11; n += 1) {
      const headers = { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded' };
      const body = `token=wrong-${n}`;
      const { status, text } = await ask(server, '/login', { method: 'POST', headers, body });
      expect(status).toBe(n < 10 ? 401 : 429);
      if (n === 10) expect(text).toContain('many wrong ones came from your address');
    }
    const headers = { ...BROWSER, host: 'evil.example' };
    expect((await ask(server, '/sinks', { headers })).text).not.toMatch(/Overview|Log out|<nav/);
    expect(operations.asked).toEqual([]);
  });

  test('has the navigation of the pages for a client that may see them', async () => {
    const { text } = await ask(await start(), '/nothing', { headers: BROWSER });
    expect(text).toMatch(/<nav aria-label="Pages">[\s\S]*<h1>Page not found<\/h1>/);
  });

  test.each([
    ['/lead/main/42', 404, ['/leads', '/']],
    ['/delivery', 404, ['/deliveries', '/']],
    ['/config', 404, ['/configuration', '/']],
    ['/nothing', 404, ['/']],
    ['//evil.example/sinks?a', 404, ['/']],
    ['/sinks/crm/pause', 405, ['/sinks', '/']],
  ])('for %s links to the page that was probably meant', async (path, status, addresses) => {
    const answer = await ask(await start(), path, { headers: BROWSER });
    expect(answer.status).toBe(status);
    expect(waysOn(answer.text)).toEqual(addresses);
  });

  test('does not link a person to a page for which their role does not suffice', async () => {
    const token = new Secret(TOKEN);
    const server = await start({ tokens: () => [{ name: 'vera', role: 'viewer', token }] });
    const headers = { ...BROWSER, authorization: `Bearer ${TOKEN}` };
    for (const path of ['/audit', '/configuratio']) {
      const { status, text } = await ask(server, path, { headers });
      expect([path, status]).toEqual([path, path === '/audit' ? 403 : 404]);
      expect(waysOn(text)).toEqual(['/']);
    }
  });

  test('looks the same under a name that is not allowed, because every client gets its style sheet', async () => {
    const server = await start();
    const headers = { ...BROWSER, host: 'evil.example' };
    const [, styles] = /href="(\/assets\/pages[^"]*)"/.exec((await ask(server, '/', { headers })).text) ?? [];
    expect((await ask(server, styles ?? '', { headers })).status).toBe(200);
  });

  test('of a worker, which has no pages, is a line of text', async () => {
    const server = await start({ operations: undefined });
    expect((await ask(server, '/nothing', { headers: BROWSER })).headers['content-type']).toMatch(
      /text\/plain/,
    );
  });
});

test('a page is shown if the state of leadsync cannot be computed, and the log has the reason', async () => {
  const faults: unknown[] = [];
  const overview = () => Promise.reject(new Error('ada@example.com'));
  const operations = { ...aWellLeadsync(), overview };
  const server = await start({ operations, onFault: (error) => faults.push(error) });
  const { status, text } = await ask(server, '/polls', { headers: BROWSER });
  expect(status).toBe(200);
  expect(text).toContain('The state of leadsync is unknown.');
  expect(text).not.toContain('ada@example.com');
  expect(faults).toMatchObject([{ message: 'ada@example.com' }]);
});

/** Returns the addresses to which an error page links. */
function waysOn(html: string): (string | undefined)[] {
  const [nav = ''] = /<nav[^>]*aria-label="Where to go next">.*?<\/nav>/s.exec(html) ?? [];
  return [...nav.matchAll(/href="([^"]*)"/g)].map(([, address]) => address);
}
