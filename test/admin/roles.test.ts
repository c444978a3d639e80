import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { actor } from '../../src/admin/contract/actor.ts';
import type { Operations } from '../../src/admin/contract/operations.ts';
import { OPERATION_NAMES, type OperationName } from '../../src/admin/contract/rights.ts';
import type { AuditEntry } from '../../src/admin/gate/audit.ts';
import { type AdminServer, startAdmin } from '../../src/admin/server.ts';
import { ROLES, type Role } from '../../src/platform/options/role.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import { ask, openOptions } from './asking.ts';
import { anAuditedAdmin } from './audited-admin.ts';
import { aWorld } from './pages/a-world.ts';
import { FakeOperations } from './pages/fake-operations.ts';
import { aWellLeadsync } from './well-leadsync.ts';

const tokens = ROLES.map((role) => ({
  name: `the-${role}`,
  role,
  token: new Secret(`token-of-the-${role}`),
}));
const HTML = { accept: 'text/html' };
const asRole = (role: Role) => ({ authorization: `Bearer token-of-the-${role}` });

interface Request {
  readonly method?: 'POST';
  readonly path: string;
  readonly body?: object;
}
const get = (path: string): Request => ({ path });
const post = (path: string, body: object = {}): Request => ({ method: 'POST', path, body });

/** Who may do what, written down a second time, and how each operation is reached. */
const TABLE: Readonly<
  Record<Role, Partial<Record<OperationName, { api?: readonly Request[]; pages?: readonly Request[] }>>>
> = {
  viewer: {
    overview: { api: [get('/api/v1/overview')], pages: [get('/')] },
    leads: { api: [get('/api/v1/leads')], pages: [get('/leads'), get('/leads.csv')] },
    lead: { api: [get('/api/v1/leads/main/42')], pages: [get('/leads/main/42')] },
    deliveries: { api: [get('/api/v1/deliveries')], pages: [get('/deliveries')] },
    countLeads: { api: [get('/api/v1/leads/count')] },
    services: { pages: [get('/leads')] },
    failureReasons: { api: [get('/api/v1/deliveries/reasons')], pages: [get('/deliveries/reasons')] },
    countPolls: { pages: [get('/polls')] },
    countRejected: { pages: [get('/rejected')] },
    countDeliveries: { api: [get('/api/v1/deliveries/count')] },
    sinks: { api: [get('/api/v1/sinks')], pages: [get('/sinks')] },
    sink: { api: [get('/api/v1/sinks/crm')], pages: [get('/sinks/crm')] },
    polls: { api: [get('/api/v1/polls')], pages: [get('/polls'), get('/polls.csv')] },
    log: { api: [get('/api/v1/log')], pages: [get('/log'), get('/log.csv')] },
    alerts: { api: [get('/api/v1/alerts')], pages: [get('/alerts')] },
    rejected: { api: [get('/api/v1/rejected-leads')], pages: [get('/rejected')] },
    expressionLanguage: { api: [get('/api/v1/expressions')] },
    metrics: { api: [get('/metrics')] },
    description: { api: [get('/api/v1/openapi.json')] },
    queues: { pages: [get('/queues')] },
  },
  operator: {
    reveal: {
      api: [post('/api/v1/leads/main/42/reveal'), post('/api/v1/leads/main/42/versions/1/reveal')],
      pages: [post('/leads/main/42/data'), post('/leads/main/42/answers?delivery=x')],
    },
    revealRejected: {
      api: [post('/api/v1/rejected-leads/1/reveal')],
      pages: [post('/rejected/1/data')],
    },
    findLeads: {
      api: [post('/api/v1/leads/find', { text: 'ada' })],
      pages: [get('/leads/find'), post('/leads/find', { text: 'ada' })],
    },
    previews: {
      api: [post('/api/v1/leads/main/42/preview')],
      pages: [post('/leads/main/42/previews'), post('/sinks/crm/request', { lead: 'main:42' })],
    },
    tryExpression: {
      api: [post('/api/v1/expressions/try', { expression: '1' })],
      pages: [get('/playground'), post('/playground', { expression: '1' })],
    },
    retry: {
      api: [post('/api/v1/deliveries/retry', { all: true })],
      pages: [
        post('/deliveries/retry', { all: 'yes' }),
        post('/leads/main/42/retry?delivery=crm:1'),
        post('/sinks/crm/retry'),
      ],
    },
    discard: {
      api: [post('/api/v1/deliveries/discard', { all: true, note: 'rung' })],
      pages: [post('/deliveries/discard', { all: 'yes' })],
    },
    retriable: { api: [post('/api/v1/deliveries/retry', { all: true, dry_run: true })] },
    discardable: { api: [post('/api/v1/deliveries/discard', { all: true, note: 'rung', dry_run: true })] },
    cancellable: { api: [post('/api/v1/sinks/crm/cancel-replay', { dry_run: true })] },
    replayable: {
      api: [
        post('/api/v1/sinks/crm/replay', { all: true, dry_run: true }),
        post('/api/v1/leads/main/42/replay', { sink: 'crm', dry_run: true }),
      ],
    },
    replayAll: { api: [post('/api/v1/sinks/crm/replay', { all: true })] },
    cancelReplays: {
      api: [post('/api/v1/sinks/crm/cancel-replay')],
      pages: [post('/sinks/crm/cancel-replay')],
    },
    replay: {
      api: [post('/api/v1/leads/main/42/replay', { sink: 'crm' })],
      pages: [post('/leads/main/42/replay?sink=crm')],
    },
    pause: {
      api: [post('/api/v1/sinks/crm/pause', { reason: 'moving' })],
      pages: [post('/sinks/crm/pause')],
    },
    resume: { api: [post('/api/v1/sinks/crm/resume')], pages: [post('/sinks/crm/resume')] },
    test: { api: [post('/api/v1/sinks/crm/test')], pages: [post('/sinks/crm/test')] },
    poll: { api: [post('/api/v1/sources/main/poll')], pages: [post('/sources/main/poll')] },
    runExport: {
      api: [post('/api/v1/exports/nightly/run'), post('/api/v1/backups/nightly/run')],
      pages: [post('/exports/nightly/run', { sure: 'yes' }), post('/backups/nightly/run', { sure: 'yes' })],
    },
    previewExport: { pages: [post('/exports/nightly/run'), post('/backups/nightly/run')] },
  },
  admin: {
    countAudit: { pages: [get('/audit')] },
    audit: { api: [get('/api/v1/audit')], pages: [get('/audit')] },
    configuration: { api: [get('/api/v1/configuration')], pages: [get('/configuration')] },
    previewReload: { api: [get('/api/v1/configuration/changes')] },
    reload: { api: [post('/api/v1/reload'), post('/-/reload')], pages: [post('/configuration/reload')] },
  },
};

