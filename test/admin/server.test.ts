import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { AdminAddressError } from '../../src/admin/address-error.ts';
import { type AdminServer, startAdmin } from '../../src/admin/server.ts';
import { type AdminOptions, type Answer, adminToken, ask, openOptions } from './asking.ts';

let open: AdminServer[] = [];
afterEach(async () => {
  await Promise.all(open.map((server) => server.close()));
  open = [];
});

async function start(options: Partial<AdminOptions> = {}): Promise<AdminServer> {
  const server = await startAdmin({ ...openOptions, ...options });
  open.push(server);
  return server;
}

/** What comes back for bytes that no HTTP client would send. */
function askRaw(server: AdminServer, bytes: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write(bytes));
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('close', () => resolve(text)).on('error', reject);
  return promise;
}

test('/livez answers even while the daemon is not ready and its metrics fail', async () => {
  const broken = () => Promise.reject(new Error('no'));
  const server = await start({ ready: broken, registry: { contentType: 'text/plain', metrics: broken } });
  expect(await ask(server, '/livez')).toMatchObject({ status: 200, text: 'ok\n' });
});

test('/readyz is 200 when leadsync can do its work', async () => {
  const server = await start();
  const answer = await ask(server, '/readyz');
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toEqual({ ready: true, reasons: [] });
});

test('/readyz is 503 with the reasons when it cannot', async () => {
  const reasons = ['The queue cannot be reached.'];
  const server = await start({ ready: () => reasons });
  const answer = await ask(server, '/readyz');
  expect(answer.status).toBe(503);
  expect(JSON.parse(answer.text)).toEqual({ ready: false, reasons });
});

test('/readyz is 503 if the check fails, and only the log has the error’s text', async () => {
  const faults: unknown[] = [];
  const server = await start({
    ready: () => Promise.reject(new Error('ada@example.com')),
    onFault: (error) => faults.push(error),
  });
  const answer = await ask(server, '/readyz');
  expect(answer.status).toBe(503);
  expect(answer.text).not.toContain('ada@example.com');
  expect(faults).toMatchObject([{ message: 'ada@example.com' }]);
});

test('/readyz gives up on a check that does not end', async () => {
  const server = await start({ ready: () => new Promise(() => {}) });
  expect((await ask(server, '/readyz')).status).toBe(503);
});

test('/metrics answers in the content type of its format', async () => {
  const server = await start();
  const answer = await ask(server, '/metrics');
  expect(answer).toMatchObject({ status: 200, text: 'leadsync_up 1\n' });
  expect(answer.headers['content-type']).toContain('version=0.0.4');
});

test('/metrics that fail answer without the error’s text', async () => {
  const metrics = () => Promise.reject(new Error('ada@example.com'));
  const server = await start({ registry: { contentType: 'text/plain', metrics } });
  const answer = await ask(server, '/metrics');
  expect(answer.status).toBe(500);
  expect(answer.text).toBe('leadsync failed with an internal error. See the log, and please report it.\n');
});

test('the metrics are computed at most once in 250 ms, however many requests arrive', async () => {
  let nowMs = 0;
  let computed = 0;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const metrics = async () => {
    computed += 1;
    await released;
    return `n ${computed}\n`;
  };
  const server = await start({ registry: { contentType: 'text/plain', metrics }, monotonicMs: () => nowMs });
  const many = Array.from({ length: 50 }, () => ask(server, '/metrics'));
  release();
  for (const answer of await Promise.all(many)) expect(answer.text).toBe('n 1\n');
  nowMs = 249;
  expect((await ask(server, '/metrics')).text).toBe('n 1\n');
  nowMs = 251;
  expect((await ask(server, '/metrics')).text).toBe('n 2\n');
});

test.each(['/livez', '/readyz', '/metrics'])('HEAD %s has the headers of GET and no body', async (path) => {
  const server = await start();
  const answer = await ask(server, path, { method: 'HEAD' });
  expect(answer).toMatchObject({ status: 200, text: '' });
  expect(answer.headers['content-type']).toBe((await ask(server, path)).headers['content-type']);
});

test.each(['/', '/metrics/', '/livez/x', '/%', '/..%2f..%2fetc/passwd'])(
  '%s does not exist',
  async (path) => {
    const server = await start();
    const answer = await ask(server, path);
    expect([400, 404]).toContain(answer.status);
    expect(answer.headers['content-type']).toContain('text/plain');
  },
);

test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'])('%s is not allowed', async (method) => {
  const server = await start();
  const answer = await ask(server, '/metrics', { method });
  expect(answer.status).toBe(405);
  expect(answer.headers.allow).toBe('GET, HEAD');
});

test('a request with a body is rejected by its method, whatever length it announces', async () => {
  const server = await start();
  const answer = await askRaw(
    server,
    'POST /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 99999999999\r\n\r\n{',
  );
  expect(answer).toMatch(/^HTTP\/1\.1 405 /);
});

