import { afterEach, describe, expect, test } from 'vitest';
import { RequestError } from '../../src/admin/contract/request-error.ts';
import { type AdminServer, startAdmin } from '../../src/admin/server.ts';
import { type AdminOptions, ask, openOptions } from './asking.ts';
import { aWellLeadsync } from './well-leadsync.ts';

let open: AdminServer[] = [];
afterEach(async () => {
  await Promise.all(open.map((server) => server.close()));
  open = [];
});

async function start(options: Partial<AdminOptions> = {}) {
  const operations = aWellLeadsync();
  const server = await startAdmin({ ...openOptions, operations, ...options });
  open.push(server);
  const get = async (path: string) => jsonOf(await ask(server, `/api/v1${path}`));
  const post = async (path: string, body?: unknown) =>
    jsonOf(
      await ask(server, `/api/v1${path}`, {
        method: 'POST',
        ...(body === undefined
          ? {}
          : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      }),
    );
  return { server, get, post, asked: operations.asked };
}

function jsonOf({ status, text, headers }: Awaited<ReturnType<typeof ask>>) {
  expect(headers['content-type']).toContain('application/json');
  return { status, body: JSON.parse(text) };
}

test('a request that announces JSON and sends no body counts as a request without a body', async () => {
  const { server, asked } = await start();
  const empty = { method: 'POST', headers: { 'content-type': 'application/json' } };
  expect((await ask(server, '/api/v1/sinks/crm/pause', empty)).status).toBe(200);
  expect((await ask(server, '/api/v1/sinks/crm/resume', empty)).status).toBe(200);
  expect((await ask(server, '/-/reload', empty)).status).toBe(200);
  expect(jsonOf(await ask(server, '/api/v1/deliveries/retry', empty)).status).toBe(400);
  const broken = { ...empty, body: '{"reason": ' };
  expect(jsonOf(await ask(server, '/api/v1/sinks/crm/pause', broken)).status).toBe(400);
  const proto = { ...empty, body: '{"__proto__": {"a": 1}}' };
  expect(jsonOf(await ask(server, '/api/v1/sinks/crm/pause', proto)).status).toBe(400);
  expect(asked).toEqual([
    ['pause', 'crm', 'paused through the API'],
    ['resume', 'crm'],
  ]);
});

test('a request reaches its operation with parsed values and defaults', async () => {
  const { get, post, asked } = await start();
  await get('/leads?service=cleaning&since=2026-11-20&until=2026-11-20T12:00:00%2B02:00&limit=7&after=5.6');
  await get('/leads?listing=gone&source=main');
  await get('/deliveries?state=dead&lead=9223372036854775807');
  await get('/deliveries/count?sink=crm');
  await get('/polls?status=failed&order=oldest');
  await post('/deliveries/retry', { sink: 'crm', state: 'dead' });
  await post('/deliveries/retry', { all: true });
  expect((await post('/deliveries/retry', { state: 'pending' })).body).toEqual({
    deliveries: 3,
    unmatched: [],
  });
  const named = { ids: ['42', 'crm:main:42:1:0a1b2c3d'] };
  expect((await post('/deliveries/retry', { ...named, reason: ' 422 ' })).body).toEqual({
    deliveries: 3,
    unmatched: ['9'],
  });
  expect((await post('/deliveries/discard', { ...named, note: 'wrong number' })).body).toEqual({
    deliveries: 2,
    unmatched: ['9'],
  });
  await get(`/deliveries/count?state=dead&ids=${named.ids.join(',')}`);
  await post('/deliveries/discard', { sink: 'crm', reason: '422', note: ' wrong number ' });
  await post('/deliveries/discard', { all: true, note: 'all' });
  const delivered = { delivered_since: '2026-11-20T17:49', delivered_until: '2026-11-20T17:52' };
  await post('/sinks/crm/replay', { ...delivered, dry_run: true });
  expect((await post('/sinks/crm/replay', delivered)).body).toEqual({
    leads: 4,
    sources: ['main'],
    sample: [{ source: 'main', lead_id: '42' }],
    unmatched: ['9'],
  });
  await post('/sinks/crm/replay', { left_out: true });
  expect((await post('/sinks/crm/replay', { left_out: false })).status).toBe(400);
  expect((await post('/sinks/crm/cancel-replay')).body).toEqual({ cancelled: 3, attempted: 1, needed: 0 });
  await post('/leads/main/42/replay', { sink: 'crm' });
  expect((await post('/sources/main/poll')).body).toEqual({ source: 'main', poll: 'started' });
  expect((await post('/sources/other/poll')).status).toBe(404);
  expect((await post('/exports/nightly/run')).body).toEqual({ export: 'nightly', run: 'requested' });
  expect((await post('/backups/nightly/run')).body).toEqual({ backup: 'nightly', run: 'requested' });
  expect((await post('/exports/other/run')).body.error.code).toBe('unknown-export');
  await post('/sinks/crm/pause', { reason: 'moving house' });
  await post('/sinks/crm/pause');
  expect(asked).toEqual([
    [
      'leads',
      { service: 'cleaning', since: '2026-11-20T00:00:00.000Z', until: '2026-11-20T10:00:00.000Z' },
      { limit: 7, after: '5.6' },
    ],
    ['leads', { listing: 'gone', source: 'main' }, { limit: 50, after: undefined }],
    ['deliveries', { state: 'dead', lead: '9223372036854775807' }, { limit: 50, after: undefined }],
    ['countDeliveries', { sink: 'crm' }],
    ['polls', { status: 'failed' }, { limit: 50, after: undefined, order: 'oldest' }],
    ['retry', { sink: 'crm', state: 'dead' }],
    ['retry', {}],
    ['retry', { state: 'pending' }],
    ['retriable', { ...named, reason: '422' }],
    ['retry', { ...named, reason: '422' }],
    ['discardable', named],
    ['discard', named, 'wrong number'],
    ['countDeliveries', { state: 'dead', ...named }],
    ['discard', { sink: 'crm', reason: '422' }, 'wrong number'],
    ['discard', {}, 'all'],
    [
      'replayAll',
      'crm',
      { delivered_since: '2026-11-20T17:49:00.000Z', delivered_until: '2026-11-20T17:52:00.000Z' },
    ],
    ['replayAll', 'crm', { left_out: true }],
    ['cancelReplays', 'crm'],
    ['replay', 'crm', 'main', '42'],
    ['poll', 'main'],
    ['poll', 'other'],
    ['runExport', 'export', 'nightly'],
    ['runExport', 'backup', 'nightly'],
    ['runExport', 'export', 'other'],
    ['pause', 'crm', 'moving house'],
    ['pause', 'crm', 'paused through the API'],
  ]);
});

test('the API describes a sink for the requested period, by default a day', async () => {
  const { get, asked } = await start();
  expect(await get('/sinks/crm?period=7d')).toMatchObject({
    status: 200,
    body: { sink: 'crm', period: '7d', step_seconds: 21_600, attempts: { success_rate: expect.any(Number) } },
  });
  expect((await get('/sinks/crm')).body).toMatchObject({ period: '24h' });
  expect(asked).toEqual([
    ['sink', 'crm', '7d'],
    ['sink', 'crm', '24h'],
  ]);
  expect(await get('/sinks/nobody')).toMatchObject({
    status: 404,
    body: { error: { code: 'unknown-sink', message: 'There is no sink "nobody".' } },
  });
  expect((await get('/sinks/hub')).body).toMatchObject({
    error: { message: 'There is no sink "hub": it was renamed to crm.' },
  });
  expect((await get('/sinks/crm?period=2h')).status).toBe(400);
});

test.each(['/leads', '/deliveries', '/deliveries/count'])(
  '%s accepts times in the form of the command line',
  async (path) => {
    const { get, asked } = await start();
    const before = Date.now();
    await get(`${path}?since=2d&until=90m`);
    const passedMs = Date.now() - before;
    const [[, given]] = asked as [[string, { since: string; until: string }]];
    const agoMs = (at: string) => before - Date.parse(at);
    for (const [at, ms] of [
      [given.since, 172_800_000],
      [given.until, 5_400_000],
    ] as const) {
      expect(agoMs(at)).toBeLessThanOrEqual(ms);
      expect(agoMs(at)).toBeGreaterThanOrEqual(ms - passedMs);
    }
    await get(`${path}?since=2026-11-20%2009:30&until=2026-11-20T10:30`);
    expect(asked[1]?.[1]).toMatchObject({
      since: '2026-11-20T09:30:00.000Z',
      until: '2026-11-20T10:30:00.000Z',
    });
  },
);

describe('an invalid request is rejected with the reason, and has no effect', () => {
  test.each([
    ['/leads?limit=201', 'limit: must be at most 200'],
    ['/leads?listing=lost', 'listing: '],
    ['/leads?order=best', 'order: '],
    ['/leads?limit=1e9', 'limit: must be at most 200'],
    ['/leads?limit=0', 'limit: must be at least 1'],
    ['/leads?limit=x', 'limit: must be a whole number'],
    [
      '/leads?since=yesterday',
      'since: must be a date or date-time (UTC unless it says otherwise), or how long ago',
    ],
    ['/leads?since=2026-02-30', 'since: must be a date'],
    ['/leads?since=1h&until=2h', 'until: must be after `since`'],
    ['/deliveries?until=2x', 'until: must be a date'],
    ['/leads?since=2026-11-21&until=2026-11-20', 'until: must be after `since`'],
    ['/leads?lead=-1', 'lead: must be a lead id'],
    ["/leads?lead=1'--", 'lead: must be a lead id'],
    ['/leads?sevrice=x', 'Unrecognized key: "sevrice"'],
    ['/leads?lead=1&lead=2', 'lead: '],
    ['/deliveries?state=done', 'state: '],
    ['/deliveries/count?ids=42,x', 'ids.1: must be a lead id'],
    [`/deliveries/count?ids=${Array(101).fill('1')}`, 'ids: '],
    ['/polls?status=ok', 'status: '],
    [`/leads?after=${'1'.repeat(41)}`, 'after: '],
    ['/leads/main/abc', 'lead: must be a lead id'],
  ])('%s', async (path, message) => {
    const { get, asked } = await start();
    const { status, body } = await get(path);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      code: 'wrong-request',
      hint: expect.stringContaining('openapi.json'),
    });
    expect(body.error.message).toContain(message);
    expect(asked).toEqual([]);
  });

  test.each([
    ['/deliveries/retry', {}, 'must name a filter'],
    ['/deliveries/retry', { all: true, sink: 'crm' }, 'but not both'],
    ['/deliveries/retry', { state: 'delivered' }, 'must be dead, pending or discarded'],
    ['/deliveries/retry', { sinks: ['crm'] }, 'Unrecognized key'],
    ['/deliveries/retry', { since: 'noon' }, 'since: must be a date'],
    ['/deliveries/retry', { since: 5 }, 'since: '],
    ['/deliveries/retry', [], 'The body is not valid'],
    ['/deliveries/retry', undefined, 'The body is not valid'],
    ['/deliveries/retry', { ids: [] }, 'ids: '],
    [
      '/deliveries/retry',
      { ids: ['42', 'a b'] },
      'ids.1: must be a lead id such as 42, or a delivery id such as',
    ],
    ['/deliveries/retry', { ids: ['0'] }, 'ids.0: must be a lead id'],
    ['/deliveries/discard', { ids: ['9223372036854775808'], note: 'n' }, 'ids.0: must be a lead id'],
    ['/sinks/crm/replay', { ids: Array(10_001).fill('1') }, 'ids: '],
    ['/sinks/crm/replay', { ids: ['1'], all: true }, 'but not both'],
    ['/deliveries/discard', { sink: 'crm' }, 'note: '],
    ['/deliveries/discard', { sink: 'crm', note: ' ' }, 'note: '],
    ['/deliveries/discard', { note: 'n' }, 'must name a filter'],
    ['/deliveries/discard', { state: 'pending', note: 'n' }, 'must be dead'],
    ['/sinks/crm/replay', { dry_run: true }, 'must name a filter'],
    ['/sinks/crm/replay', { all: true, lead: '1' }, 'but not both'],
    [
      '/sinks/crm/replay',
      { delivered_since: '1h', delivered_until: '2h' },
      'must be after `delivered_since`',
    ],
    ['/leads/main/42/replay', {}, 'sink: '],
    ['/sinks/crm/pause', { reason: 'x'.repeat(201) }, 'reason: '],
  ])('POST %s %j', async (path, given, message) => {
    const { post, asked } = await start();
    const { status, body } = await post(path, given);
    expect(status).toBe(400);
    expect(body.error.message).toContain(message);
    expect(asked).toEqual([]);
  });

  test('a body that is not JSON, too long or of another type', async () => {
    const { server, asked } = await start();
    const post = (type: string, body: string) =>
      ask(server, '/api/v1/deliveries/retry', { method: 'POST', headers: { 'content-type': type }, body });
    expect((await post('application/json', '{')).status).toBe(400);
    expect((await post('application/json', `"${'x'.repeat(4_200_000)}"`)).status).toBe(413);
    expect((await post('text/plain', '{"all":true}')).status).toBe(415);
    expect(asked).toEqual([]);
    const { paths } = JSON.parse((await ask(server, '/api/v1/openapi.json')).text);
    expect(paths['/api/v1/deliveries/retry'].post.responses).toMatchObject({
      default: { content: { 'application/json': { schema: { required: ['error'] } } } },
    });
  });
});