const CASES = ROLES.flatMap((needed) =>
  Object.entries(TABLE[needed]).flatMap(([operation, { api = [], pages = [] }]) =>
    ROLES.map((role) => ({
      operation,
      needed,
      role,
      api,
      pages,
      isAllowed: ROLES.indexOf(role) >= ROLES.indexOf(needed),
    })),
  ),
);

function sent({ method, path, body }: Request, role: Role, isPage: boolean) {
  const type = isPage ? 'application/x-www-form-urlencoded' : 'application/json';
  const text = isPage ? String(new URLSearchParams({ ...body })) : JSON.stringify(body);
  const headers = { ...asRole(role), ...(isPage && HTML), ...(method && { 'content-type': type }) };
  return [path, { ...(method && { method, body: text }), headers }] as const;
}

test('the table has every operation', () => {
  expect(ROLES.flatMap((role) => Object.keys(TABLE[role])).sort()).toEqual([...OPERATION_NAMES].sort());
});

describe('each operation with each role', () => {
  const entries: AuditEntry[] = [];
  let server: AdminServer;
  beforeAll(async () => {
    const audit = async (entry: AuditEntry) => void entries.push(entry);
    const parts = { operations: aWellLeadsync(), audit, boardQueues: async () => [] };
    server = await startAdmin({ ...openOptions, tokens: () => tokens, ...parts });
  });
  afterAll(() => server.close());

  test('only an admin gets the origins of the options of a sink, because they name files and variables', async () => {
    for (const role of ROLES) {
      const { text } = await ask(server, '/api/v1/sinks/crm', { headers: asRole(role) });
      expect(text.includes('leadsync.yaml'), role).toBe(role === 'admin');
      expect(text.includes('https://crm.example.com'), role).toBe(true);
    }
  });

  test.each(CASES)('$role: $operation', async ({ api, pages, role, needed, isAllowed }) => {
    entries.length = 0;
    const sentence = `This needs the role ${needed}, and the-${role} has the role ${role}.`;
    for (const request of api) {
      const { status, text } = await ask(server, ...sent(request, role, false));
      if (isAllowed) expect([request.path, status]).toEqual([request.path, 200]);
      else {
        expect([request.path, status]).toEqual([request.path, 403]);
        if (request.path.startsWith('/api/'))
          expect(JSON.parse(text).error).toEqual({ code: 'role', message: sentence, hint: '' });
        else expect(text).toBe(`${sentence}\n`);
      }
    }
    for (const request of pages) {
      const { status, text } = await ask(server, ...sent(request, role, true));
      if (isAllowed) expect([200, 303]).toContain(status);
      else {
        expect([request.path, status]).toEqual([request.path, 403]);
        expect(text).toContain(sentence);
      }
    }
    if (!isAllowed) expect(entries).toEqual([]);
    for (const { who, role: of } of entries) expect([who, of]).toEqual([`the-${role}`, role]);
  });
});

