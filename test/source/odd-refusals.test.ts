import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';
import { aSource, failureOf, read } from './a-source.ts';

// The service's API description does not define its errors. These are forms that services use.

const JSON_TYPE = { 'content-type': 'application/json' };
const INVALID_GRANT = '{"error":"invalid_grant"}';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Forms of `invalid_grant` that differ from RFC 6749. */
const INVALID_GRANTS: readonly (readonly [string, Answer])[] = [
  ['as in the RFC', { status: 400, headers: JSON_TYPE, body: INVALID_GRANT }],
  ['beside a challenge that names no error', challenged('Basic realm="x"')],
  ['beside a truncated challenge', challenged('Bearer realm="x')],
  ['with status 200', { status: 200, headers: JSON_TYPE, body: INVALID_GRANT }],
  ['as plain text', { status: 400, headers: { 'content-type': 'text/plain' }, body: INVALID_GRANT }],
];

/** Refusals that do not name what they refuse. */
const UNNAMED: readonly (readonly [string, Answer])[] = [
  ['401 alone', { status: 401, headers: {}, body: '' }],
  ['401 and a message', { status: 401, headers: JSON_TYPE, body: '{"message":"Refresh token revoked"}' }],
  ['422 and a list', { status: 422, headers: JSON_TYPE, body: '{"errors":["invalid refresh token"]}' }],
  ['403 and a page', { status: 403, headers: { 'content-type': 'text/html' }, body: '<h1>No' }],
  ['invalid_request', { status: 400, headers: JSON_TYPE, body: '{"error":"invalid_request"}' }],
  ['access_denied', { status: 400, headers: JSON_TYPE, body: '{"error":"access_denied"}' }],
];

/** The answer that a wrong `token_path` also gets, for which the error says so. */
const NOT_FOUND: Answer = { status: 404, headers: JSON_TYPE, body: '{"error":"not_found"}' };

function challenged(challenge: string): Answer {
  return { status: 401, headers: { ...JSON_TYPE, 'www-authenticate': challenge }, body: INVALID_GRANT };
}

/** Starts a service that answers a refresh token with this refusal, and stores an expired token of it. */
async function aService(refusal: Answer, origin: string) {
  const dataDir = tempDir();
  const grants: (string | null)[] = [];
  const server = createServer(async (request, response) => {
    const grant = new URLSearchParams(await text(request)).get('grant_type');
    if (request.url !== '/oauth/token') response.writeHead(200, JSON_TYPE).end('[]');
    else {
      grants.push(grant);
      const { status, headers, body } = grant === 'refresh_token' ? refusal : A_TOKEN;
      response.writeHead(status, headers).end(body);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = join(dataDir, 'tokens', 'main.json');
  const token = { version: 1, base_url: url, client_id: 'client', access_token: 'old', refresh_token: 'r' };
  const times = { received_at: '2020-01-01T00:00:00Z', expires_at: '2020-01-01T02:00:00Z' };
  mkdirSync(join(dataDir, 'tokens'));
  writeFileSync(file, JSON.stringify({ ...token, ...times, origin }));
  const run = () => aSource({ url, clientId: 'client', clientSecret: 'secret' }, { dataDir });
  return { grants, file, run };
}

const A_TOKEN: Answer = {
  status: 200,
  headers: JSON_TYPE,
  body: '{"access_token":"fresh","token_type":"Bearer","expires_in":7200}',
};

test.each([...INVALID_GRANTS, ...UNNAMED, ['404', NOT_FOUND] as const])(
  'a refused refresh token of the client itself is replaced by its credentials: %s',
  async (_, refusal) => {
    const { grants, run } = await aService(refusal, 'client_credentials');
    const { source, events } = run();
    await read(source);
    expect(events).toMatchObject([
      { type: 'token-fallback', source: 'main' },
      { type: 'token-renewed', grant: 'client_credentials' },
    ]);
    await read(source);
    expect(grants).toEqual(['refresh_token', 'client_credentials']);
  },
);

test.each([
  ['invalid_client', { status: 401, headers: JSON_TYPE, body: '{"error":"invalid_client"}' }],
  ['429', { status: 429, headers: {}, body: '' }],
])(
  'if the service would refuse the client as well, its credentials are not tried: %s',
  async (_, refusal) => {
    const { grants, file, run } = await aService(refusal, 'client_credentials');
    const before = readFileSync(file, 'utf8');
    await failureOf(run().source);
    expect(grants).toEqual(['refresh_token']);
    expect(readFileSync(file, 'utf8')).toBe(before);
  },
);

test.each(INVALID_GRANTS)('a refused login is reported as refused: %s', async (_, refusal) => {
  const { grants, run } = await aService(refusal, 'authorization_code');
  expect((await failureOf(run().source)).error).toMatchObject({ code: 'login-refused' });
  expect(grants).toEqual(['refresh_token']);
});

test.each(UNNAMED)(
  'a login refused without a reason stays, and the error says how to log in again: %s',
  async (_, refusal) => {
    const { grants, file, run } = await aService(refusal, 'authorization_code');
    const before = readFileSync(file, 'utf8');
    const { error } = await failureOf(run().source);
    expect(error).toMatchObject({
      code: 'credentials',
      hint: expect.stringContaining('If the login was revoked, run `leadsync login main`.'),
    });
    expect(grants).toEqual(['refresh_token']);
    expect(readFileSync(file, 'utf8')).toBe(before);
  },
);

test.each([
  ['201', { ...A_TOKEN, status: 201 }],
  ['a page by its content type', { ...A_TOKEN, headers: { 'content-type': 'text/html' } }],
])('a token that arrives as %s is accepted', async (_, answer) => {
  const { run } = await aService(answer, 'client_credentials');
  const { source, events } = run();
  await read(source);
  expect(events).toMatchObject([{ type: 'token-renewed', grant: 'refresh_token' }]);
});