describe('a list as CSV', () => {
  const csv = { headers: { accept: 'text/csv, */*;q=0.1' } };

  test.each([
    ['/leads?source=main', 'source,lead_id,service_slug,'],
    ['/deliveries?state=dead', 'delivery_id,source,lead_id,'],
    ['/polls', 'poll_id,source,started_at,'],
    ['/log', 'at,level,event,message,'],
    ['/rejected-leads', 'rejected_id,source,lead_id,'],
    ['/audit', 'id,at,who,via,'],
  ])('%s returns CSV to a client that accepts it, with the columns of the pages', async (path, head) => {
    const { server, get, asked } = await start();
    const { status, headers, text } = await ask(server, `/api/v1${path}`, csv);
    expect(status).toBe(200);
    expect(headers).toMatchObject({ 'content-type': 'text/csv; charset=utf-8', vary: 'accept' });
    expect(headers['content-disposition']).toMatch(/^attachment; filename="[a-z]+\.csv"$/);
    expect(text.startsWith(head)).toBe(true);
    expect((await get(path)).body).toMatchObject({ rows: expect.any(Array) });
    expect(asked).toHaveLength(2);
    for (const paging of ['limit=5', 'after=1.1']) {
      const paged = await ask(server, `/api/v1${path}${path.includes('?') ? '&' : '?'}${paging}`, csv);
      expect(paged.status).toBe(400);
    }
    expect(asked).toHaveLength(2);
  });

  test('has all rows in the requested order, in parts, and no text that a spreadsheet would evaluate', async () => {
    const operations = aWellLeadsync();
    const [row] = (await operations.leads({}, { limit: 1 })).rows;
    const pages: unknown[] = [];
    const leads: typeof operations.leads = async (filter, page) => {
      pages.push({ ...filter, ...page });
      const one = { ...(row as NonNullable<typeof row>), service_slug: page.after ? '+44 20' : '=1+1' };
      return { rows: [one], next: page.after ? null : '7.1' };
    };
    const { server } = await start({ operations: { ...operations, leads } });
    const { text } = await ask(server, '/api/v1/leads?order=oldest&lead=42', csv);
    const services = text
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(',')[2]);
    expect(services).toEqual(['service_slug', "'=1+1", '+44 20']);
    expect(pages).toEqual([
      { lead: '42', order: 'oldest', limit: 1_000 },
      { lead: '42', order: 'oldest', limit: 1_000, after: '7.1' },
    ]);
  });

  test('that cannot be read returns an error in JSON', async () => {
    const operations = aWellLeadsync();
    const deliveries = () =>
      Promise.reject(new RequestError(404, 'unknown-sink', 'There is no sink "x".', ''));
    const { server } = await start({ operations: { ...operations, deliveries } });
    const { status, body } = jsonOf(await ask(server, '/api/v1/deliveries?sink=x', csv));
    expect([status, body.error.code]).toEqual([404, 'unknown-sink']);
  });
});