test.each([
  'localhost',
  'localhost:9464',
  '127.0.0.1:9464',
  '10.1.2.3',
  '[::1]:9464',
  'LOCALHOST.',
  'leadsync.localhost',
])('a request for the host %s is answered', async (host) => {
  const server = await start();
  expect((await ask(server, '/livez', { headers: { host } })).status).toBe(200);
});

test.each(['leadsync:9464', 'leadsync.prod.svc.cluster.local', 'printer.local'])(
  'a name that any machine on the network can claim is allowed only if the server requires a credential: %s',
  async (host) => {
    const asked = async (more: Partial<AdminOptions>) =>
      (await ask(await start(more), '/livez', { headers: { host } })).status;
    expect(await asked({ tokens: () => adminToken('a'.repeat(32)) })).toBe(200);
    expect(await asked({ loopback: false })).toBe(200);
    expect(await asked({})).toBe(421);
  },
);

test('an invalid path gets the same headers as every other answer', async () => {
  const server = await start();
  const [broken, whole] = [await ask(server, '/%zz'), await ask(server, '/nothing')];
  expect([broken.status, whole.status]).toEqual([400, 404]);
  const security = ({ headers }: Answer) =>
    Object.fromEntries(
      Object.entries(headers).filter(
        ([name]) => !['date', 'content-length', 'x-leadsync-instance'].includes(name),
      ),
    );
  expect(security(broken)).toEqual(security(whole));
});

test.each([
  'evil.example.com',
  'evil.example.com:9464',
  '127.0.0.1.evil.example',
  'localhost.evil.example',
  ':80',
])('a page whose own name points to this server gets no answer: %s', async (host) => {
  const server = await start();
  expect((await ask(server, '/metrics', { headers: { host } })).status).toBe(421);
});

test('a request that names two hosts is rejected, whichever comes first', async () => {
  const server = await start();
  for (const hosts of ['Host: localhost\r\nHost: evil.example', 'Host: evil.example\r\nHost: localhost'])
    expect(await askRaw(server, `GET /livez HTTP/1.1\r\n${hosts}\r\nConnection: close\r\n\r\n`)).toContain(
      '421',
    );
});

test('a name from the configuration is allowed, and pages behind a proxy with TLS work under it', async () => {
  const server = await start({ hosts: () => ['Leads.Example.com'] });
  for (const host of ['leads.example.com', 'leads.example.com:443']) {
    const headers = { host, origin: `https://${host}` };
    expect((await ask(server, '/-/reload', { method: 'POST', headers })).status).toBe(200);
  }
  const other = await ask(server, '/livez', { headers: { host: 'www.leads.example.com' } });
  expect(other).toMatchObject({ status: 421, text: expect.stringContaining('admin.hosts') });
});

test('answers do not name the server, and must not be cached', async () => {
  const server = await start();
  const { headers } = await ask(server, '/livez');
  expect(headers).not.toHaveProperty('server');
  expect(headers).not.toHaveProperty('x-powered-by');
  expect(headers['cache-control']).toBe('no-store');
});

test('headers over 8 kB are rejected', async () => {
  const server = await start();
  const answer = await askRaw(
    server,
    `GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(9_000)}\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 431 /);
});

test('a request that is not HTTP gets 400', async () => {
  const server = await start();
  expect(await askRaw(server, 'hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
});

test('many open connections without a request do not keep other clients out', async () => {
  const server = await start();
  const sockets = Array.from({ length: 400 }, () =>
    connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => undefined),
  );
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ');
  for (let n = 0; n < 5; n += 1) expect((await ask(server, '/livez')).status).toBe(200);
});

test('closing immediately ends idle connections and those with a request in progress', async () => {
  const asked = Promise.withResolvers<void>();
  const metrics = () => {
    asked.resolve();
    return new Promise<string>(() => {});
  };
  const server = await start({ registry: { contentType: 'text/plain', metrics } });
  const idle = askRaw(server, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const waiting = ask(server, '/metrics').catch((error: NodeJS.ErrnoException) => error.code);
  await asked.promise;
  await server.close();
  expect(await idle).toContain('200 OK');
  expect(await waiting).toBe('ECONNRESET');
  await expect(ask(server, '/livez')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('the error for a port in use names the address and the next step', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const error = await start({ port }).catch((thrown: unknown) => thrown);
  taken.close();
  expect(error).toBeInstanceOf(AdminAddressError);
  expect(error).toMatchObject({
    code: 'EADDRINUSE',
    message: `Cannot listen on 127.0.0.1:${port}: another process uses that port.`,
    hint: expect.stringContaining('admin.listen'),
  });
});

test('the error for an address of another machine says so', async () => {
  await expect(start({ host: '192.0.2.1' })).rejects.toMatchObject({
    name: 'AdminAddressError',
    code: 'EADDRNOTAVAIL',
  });
});