/** The operations as an object that can be spread, as those of the daemon are. */
function boundOperations(operations: FakeOperations): Operations {
  const names = Object.getOwnPropertyNames(FakeOperations.prototype) as (keyof Operations)[];
  const bound = names.map((name) => [
    name,
    (...args: never[]) => (operations[name] as (...all: never[]) => unknown).apply(operations, args),
  ]);
  return Object.fromEntries(bound) as unknown as Operations;
}

/** Every request that a page offers: links, forms and buttons. */
function offersOf(text: string): Request[] {
  const all = (pattern: RegExp) =>
    [...text.matchAll(pattern)].map(([, address = '']) => address.replaceAll('&amp;', '&'));
  const links = all(/<a [^>]*href="(\/[^"#]*)"/g).map(get);
  const forms = all(/(?:\saction|formaction|hx-post)="(\/[^"]*)"/g);
  const reads = all(/<form [^>]*method="get" action="(\/[^"]*)"/g);
  const posts = forms.filter((address) => !reads.includes(address) && address !== '/logout');
  return [...links, ...posts.map((address) => post(address, { all: 'yes' }))];
}

test.each(ROLES)('a page offers a %s nothing that would be refused, and everything else', async (role) => {
  const server = await startAdmin({
    ...openOptions,
    tokens: () => tokens,
    operations: boundOperations(new FakeOperations(aWorld())),
  });
  onTestFinished(() => server.close());
  const { text: home } = await ask(server, '/', { headers: { ...asRole(role), ...HTML } });
  const menu = [
    ...home.matchAll(/<a href="(\/[a-z]*)" (?:aria-current="page")?>|<a href="(\/[a-z]+)">/g),
  ].map((found) => found[1] ?? found[2] ?? '');
  expect(menu.includes('/playground')).toBe(role !== 'viewer');
  expect(menu.includes('/configuration')).toBe(role === 'admin');
  expect(menu.includes('/audit')).toBe(role === 'admin');
  const lead = aWorld().deliveries.find(({ state }) => state === 'dead');
  const pages = [
    ...new Set([
      '/',
      ...menu,
      '/deliveries?state=dead',
      '/deliveries/reasons',
      '/polls?result=any',
      '/rejected?state=any',
      '/sinks/crm',
      '/sinks/warehouse?period=7d',
      `/leads/${lead?.source}/${lead?.lead_id}`,
    ]),
  ];
  const offered = new Map<string, Request>();
  for (const page of pages) {
    const { status, text } = await ask(server, page, { headers: { ...asRole(role), ...HTML } });
    expect([page, status]).toEqual([page, 200]);
    for (const offer of offersOf(text))
      offered.set(`${offer.method} ${offer.path.replace(/\d+|:[^/&]*/g, '0')}`, offer);
  }
  const posts = [...offered.values()].filter(({ method }) => method === 'POST');
  if (role === 'viewer') expect(posts).toEqual([]);
  else expect(posts.length).toBeGreaterThan(8);
  for (const offer of offered.values()) {
    const { status } = await ask(server, ...sent(offer, role, true));
    expect([offer.path, status === 403]).toEqual([offer.path, false]);
  }
});

test('the cached overview of an admin is not that of another role', async () => {
  const operations = aWellLeadsync();
  const overview = async () => ({
    ...(await operations.overview()),
    installation: actor.getStore()?.role ?? '',
  });
  const server = await anAuditedAdmin({
    tokens: () => tokens,
    operations: { ...operations, overview },
    monotonicMs: () => 0,
  });
  for (const role of ['admin', 'viewer', 'admin'] as const) {
    const { text } = await ask(server, '/api/v1/overview', { headers: asRole(role) });
    expect(JSON.parse(text).installation).toBe(role);
  }
});

test('a viewer may read the audit log neither as CSV nor as JSON', async () => {
  const server = await anAuditedAdmin({ tokens: () => tokens });
  const statusFor = async (role: Role) =>
    (await ask(server, '/api/v1/audit', { headers: { ...asRole(role), accept: 'text/csv' } })).status;
  expect([await statusFor('viewer'), await statusFor('operator'), await statusFor('admin')]).toEqual([
    403, 403, 200,
  ]);
});