test('a missing path, lead or sink gets a 404 that says where to look', async () => {
  const { get, post } = await start();
  for (const answer of [
    await get('/leads/main/7'),
    await post('/sinks/nobody/pause'),
    await post('/sinks/nobody/resume'),
    await get('/nothing'),
  ])
    expect(answer).toMatchObject({ status: 404, body: { error: { message: expect.any(String) } } });
  expect((await get('/leads/main/7')).body.error.hint).toContain('/api/v1/leads?lead=');
});

test('an answer has the message of a refused operation; the message of an unexpected error goes only to the log', async () => {
  const faults: unknown[] = [];
  const operations = {
    ...aWellLeadsync(),
    sinks: () => Promise.reject(new RequestError(503, 'too-slow', 'It takes too long.', 'Ask for less.')),
    polls: () => Promise.reject(new Error('ada@example.com')),
  };
  const { get } = await start({ operations, onFault: (error) => faults.push(error) });
  expect(await get('/sinks')).toEqual({
    status: 503,
    body: { error: { code: 'too-slow', message: 'It takes too long.', hint: 'Ask for less.' } },
  });
  const answer = await get('/polls');
  expect(answer.status).toBe(500);
  expect(JSON.stringify(answer.body)).not.toContain('ada@example.com');
  expect(faults).toMatchObject([{ message: 'ada@example.com' }]);
});

