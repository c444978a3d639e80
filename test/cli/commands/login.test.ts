import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startStub } from '../../stub/stub.ts';
import { startLeadsync } from '../../support/program/leadsync.ts';
import { until } from '../../support/time/until.ts';
import { Install } from '../an-install.ts';

async function anInstall(more: Record<string, unknown> = {}) {
  const stub = await startStub({ leads: 2 });
  onTestFinished(() => stub.close());
  const { url, clientId, clientSecret } = stub;
  const source = { base_url: url, client_id: clientId, client_secret: clientSecret, ...more };
  const install = new Install({ sources: { main: source } });
  return { install, stub, tokenFile: join(install.folder, 'data', 'tokens', 'main.json') };
}

function addressIn(text: string): string | undefined {
  return /^http\S+$/m.exec(text)?.[0];
}

/** A person's browser: opens the address, and is sent on. */
async function sentTo(address: string): Promise<string> {
  const response = await fetch(address, { redirect: 'manual' });
  return response.headers.get('location') ?? '';
}

describe('leadsync login', () => {
  test('gets the code from the browser’s redirect to this machine, stores the tokens and ends', async () => {
    const { install, tokenFile } = await anInstall();
    const login = startLeadsync(['login', 'main', '-c', install.configFile]);
    onTestFinished(() => void login.kill('SIGKILL'));
    const address = await until('the address is printed', () => addressIn(login.stdout));
    const page = await fetch(address); // followed to the redirect
    expect(await page.text()).toContain('leadsync has received the answer');
    expect(await login.exited).toEqual({ code: 0, signal: null });
    expect(login.stderr).toContain('main is logged in.');
    expect(existsSync(tokenFile)).toBe(true);
  });

  test('accepts a pasted address if the browser cannot reach this machine', async () => {
    const { install, tokenFile } = await anInstall({ redirect_uri: 'https://example.com/callback' });
    const stdin = new PassThrough();
    const onStdout = async (address: string) => stdin.write(`\n${await sentTo(address.trim())}\n`);
    const { code, stderr } = await install.run(['login', 'main'], { stdin, onStdout });
    expect(stderr).toContain('main is logged in.');
    expect(code).toBe(0);
    expect(existsSync(tokenFile)).toBe(true);
  });

  test('accepts a pasted address if it cannot listen on the port of the redirect', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { install, tokenFile } = await anInstall({ redirect_uri: `http://127.0.0.1:${port}/cb` });
    const stdin = new PassThrough();
    const onStdout = async (address: string) => stdin.write(`${await sentTo(address.trim())}\n`);
    const { code, stderr } = await install.run(['login', 'main'], { stdin, onStdout });
    expect(stderr).toContain(`leadsync cannot listen for the browser at 127.0.0.1:${port} (EADDRINUSE).`);
    expect(stderr).toContain('paste the complete address');
    expect(code).toBe(0);
    expect(existsSync(tokenFile)).toBe(true);
  });

  test('prints what is wrong with a pasted address, and stores nothing', async () => {
    const { install, tokenFile } = await anInstall();
    for (const [stdin, message] of [
      ['https://example.com/\n', 'That address contains no code'],
      ['http://127.0.0.1/callback?code=x&state=another\n', 'belongs to a different login'],
    ] as const) {
      const { code, stderr } = await install.run(['login', 'main'], { stdin });
      expect(stderr).toContain(message);
      expect(code).toBe(1);
    }
    expect(existsSync(tokenFile)).toBe(false);
  });

  test('asks again after a wrong paste', async () => {
    const { install, tokenFile } = await anInstall({ redirect_uri: 'https://example.com/callback' });
    const stdin = new PassThrough();
    const onStdout = async (address: string) => {
      stdin.write('what was the question?\nhttps://example.com/callback?code=x&state=another\n');
      stdin.write(`${await sentTo(address.trim())}\n`);
    };
    const { code, stderr } = await install.run(['login', 'main'], { stdin, onStdout });
    expect(stderr).toContain('That address contains no code');
    expect(stderr).toContain('That address belongs to a different login');
    expect(stderr).toContain('Then paste it here:\nmain is logged in.');
    expect(code).toBe(0);
    expect(existsSync(tokenFile)).toBe(true);
  });

  test('ends if the redirect goes elsewhere and standard input is empty', async () => {
    const { install } = await anInstall({ redirect_uri: 'https://example.com/callback' });
    const { code, stderr } = await install.run(['login', 'main']);
    expect(code).toBe(1);
    expect(stderr).toContain('Nothing was pasted.\nNothing was stored.');
  });

  test('ends on Ctrl-C while it waits', async () => {
    const { install } = await anInstall();
    const login = startLeadsync(['login', 'main', '-c', install.configFile]);
    await until('the address is printed', () => addressIn(login.stdout));
    expect(await login.kill('SIGINT')).toEqual({ code: 1, signal: null });
    expect(login.stderr).toContain('The login was stopped.');
  });

  test('ends on a Ctrl-C that comes while the address is printed', async () => {
    const { install } = await anInstall();
    const onStdout = () => void process.emit('SIGINT');
    const { code, stderr } = await install.run(['login', 'main'], { stdin: new PassThrough(), onStdout });
    expect(stderr).toContain('The login was stopped.');
    expect(code).toBe(1);
  });

  test.each([
    ['is no folder', 'tokens', 'created'],
    ['cannot be read', join('tokens', 'main.json', 'x'), 'read'],
  ])('reports that the place for the tokens %s, before it opens a browser', async (_, path, step) => {
    const { install, stub } = await anInstall();
    const file = join(install.folder, 'data', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '');
    const { code, stdout, stderr } = await install.run(['login', 'main'], { stdin: new PassThrough() });
    expect(stderr).toContain(`The stored token of source main cannot be ${step}`);
    expect(stdout).toBe('');
    expect(code).not.toBe(0);
    expect(stub.requests).toEqual([]);
  });

  test('on Ctrl-C while the tokens are requested, says so, and ends on the next signal', async () => {
    const { install, tokenFile, stub } = await anInstall();
    const login = startLeadsync(['login', 'main', '-c', install.configFile]);
    onTestFinished(() => void login.kill('SIGKILL'));
    const address = await until('the address is printed', () => addressIn(login.stdout));
    stub.misbehave({ token: 'hang' });
    const before = stub.tokenRequests;
    await fetch(address);
    await until('the code is exchanged', () => stub.tokenRequests > before);
    login.process.kill('SIGINT');
    await until('it says why it goes on', () =>
      login.stderr.includes('requesting the tokens from the service'),
    );
    expect(await login.kill('SIGTERM')).toEqual({ code: 1, signal: null });
    expect(existsSync(tokenFile)).toBe(false);
  });

  test('prints when the login ends if the service returns no refresh token', async () => {
    const { install, stub } = await anInstall({ redirect_uri: 'https://example.com/callback' });
    stub.misbehave({ token: 'no-refresh-token' });
    const stdin = new PassThrough();
    const onStdout = async (address: string) => stdin.write(`${await sentTo(address.trim())}\n`);
    const { code, stderr } = await install.run(['login', 'main'], { stdin, onStdout });
    expect(stderr).toMatch(
      /no refresh token, so the login ends at \d{4}-\d\d-\d\dT.*`leadsync login main` again/,
    );
    expect(stderr).not.toContain('renews them');
    expect(code).toBe(0);
  });

  test.each(['rate-limited', 'cut-off', 'server-error', 'no-token-type'] as const)(
    'is not repeated if the request to the token endpoint fails (%s), which it prints',
    async (token) => {
      const { install, stub, tokenFile } = await anInstall({ redirect_uri: 'https://example.com/callback' });
      stub.misbehave({ token });
      const stdin = new PassThrough();
      const onStdout = async (address: string) => stdin.write(`${await sentTo(address.trim())}\n`);
      const { code, stderr } = await install.run(['login', 'main'], { stdin, onStdout });
      expect(stderr).toContain('leadsync stored nothing. Fix the problem, then start the login again.');
      expect(stderr).not.toMatch(/(asks|tries) again|retries/);
      expect(code).not.toBe(0);
      expect(existsSync(tokenFile)).toBe(false);
      expect(stub.tokenRequests).toBe(1);
    },
  );

  test('prints the option that always requires a login if the configuration lacks it', async () => {
    for (const [more, said] of [
      [{}, true],
      [{ grant: 'authorization_code' }, false],
    ] as const) {
      const { install } = await anInstall({ redirect_uri: 'https://example.com/callback', ...more });
      const stdin = new PassThrough();
      const onStdout = async (address: string) => stdin.write(`${await sentTo(address.trim())}\n`);
      const { stderr } = await install.run(['login', 'main'], { stdin, onStdout });
      expect(stderr).toContain('main is logged in.');
      expect(stderr.includes('Set `grant: authorization_code`')).toBe(said);
    }
  });

  test('is rejected if the configuration does not use a login, before a browser is opened', async () => {
    const { install, tokenFile } = await anInstall({ grant: 'client_credentials' });
    const { code, stdout, stderr } = await install.run(['login', 'main']);
    expect(code).toBe(78);
    expect(stdout).toBe('');
    expect(stderr).toContain('a login would have no effect');
    expect(existsSync(tokenFile)).toBe(false);
  });

  test('rejects an unknown source as wrong usage', async () => {
    const { install } = await anInstall();
    const { code, stderr } = await install.run(['login', 'mian']);
    expect(stderr).toContain('There is no source "mian": did you mean "main"?');
    expect(code).toBe(2);
  });
});