test('a dry run says what the action would do, does not do it, and leaves no line in the audit log', async () => {
  const operations = aWellLeadsync();
  const server = await anAuditedAdmin({ operations, tokens: () => tokens });
  const dry = async (path: string, body: object) => {
    const [address, request] = sent(post(`/api/v1${path}`, { ...body, dry_run: true }), 'operator', false);
    return JSON.parse((await ask(server, address, request)).text);
  };
  const group = { sink: 'crm', source: 'main', state: 'dead', reason: null, deliveries: 3 };
  const totals = { deliveries: 3, groups: [group], unmatched: ['9'] };
  expect(await dry('/deliveries/retry', { ids: ['42', '9'] })).toEqual(totals);
  expect(await dry('/deliveries/discard', { sink: 'crm', note: 'rung' })).toEqual(totals);
  expect(await dry('/sinks/crm/replay', { all: true })).toMatchObject({ leads: 4, unmatched: ['9'] });
  expect(await dry('/leads/main/42/replay', { sink: 'crm' })).toEqual({ deliveries: 4, unmatched: [] });
  expect(await dry('/sinks/crm/cancel-replay', {})).toEqual({ cancelled: 5, attempted: 0, needed: 0 });
  expect(operations.asked).toEqual([
    ['retriable', { ids: ['42', '9'] }],
    ['discardable', { sink: 'crm' }],
    ['cancellable', 'crm'],
  ]);
  expect(server.entries).toEqual([]);
});

test('the description of the API names the role that each operation needs', async () => {
  const server = await anAuditedAdmin({ tokens: () => tokens });
  const { text } = await ask(server, '/api/v1/openapi.json', { headers: asRole('viewer') });
  const { paths } = JSON.parse(text);
  expect(paths['/api/v1/leads/{source}/{lead}/reveal'].post).toMatchObject({
    description: 'Needs the role operator.',
    security: [{ token: ['operator'] }],
    responses: { 403: expect.anything() },
  });
  expect(paths['/api/v1/reload'].post.security).toEqual([{ token: ['admin'] }]);
  expect(paths['/api/v1/leads'].get.security).toEqual([{ token: ['viewer'] }]);
});

test('only a command with the key of this leadsync has recorded its action itself', async () => {
  const server = await anAuditedAdmin({ tokens: () => tokens });
  const poll = (headers: Record<string, string>) =>
    ask(server, '/api/v1/sources/main/poll', {
      method: 'POST',
      headers: { ...asRole('operator'), ...headers },
    });
  expect((await poll({ 'x-leadsync-recorded': 'a-record-key' })).status).toBe(200);
  expect(server.entries).toEqual([]);
  expect((await poll({ 'x-leadsync-recorded': '' })).status).toBe(200);
  expect((await poll({ 'x-leadsync-recorded': 'guessed' })).status).toBe(200);
  expect(server.entries).toMatchObject([
    { who: 'the-operator', what: 'poll' },
    { who: 'the-operator', what: 'poll' },
  ]);
});

test('the name and the way in are in the audit log, and a changed role counts from the next request', async () => {
  let role: Role = 'operator';
  const anna = { name: 'anna', token: new Secret('a-token-of-annas-own') };
  const server = await anAuditedAdmin({ tokens: () => [...tokens, { ...anna, role }] });
  const form = { 'content-type': 'application/x-www-form-urlencoded', ...HTML };
  const login = await ask(server, '/login', {
    method: 'POST',
    headers: form,
    body: 'token=a-token-of-annas-own',
  });
  const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const resume = { method: 'POST', headers: { ...form, cookie }, body: 'sure=yes' };
  expect((await ask(server, '/sinks/crm/resume', resume)).status).toBe(303);
  expect(server.entries).toEqual([
    { who: 'anna', via: 'session', role: 'operator', address: '127.0.0.1', what: 'login' },
    { who: 'anna', via: 'session', role: 'operator', address: '127.0.0.1', what: 'resume', sink: 'crm' },
  ]);
  const page = await ask(server, '/sinks', { headers: { ...HTML, cookie } });
  expect(page.text).toContain('<span class="reader" title="role operator">anna</span>');
  expect(page.text).toContain('Log out');
  role = 'viewer';
  expect((await ask(server, '/sinks/crm/resume', resume)).status).toBe(403);
  expect((await ask(server, '/sinks', { headers: { ...HTML, cookie } })).text).not.toContain('Pause…');
});
