import { expect, test } from 'vitest';
import { adminToken, ask } from './asking.ts';
import { anAuditedAdmin } from './audited-admin.ts';

const TOKEN = 'correct-horse-battery-staple';
const header = () => ({
  name: 'X-Forwarded-User',
  roles: new Map([
    ['anna@example.com', 'admin'],
    ['bob', 'operator'],
  ] as const),
  defaultRole: 'viewer' as const,
});
const start = (options = {}) =>
  anAuditedAdmin({ tokens: () => adminToken(TOKEN), header, proxies: () => ['127.0.0.1'], ...options });
type Server = Awaited<ReturnType<typeof start>>;

const resume = (server: Server, headers: Record<string, string>) =>
  ask(server, '/api/v1/sinks/crm/resume', { method: 'POST', headers });
const as = (person: string) => ({ 'x-forwarded-user': person, 'x-forwarded-for': '203.0.113.7' });

test('a trusted proxy names the person of a request, and the configuration gives the role', async () => {
  const server = await start();
  expect((await resume(server, as('bob'))).status).toBe(200);
  expect(server.entries).toEqual([
    { who: 'bob', via: 'proxy', role: 'operator', address: '203.0.113.7', what: 'resume', sink: 'crm' },
  ]);
  expect((await resume(server, as('carol'))).status).toBe(403);
  expect((await ask(server, '/api/v1/sinks', { headers: as('carol') })).status).toBe(200);
  expect((await ask(server, '/api/v1/audit', { headers: as('anna@example.com') })).status).toBe(200);
  const page = await ask(server, '/sinks', { headers: { ...as('bob'), accept: 'text/html' } });
  expect(page.text).toContain('<span class="reader" title="role operator">bob</span>');
  expect(page.text).not.toContain('Log out');
});

test.each([[[]], [['10.0.0.0/8', '::1']]])(
  'the header is ignored if it comes from any other address: %j',
  async (proxies) => {
    const server = await start({ proxies: () => proxies });
    expect((await resume(server, as('bob'))).status).toBe(401);
    expect((await ask(server, '/livez', { headers: as('bob') })).status).toBe(200);
    expect(server.entries).toEqual([]);
  },
);

test('a person without a role gets a message that says so, and sees nothing else', async () => {
  const server = await start({ header: () => ({ ...header(), defaultRole: undefined }) });
  const answer = await ask(server, '/api/v1/overview', { headers: as('carol') });
  expect(answer.status).toBe(403);
  expect(JSON.parse(answer.text).error.message).toBe(
    "carol has no role: admin.trusted_header in leadsync's configuration gives none.",
  );
  const page = await ask(server, '/', { headers: { ...as('<b>carol'), accept: 'text/html' } });
  expect(page.status).toBe(403);
  expect(page.text).toContain('&lt;b>carol has no role');
  expect(page.text).not.toMatch(/<nav|Overview/);
  expect((await ask(server, '/readyz', { headers: as('carol') })).text).toBe('{"ready":true}');
});

test.each(['', ' ', 'a'.repeat(201), 'an\u00e9e'])(
  'a header without a usable name is ignored: %j',
  async (person) => {
    expect((await resume(await start(), as(person))).status).toBe(401);
  },
);

test('the right token takes precedence over the header, and a wrong one beside the header does not count as a guess', async () => {
  const server = await start();
  expect((await resume(server, { ...as('carol'), authorization: `Bearer ${TOKEN}` })).status).toBe(200);
  expect((await resume(server, { ...as('bob'), authorization: 'Bearer of-the-proxys-own' })).status).toBe(
    200,
  );
  expect(server.entries.map(({ who, via }) => [who, via])).toEqual([
    ['admin', 'token'],
    ['bob', 'proxy'],
  ]);
});

test('without `admin.trusted_header` in the configuration, the header is ignored', async () => {
  expect((await resume(await start({ header: () => undefined }), as('bob'))).status).toBe(401);
});
