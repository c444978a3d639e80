import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Login } from '../../src/source/login.ts';
import { tempDir } from '../support/temp-dir.ts';
import { aSource, aStub, read, type SourceSetting } from './a-source.ts';

describe('a login', () => {
  test('takes the code from the browser on this machine, and stores the tokens for the daemon', async () => {
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

  test('sends the browser with everything that is needed, and no secret', async () => {
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

  test('takes a pasted address where redirect_uri leads elsewhere, written just as it was registered', async () => {
    const { source, login } = await aLogin({ options: { redirect_uri: 'https://app.example.com' } });
    expect(login.redirected).toBeUndefined();
    await login.finish(`  ${await whereTheBrowserEnds(login)}\n`);
    expect((await read(source)).ids).toHaveLength(2);
  });

  test('listens at the redirect_uri when that is on this machine', async () => {
    const port = await aFreePort();
    const redirect_uri = `http://127.0.0.1:${port}/back/here`;
    const { login } = await aLogin({ options: { redirect_uri } });
    expect(login.redirectUri).toBe(redirect_uri);
    await fetch(login.address);
    await login.finish((await login.redirected) ?? expect.fail());
  });

  test('at a port that is taken is refused with the port', async () => {
    const stub = await aStub();
    const redirect_uri = `${stub.url}/callback`;
    const { source } = aSource(stub, { options: { redirect_uri } });
    await expect(source.startLogin()).rejects.toMatchObject({
      name: 'SourceError',
      message: `The redirect of the login cannot be waited for at ${new URL(stub.url).host} (EADDRINUSE).`,
    });
  });

  test('does not take an answer to another login', async () => {
    const first = await aLogin();
    const second = await first.source.startLogin();
    onTestFinished(() => second.close());
    await expect(second.finish(await whereTheBrowserEnds(first.login))).rejects.toMatchObject({
      code: 'credentials',
      message: 'That address answers another login than this one.',
    });
    expect(first.stub.tokenRequests).toBe(0);
    const stranger = new URL(first.login.redirectUri);
    stranger.search = '?code=theirs&state=theirs';
    expect((await fetch(stranger)).status).toBe(404);
    expect((await fetch(new URL('/favicon.ico', stranger))).status).toBe(404);
  });

  test.each(['', 'abc', 'https://app.example.com/', 'the code is 42'])(
    'does not take %j for an address',
    async (text) => {
      const { login } = await aLogin();
      await expect(login.finish(text)).rejects.toMatchObject({ name: 'SourceError', code: 'credentials' });
    },
  );

  test('works once with one code', async () => {
    const { login } = await aLogin({ options: { redirect_uri: 'https://app.example.com/back' } });
    const address = await whereTheBrowserEnds(login);
    await login.finish(address);
    await expect(login.finish(address)).rejects.toMatchObject({
      code: 'credentials',
      message: 'The service does not take this code: it is used up, too old, or from another login.',
    });
  });

  test('that the person refuses is said as that', async () => {
    const { login } = await aLogin();
    const refused = new URL(login.redirectUri);
    refused.searchParams.set('error', 'access_denied');
    refused.searchParams.set('state', new URL(login.address).searchParams.get('state') ?? '');
    await fetch(refused);
    await expect(login.finish((await login.redirected) ?? expect.fail())).rejects.toMatchObject({
      code: 'credentials',
      message: 'The service says that access was not granted (access_denied).',
      hint: 'Run `leadsync login main` again, and agree.',
    });
  });

  test('is used by a daemon that runs, from the next poll on', async () => {
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

  test('whose refresh token ends gives way to the client credentials, and says so', async () => {
    const { stub, source, login, events } = await aLogin();
    await fetch(login.address);
    await login.finish((await login.redirected) ?? expect.fail());
    stub.revoke('all');
    await read(source);
    expect(events).toMatchObject([
      { type: 'token-renewed', grant: 'authorization_code' },
      { type: 'token-fallback', reason: expect.stringContaining('run `leadsync login main`') },
      { type: 'token-renewed', grant: 'client_credentials' },
    ]);
  });

  test('outlives a configuration that it does not fit: when that is undone, it is used again', async () => {
    for (const mistake of [
      { options: { scope: 'leads' } },
      { tokenKey: 'another passphrase' },
      { options: { scope: 'leads' }, tokenKey: 'another passphrase' },
    ]) {
      const { stub, source, login, dataDir } = await aLogin({ tokenKey: 'the right passphrase' });
      await fetch(login.address);
      await login.finish((await login.redirected) ?? expect.fail());
      await read(source);
      const mine = stub.requests.at(-1)?.headers.authorization;
      for (let round = 0; round < 2; round++) {
        const wrong = aSource(stub, { dataDir, tokenKey: 'the right passphrase', ...mistake });
        await read(wrong.source);
        expect(stub.requests.at(-1)?.headers.authorization).not.toBe(mine);
        expect(wrong.events.length).toBe(round === 0 ? 2 : 0); // the second time its own token is there
        const right = aSource(stub, { dataDir, tokenKey: 'the right passphrase' });
        await read(right.source);
        expect(stub.requests.at(-1)?.headers.authorization).toBe(mine);
        expect(right.events).toEqual([]);
      }
    }
  });

  test('outlives a run without the key, and one of another account at the same time', async () => {
    const setting = { tokenKey: 'the right passphrase' };
    const { stub, source, login, dataDir } = await aLogin(setting);
    await fetch(login.address);
    await login.finish((await login.redirected) ?? expect.fail());
    await read(source);
    const mine = stub.requests.at(-1)?.headers.authorization;
    await read(aSource(stub, { dataDir }).source);
    await read(aSource(stub, { dataDir, options: { scope: 'leads' } }).source);
    expect(stub.requests.at(-1)?.headers.authorization).not.toBe(mine);
    await read(aSource(stub, { dataDir, ...setting }).source);
    expect(stub.requests.at(-1)?.headers.authorization).toBe(mine);
    for (const name of readdirSync(join(dataDir, 'tokens')).filter((name) => name.includes('.json')))
      expect(readFileSync(join(dataDir, 'tokens', name), 'utf8')).not.toContain('access_token');
  });

  test('for other scopes does not take the place of an earlier one', async () => {
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

  test('that is closed listens no more', async () => {
    const { login } = await aLogin();
    await login.close();
    await expect(fetch(login.redirectUri)).rejects.toThrow();
    await login.close();
  });
});

async function aLogin(setting: SourceSetting = {}) {
  const stub = await aStub({ leads: 2 });
  const opened = aSource(stub, setting);
  const login = await opened.source.startLogin();
  onTestFinished(() => login.close());
  return { stub, ...opened, login };
}

/** The address that a person would copy from the browser. */
async function whereTheBrowserEnds({ address }: Login): Promise<string> {
  const { headers } = await fetch(address, { redirect: 'manual' });
  return headers.get('location') ?? expect.fail();
}

async function aFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