test('an answer has only the properties of its schema', async () => {
  const well = aWellLeadsync();
  const sinks = async () => (await well.sinks()).map((sink) => ({ ...sink, secret: 'whsec_canary' }));
  const { get } = await start({ operations: { ...well, sinks } });
  expect(JSON.stringify((await get('/sinks')).body)).not.toContain('canary');
});

test('the overview also has its problems under their former names, which OpenAPI marks as deprecated', async () => {
  const problem = {
    code: 'sink_held',
    severity: 'critical' as const,
    about: 'crm',
    message: 'crm is held.',
    next_step: 'Fix it.',
    page_step: 'Fix it.',
    runbook: 'docs/operating.md#sink-held',
    runbook_url: null,
  };
  const healthy = aWellLeadsync();
  const overview = async () => ({ ...(await healthy.overview()), healthy: false, problems: [problem] });
  const { get } = await start({ operations: { ...healthy, overview } });
  expect((await get('/overview')).body).toMatchObject({
    healthy: false,
    problems: [problem],
    well: false,
    troubles: [{ severity: 'critical', about: 'crm', what: 'crm is held.', next: 'Fix it.' }],
  });
  const { paths } = (await get('/openapi.json')).body;
  const { properties } = paths['/api/v1/overview'].get.responses['200'].content['application/json'].schema;
  expect(properties).toMatchObject({ well: { deprecated: true }, troubles: { deprecated: true } });
  expect(properties.healthy.deprecated).toBeUndefined();
});

