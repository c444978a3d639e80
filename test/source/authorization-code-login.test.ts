import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Login } from '../../src/source/auth/authorization-code-login.ts';
import { REFUSED_WAIT_MS } from '../../src/source/auth/login-refusal.ts';
import type { Stub, StubOptions } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { aSource, aStub, failureOf, read, type SourceSetting } from './a-source.ts';

describe('a login', () => {
  test('the login receives the code from the browser on this machine, and stores the tokens for the daemon', async () => {
    const { stub, source, dataDir, login } = await aLogin();
    expect(login.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    const page = await fetch(login.address); // follows the redirect, as a browser does
    expect(page.status).toBe(200);
    await login.finish((await login.redirected) ?? expect.fail());
    const path = join(dataDir, 'tokens', 'main.json');
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ origin: 'authorization_code' });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect((await read(source)).ids).toHaveLength(2);
    expect((await read(aSource(stub, { dataDir }).source)).ids).toHaveLength(2);
    expect(stub.tokenRequests).toBe(1);
  });

  test('the browser gets everything needed, and no secret', async () => {
    const { stub, login } = await aLogin({ options: { scope: 'leads' } });
    const address = new URL(login.address);
    expect(address.origin + address.pathname).toBe(`${stub.url}/oauth/authorize`);
    expect(Object.fromEntries(address.searchParams)).toEqual({
      response_type: 'code',
      client_id: stub.clientId,
      redirect_uri: login.redirectUri,
      scope: 'leads',
      state: expect.stringMatching(/^.{20,}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
  });

  test('if redirect_uri is on another machine, the login accepts a pasted address and sends redirect_uri exactly as registered', async () => {
    const { source, login } = await aLogin({ options: { redirect_uri: 'https://app.example.com' } });
    expect(login.redirected).toBeUndefined();
    await login.finish(`  ${await whereTheBrowserEnds(login)}\n`);
    expect((await read(source)).ids).toHaveLength(2);
  });

  test('the login listens at a redirect_uri on this machine', async () => {
    const port = await aFreePort();
    const redirect_uri = `http://127.0.0.1:${port}/back/here`;
    const { login } = await aLogin({ options: { redirect_uri } });
    expect(login.redirectUri).toBe(redirect_uri);
    await fetch(login.address);
    await login.finish((await login.redirected) ?? expect.fail());
  });

  test('if the port is taken, the login continues with a pasted address', async () => {
    const stub = await aStub();
    const redirect_uri = `${stub.url}/callback`;
    const { source } = aSource(stub, { options: { redirect_uri } });
    const login = await source.startLogin();
    expect(login.redirected).toBeUndefined();
    expect(login.listenFailure).toBe(
      `leadsync cannot listen for the browser at ${new URL(stub.url).host} (EADDRINUSE).`,
    );
    await login.finish(await whereTheBrowserEnds(login));
    expect((await read(source)).ids).toEqual([]);
  });

  test('the login refuses the answer to another login', async () => {
    const first = await aLogin();
    const second = await first.source.startLogin();
    onTestFinished(() => second.close());
    await expect(second.finish(await whereTheBrowserEnds(first.login))).rejects.toMatchObject({
      code: 'credentials',
      message: 'That address belongs to a different login.',
    });
    expect(first.stub.tokenRequests).toBe(0);
    const stranger = new URL(first.login.redirectUri);
    stranger.search = '?code=theirs&state=theirs';
    expect((await fetch(stranger)).status).toBe(404);
    expect((await fetch(new URL('/favicon.ico', stranger))).status).toBe(404);
  });

  test.each(['', 'abc', 'https://app.example.com/', 'the code is 42'])(
    'the login refuses %j as an address',
    async (text) => {
      const { login } = await aLogin();
      await expect(login.finish(text)).rejects.toMatchObject({ name: 'SourceError', code: 'credentials' });
    },
  );

  test('the login works once with one code', async () => {
    const { login } = await aLogin({ options: { redirect_uri: 'https://app.example.com/back' } });
    const address = await whereTheBrowserEnds(login);
    await login.finish(address);
    await expect(login.finish(address)).rejects.toMatchObject({
      code: 'credentials',
      message:
        'The service does not accept this code: it was already used, has expired, or belongs to a different login.',
    });
  });

  test('the login keeps waiting after a request without an answer, or with a method other than GET', async () => {
    const { login } = await aLogin();
    const answer = new URL(await whereTheBrowserEnds(login));
    for (const method of ['HEAD', 'OPTIONS', 'POST'])
      expect((await fetch(answer, { method })).status).toBe(405);
    for (const without of [{ code: '' }, { code: undefined }, { state: undefined }, { state: 'x' }])
      expect((await fetch(changed(answer, without))).status).toBe(404);
    expect((await fetch(answer)).status).toBe(200);
    expect((await fetch(answer)).status).toBe(200); // a browser that reloads the page
    await login.finish((await login.redirected) ?? expect.fail());
  });

  test.each([{ iss: 'https://id.example.com/' }, { session_state: '1', response: 'x', id_token: 'y' }])(
    'the login works with a service that adds %j to its answer',
    async (more) => {
      const { source, login } = await aLogin();
      await login.finish(changed(new URL(await whereTheBrowserEnds(login)), more).href);
      expect((await read(source)).ids).toHaveLength(2);
    },
  );

  test.each([
    ['access_denied', 'access was not granted (access_denied)'],
    ['constructor', 'it issues no code (constructor)'],
    ['\u001b[31m\r\n<script>', 'it issues no code (no reason given)'],
    ['x'.repeat(5000), 'it issues no code (no reason given)'],
  ])(
    'a login refused with the error %j is reported without unsafe text of the service',
    async (error, said) => {
      const { stub, login } = await aLogin();
      const more = { error, error_description: '\u001b[31m\r\n<script>', error_uri: 'https://evil.example' };
      const answer = changed(new URL(await whereTheBrowserEnds(login)), more); // the answer contains a code as well
      await expect(login.finish(answer.href)).rejects.toMatchObject({
        code: 'credentials',
        message: `The service says that ${said}.`,
      });
      expect(stub.tokenRequests).toBe(0);
    },
  );

  test('a refusal by the user is reported as such', async () => {
    const { login } = await aLogin();
    const refused = new URL(login.redirectUri);
    refused.searchParams.set('error', 'access_denied');
    refused.searchParams.set('state', new URL(login.address).searchParams.get('state') ?? '');
    await fetch(refused);
    await expect(login.finish((await login.redirected) ?? expect.fail())).rejects.toMatchObject({
      code: 'credentials',
      message: 'The service says that access was not granted (access_denied).',
      hint: 'Run `leadsync login main` again, and grant access.',
    });
  });

  test('a running daemon uses the login from its next poll on', async () => {
    const dataDir = tempDir();
    const { stub, source, login } = await aLogin({ dataDir });
    const daemon = aSource(stub, { dataDir });
    await read(daemon.source);
    const before = stub.requests.at(-1)?.headers.authorization;
    await fetch(login.address);
    await login.finish((await login.redirected) ?? expect.fail());
    await read(daemon.source);
    expect(stub.requests.at(-1)?.headers.authorization).not.toBe(before);
    expect(source.tokenExpiresAt()).toEqual(daemon.source.tokenExpiresAt());
  });

  test('a running daemon uses the login even if the clock was set back since the daemon got its token', async () => {
    const dataDir = tempDir();
    const clock = new HeldClock();
    const { stub, login } = await aLogin({ dataDir, clock });
    const daemon = aSource(stub, { dataDir, clock });
    await read(daemon.source);
    clock.setBack(24 * 3_600_000);
    await fetch(login.address);
    await login.finish((await login.redirected) ?? expect.fail());
    expect((await read(daemon.source)).ids).toHaveLength(2);
  });

  test('a login for other scopes does not replace an earlier one', async () => {
    const { stub, source, login, dataDir } = await aLogin();
    await fetch(login.address);
    await login.finish((await login.redirected) ?? expect.fail());
    await read(source);
    const mine = stub.requests.at(-1)?.headers.authorization;
    const other = aSource(stub, { dataDir, options: { scope: 'leads' } });
    const second = await other.source.startLogin();
    onTestFinished(() => second.close());
    await fetch(second.address);
    await second.finish((await second.redirected) ?? expect.fail());
    await read(aSource(stub, { dataDir }).source);
    expect(stub.requests.at(-1)?.headers.authorization).toBe(mine);
  });

  test('a closed login stops listening', async () => {
    const { login } = await aLogin();
    await login.close();
    await expect(fetch(login.redirectUri)).rejects.toThrow();
    await login.close();
  });
});

describe('a source with a login', () => {
  const ENDED: readonly (readonly [string, string, (login: Done) => void | Promise<void>])[] = [
    [
      'was revoked',
      'the service has refused its refresh token twice (invalid_grant)',
      ({ stub, tokens }) => {
        stub.revoke('all');
        rewrite(tokens, { refused_at: PAST.received_at });
      },
    ],
    [
      'returned no refresh token',
      'there is no refresh token to renew it',
      ({ stub, tokens }) => {
        rewrite(tokens, { refresh_token: undefined });
        stub.revoke('all');
      },
    ],
    [
      'was deleted from the disk',
      'No one has logged in to source main.',
      ({ tokens }) => rmSync(join(tokens, 'main.json')),
    ],
    [
      'was damaged on the disk',
      'is not JSON',
      ({ tokens }) => writeFileSync(join(tokens, 'main.json'), '{"vers'),
    ],
    [
      'was replaced by a token of the client itself when a login was interrupted',
      'No one has logged in to source main.',
      ({ tokens }) => rewrite(tokens, { origin: 'client_credentials' }),
    ],
  ];

  test.each(ENDED)(
    'if the login %s, no other credentials are used, across restarts, until an operator logs in again',
    async (_, why, end) => {
      const login = await aDoneLogin();
      const { stub, dataDir } = login;
      await login.source.close();
      await end(login);
      for (let run = 0; run < 2; run++) {
        const { source, events } = aSource(stub, { dataDir });
        for (let poll = 0; poll < 2; poll++) {
          const { error } = await failureOf(source);
          expect(error).toMatchObject({
            code: 'login-needed',
            hint: expect.stringContaining('`leadsync login main`'),
          });
          if (run + poll === 0) expect(error.message).toContain(why);
        }
        expect(events).toEqual([]);
      }
      expect(stub.grants).not.toContain('client_credentials');
      // After the second `invalid_grant`, polls no longer ask the service.
      expect(stub.grants.filter((grant) => grant === 'refresh_token').length).toBeLessThanOrEqual(1);
      await logInAgain(stub, dataDir);
      expect((await read(aSource(stub, { dataDir }).source)).ids).toHaveLength(2);
    },
  );

  test('no other credentials are used after an earlier version has stored the login', async () => {
    const { stub, source, dataDir, tokens } = await aDoneLogin();
    await source.close();
    rmSync(join(tokens, 'main.login'));
    stub.revoke('all');
    for (const code of ['login-refused', 'login-needed', 'login-needed']) {
      expect((await failureOf(aSource(stub, { dataDir }).source)).error.code).toBe(code);
      rewrite(tokens, { refused_at: PAST.received_at });
    }
    expect(stub.grants).not.toContain('client_credentials');
  });

  test.each(['refresh-unauthorized', 'refresh-unsupported'] as const)(
    'the login stays while the service does not permit refreshing it (%s), and continues once it does',
    async (token) => {
      const { stub, source, dataDir, tokens } = await aDoneLogin();
      await source.close();
      rewrite(tokens, PAST);
      stub.misbehave({ token });
      const before = readFileSync(join(tokens, 'main.json'), 'utf8');
      for (let run = 0; run < 2; run++) {
        const { error } = await failureOf(aSource(stub, { dataDir }).source);
        expect(error).toMatchObject({
          code: 'login-needed',
          hint: expect.stringContaining('`leadsync login main`'),
        });
        expect(readFileSync(join(tokens, 'main.json'), 'utf8')).toBe(before);
      }
      stub.behave();
      const next = aSource(stub, { dataDir });
      expect((await read(next.source)).ids).toHaveLength(2);
      expect(next.events).toMatchObject([{ type: 'token-renewed', grant: 'refresh_token' }]);
      expect(stub.grants).not.toContain('client_credentials');
    },
  );

  test.each([
    { options: { scope: 'leads' } },
    { tokenKey: 'another passphrase' },
    { tokenKey: undefined },
    { options: { scope: 'leads' }, tokenKey: 'another passphrase' },
  ])('the source waits until the configuration fits the login again: %j', async (mistake) => {
    const setting = { tokenKey: 'the right passphrase' };
    const { stub, dataDir, tokens } = await aDoneLogin(setting);
    const before = readFileSync(join(tokens, 'main.json'), 'utf8');
    const asked = stub.requests.length;
    for (let round = 0; round < 2; round++) {
      const wrong = aSource(stub, { dataDir, ...setting, ...mistake });
      const { error } = await failureOf(wrong.source);
      expect(error.message).toMatch(/belongs to another|cannot be decrypted/);
      expect(error).toMatchObject({
        code: 'login-needed',
        hint: expect.stringContaining('`leadsync login main`'),
      });
    }
    expect(stub.requests.length).toBe(asked);
    expect(readFileSync(join(tokens, 'main.json'), 'utf8')).toBe(before);
    const right = aSource(stub, { dataDir, ...setting });
    expect((await read(right.source)).ids).toHaveLength(2);
    expect(right.events).toEqual([]);
  });

  test('a source that closes during a renewal stores the answer that comes within the grace period', async () => {
    const { stub, source, dataDir, tokens } = await aDoneLogin({}, { refreshRotation: 'at-once' });
    await source.close();
    rewrite(tokens, PAST);
    const answered = Promise.withResolvers<void>();
    stub.misbehave({ token: 'answer-slow', until: answered.promise, times: 1 });
    const clock = new HeldClock();
    const renewing = aSource(stub, { dataDir, clock }).source;
    const reading = failureOf(renewing);
    await until('it renews', () => stub.grants.at(-1) === 'refresh_token');
    const closed = renewing.close(25_000);
    await clock.pass(24_999);
    answered.resolve();
    await Promise.all([closed, reading]);
    const next = aSource(stub, { dataDir, clock });
    expect((await read(next.source)).ids).toHaveLength(2);
    expect(next.events).toEqual([]);
  });
});

describe('a login whose refresh token the service refuses once (invalid_grant)', () => {
  test('the login stays, and continues if the service accepts the token three minutes later', async () => {
    const { stub, clock, setting, run, refreshes } = await aRefusedLogin();
    const { error } = await failureOf(run().source);
    expect(error).toMatchObject({
      code: 'login-refused',
      message: expect.stringContaining('(invalid_grant)'),
      hint: expect.stringContaining('`leadsync login main`'),
      retryAfterMs: REFUSED_WAIT_MS,
    });
    stub.behave();
    clock.jump(REFUSED_WAIT_MS);
    const next = aSource(stub, setting);
    expect((await read(next.source)).ids).toHaveLength(2);
    expect(next.events).toMatchObject([{ type: 'token-renewed', grant: 'refresh_token' }]);
    expect(refreshes()).toBe(2);
    expect(stub.grants).not.toContain('client_credentials');
  });

  test('the service is not asked earlier, across polls and restarts, and the second refusal ends the login', async () => {
    const { stub, clock, run, refreshes } = await aRefusedLogin();
    const { source } = run();
    expect((await failureOf(source)).error.code).toBe('login-refused');
    clock.jump(REFUSED_WAIT_MS - 1);
    for (const waiting of [source, run().source])
      expect((await failureOf(waiting)).error).toMatchObject({ code: 'login-refused', retryAfterMs: 1 });
    expect(refreshes()).toBe(1);
    clock.jump(1);
    const { error } = await failureOf(run().source);
    expect(error.code).toBe('login-needed');
    expect(error.message).toContain('refused its refresh token twice (invalid_grant)');
    expect((await failureOf(run().source)).error.code).toBe('login-needed');
    expect(refreshes()).toBe(2);
    expect(stub.grants).not.toContain('client_credentials');
  });

  test('a failure that does not concern the token does not end the login', async () => {
    const { stub, clock, run } = await aRefusedLogin();
    await failureOf(run().source);
    for (const token of ['down', 'server-error', 'unauthorized', 'refresh-unauthorized'] as const) {
      clock.jump(REFUSED_WAIT_MS);
      stub.behave();
      stub.misbehave({ token, times: 1 });
      await failureOf(run().source);
    }
    expect((await read(run().source)).ids).toHaveLength(2);
  });

  test('a renewal in between resets the count of refusals', async () => {
    const { stub, clock, tokens, run } = await aRefusedLogin();
    await failureOf(run().source);
    clock.jump(REFUSED_WAIT_MS);
    stub.behave();
    await read(run().source);
    rewrite(tokens, PAST);
    stub.misbehave({ token: 'refresh-revoked' });
    expect((await failureOf(run().source)).error.code).toBe('login-refused');
  });

  test('a clock that is set back does not lengthen the wait', async () => {
    const { stub, clock, tokens, run, refreshes } = await aRefusedLogin();
    await failureOf(run().source);
    stub.behave();
    rewrite(tokens, { refused_at: clock.in(24 * 3_600_000).toISOString() });
    expect((await read(run().source)).ids).toHaveLength(2);
    expect(refreshes()).toBe(2);
  });

  test('a clock that is set back by less than the wait does not lengthen it', async () => {
    const { stub, clock, tokens, run, refreshes } = await aRefusedLogin();
    await failureOf(run().source);
    stub.behave();
    rewrite(tokens, { refused_at: clock.in(REFUSED_WAIT_MS - 1_000).toISOString() });
    expect((await failureOf(run().source)).error.retryAfterMs).toBe(REFUSED_WAIT_MS);
    expect(refreshes()).toBe(1);
  });

  test('a trial asks immediately, and its refusal does not count', async () => {
    const { stub, clock, tokens, setting, run, refreshes } = await aRefusedLogin();
    await failureOf(run().source);
    const before = readFileSync(join(tokens, 'main.json'), 'utf8');
    for (let round = 0; round < 2; round++) {
      const { error } = await failureOf(aSource(stub, { ...setting, trial: true }).source);
      expect(error.code).toBe(round === 0 ? 'login-refused' : 'login-needed');
      clock.jump(REFUSED_WAIT_MS);
    }
    expect(refreshes()).toBe(3);
    expect(readFileSync(join(tokens, 'main.json'), 'utf8')).toBe(before);
    stub.behave();
    expect((await read(run().source)).ids).toHaveLength(2);
  });

  test('another login replaces it immediately', async () => {
    const { stub, dataDir, run } = await aRefusedLogin();
    await failureOf(run().source);
    stub.behave();
    await logInAgain(stub, dataDir);
    expect((await read(run().source)).ids).toHaveLength(2);
  });
});

describe('the choice of grant', () => {
  test("with the grant of a login, the client's own credentials are not used, from the first poll on", async () => {
    const stub = await aStub({ leads: 2, personal: true });
    const options = { grant: 'authorization_code' };
    const { source, dataDir } = aSource(stub, { options });
    const { error } = await failureOf(source);
    expect(error).toMatchObject({
      code: 'login-needed',
      message: 'No one has logged in to source main.',
      hint: expect.stringContaining('`leadsync login main`'),
    });
    expect(stub.requests).toEqual([]);
    await logInAgain(stub, dataDir, options);
    expect((await read(source)).ids).toHaveLength(2);
  });

  test('with the grant of a login, an earlier token of the client itself is not used', async () => {
    const stub = await aStub({ leads: 2 });
    const { source, dataDir } = aSource(stub);
    await read(source);
    const asked = stub.requests.length;
    const next = aSource(stub, { dataDir, options: { grant: 'authorization_code' } });
    expect((await failureOf(next.source)).error.message).toBe('No one has logged in to source main.');
    expect(stub.requests.length).toBe(asked);
  });

  test('with the grant of the client, a login is set aside; without that option, the login is used again', async () => {
    const { stub, dataDir, tokens } = await aDoneLogin();
    const mine = stub.requests.at(-1)?.headers.authorization;
    const options = { grant: 'client_credentials' };
    const { source, events } = aSource(stub, { dataDir, options });
    for (let poll = 0; poll < 2; poll++) expect((await read(source)).ids).toEqual([]);
    expect(events).toMatchObject([
      { type: 'token-fallback', reason: expect.stringContaining('by the grant authorization_code') },
      { type: 'token-renewed', grant: 'client_credentials' },
    ]);
    expect(readdirSync(tokens).filter((name) => name.endsWith('.unusable'))).toHaveLength(1);
    const person = aSource(stub, { dataDir });
    expect((await read(person.source)).ids).toHaveLength(2);
    expect(stub.requests.at(-1)?.headers.authorization).toBe(mine);
    expect(person.events).toEqual([]);
  });
});

type Done = Awaited<ReturnType<typeof aDoneLogin>>;

/** Creates a login that has been used once, at a service where the client itself lists no lead. */
async function aDoneLogin(setting: SourceSetting = {}, service: StubOptions = {}) {
  const opened = await aLogin(setting, service);
  await fetch(opened.login.address);
  await opened.login.finish((await opened.login.redirected) ?? expect.fail());
  expect((await read(opened.source)).ids).toHaveLength(2);
  return { ...opened, tokens: join(opened.dataDir, 'tokens') };
}

/** Creates a login whose access token has expired, at a service that refuses every refresh token. `run` starts leadsync again. */
async function aRefusedLogin() {
  const { stub, source, dataDir, tokens } = await aDoneLogin();
  await source.close();
  rewrite(tokens, PAST);
  stub.misbehave({ token: 'refresh-revoked' });
  const clock = new HeldClock();
  const setting = { dataDir, clock };
  const refreshes = () => stub.grants.filter((grant) => grant === 'refresh_token').length;
  return { stub, clock, dataDir, tokens, setting, refreshes, run: () => aSource(stub, setting) };
}

async function logInAgain(
  stub: Stub,
  dataDir: string,
  options: SourceSetting['options'] = {},
): Promise<void> {
  const login = await aSource(stub, { dataDir, options }).source.startLogin();
  await fetch(login.address);
  await login.finish((await login.redirected) ?? expect.fail());
  await login.close();
}

const PAST = { received_at: '2026-01-01T00:00:00.000Z', expires_at: '2026-01-01T02:00:00.000Z' };

/** Changes fields of the stored token, as an earlier run or a crash would have left them. */
function rewrite(tokens: string, change: Record<string, unknown>): void {
  const path = join(tokens, 'main.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...change }));
}

async function aLogin(setting: SourceSetting = {}, service: StubOptions = {}) {
  const stub = await aStub({ leads: 2, personal: true, ...service });
  const opened = aSource(stub, setting);
  const login = await opened.source.startLogin();
  onTestFinished(() => login.close());
  return { stub, ...opened, login };
}

/** Returns the address that a user would copy from the browser. */
async function whereTheBrowserEnds({ address }: Login): Promise<string> {
  const { headers } = await fetch(address, { redirect: 'manual' });
  return headers.get('location') ?? expect.fail();
}

function changed(address: URL, fields: Readonly<Record<string, string | undefined>>): URL {
  const copy = new URL(address);
  for (const [name, value] of Object.entries(fields))
    if (value === undefined) copy.searchParams.delete(name);
    else copy.searchParams.set(name, value);
  return copy;
}

async function aFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