test('an expression of any 4,000 characters reaches the operation, and a longer body does not', async () => {
  const { post, asked } = await start();
  const expression = '\u0001'.repeat(4_000);
  expect((await post('/expressions/try', { expression, source: 'main', lead: '42' })).status).toBe(200);
  expect(asked).toEqual([
    ['tryExpression', { expression, sink: undefined, lead: { source: 'main', lead: '42' } }],
  ]);
  expect((await post('/expressions/try', { expression: 'x'.repeat(70_000) })).status).toBe(413);
  expect((await post('/sinks/crm/pause', { reason: 'x'.repeat(9_000) })).status).toBe(413);
  for (const wrong of [
    {},
    { expression: '' },
    { expression: '1', lead: '42' },
    { expression: '1', source: 'main' },
  ])
    expect((await post('/expressions/try', wrong)).status).toBe(400);
  expect((await post('/leads/main/43/preview')).status).toBe(404);
  expect(asked).toHaveLength(2);
});

test('the overview is computed at most once a second, however many requests arrive', async () => {
  let nowMs = 0;
  const { get, asked } = await start({ monotonicMs: () => nowMs });
  await Promise.all(Array.from({ length: 20 }, () => get('/overview')));
  expect(asked).toHaveLength(1);
  nowMs = 1_001;
  await get('/overview');
  expect(asked).toHaveLength(2);
});

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
  }[];
  readonly responses: Readonly<
    Record<string, { description?: string; content?: Record<string, { schema?: unknown }> }>
  >;
}

describe('/api/v1/openapi.json', () => {
  async function operations() {
    const { server, get } = await start();
    const { body } = await get('/openapi.json');
    const all = Object.entries(body.paths as Record<string, Record<string, Operation>>).flatMap(
      ([path, item]) => Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
    );
    return { server, body, all };
  }

  test('is an OpenAPI document without a broken reference', async () => {
    const { body } = await operations();
    expect(body).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'leadsync', version: '1.2.3' },
      security: [{ token: [] }],
    });
    const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    for (const reference of references)
      expect(
        reference.split('/').reduce((at, key) => at?.[key], body),
        reference,
      ).toBeDefined();
  });

  test('describes every operation: its name, its purpose, its parameters and each answer', async () => {
    const { all, body } = await operations();
    const names = all.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    const tags = body.tags.map(({ name }: { name: string }) => name);
    for (const { path, operation } of all) {
      expect(operation.operationId, path).toMatch(/^[a-z]+[a-zA-Z]*$/);
      expect(operation.summary, path).toMatch(/\S/);
      expect(tags).toContain(operation.tags?.[0]);
      const inPath = (operation.parameters ?? []).filter((one) => one.in === 'path');
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(inPath.every(({ required }) => required)).toBe(true);
      for (const status of ['200', '400', '401', '503']) {
        const schema = operation.responses[status]?.content?.['application/json']?.schema;
        expect(schema, `${path} ${status}`).toMatchObject({ type: 'object' });
      }
    }
  });

  test('describes exactly the operations that exist', async () => {
    const { all, server } = await operations();
    expect(all.map(({ path, method }) => `${method} ${path.replace('/api/v1', '')}`).sort()).toEqual([
      'get /alerts',
      'get /audit',
      'get /configuration',
      'get /configuration/changes',
      'get /deliveries',
      'get /deliveries/count',
      'get /deliveries/reasons',
      'get /expressions',
      'get /leads',
      'get /leads/count',
      'get /leads/{source}/{lead}',
      'get /log',
      'get /overview',
      'get /polls',
      'get /rejected-leads',
      'get /sinks',
      'get /sinks/{sink}',
      'post /backups/{backup}/run',
      'post /deliveries/discard',
      'post /deliveries/retry',
      'post /exports/{export}/run',
      'post /expressions/try',
      'post /leads/find',
      'post /leads/{source}/{lead}/preview',
      'post /leads/{source}/{lead}/replay',
      'post /leads/{source}/{lead}/reveal',
      'post /leads/{source}/{lead}/versions/{version}/reveal',
      'post /rejected-leads/{id}/reveal',
      'post /reload',
      'post /sinks/{sink}/cancel-replay',
      'post /sinks/{sink}/pause',
      'post /sinks/{sink}/replay',
      'post /sinks/{sink}/resume',
      'post /sinks/{sink}/test',
      'post /sources/{source}/poll',
    ]);
    for (const { path, method } of all) {
      const there = path
        .replace('{source}', 'main')
        .replace('{lead}', '42')
        .replace('{version}', '1')
        .replace('{id}', '1')
        .replace('{sink}', 'crm')
        .replace('{export}', 'nightly')
        .replace('{backup}', 'nightly');
      const { status } = await ask(server, there, { method: method.toUpperCase() });
      expect([200, 400], path).toContain(status);
    }
  });
});
