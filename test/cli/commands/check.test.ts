import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Source } from '../../../src/source/contract/source.ts';
import { aSource } from '../../source/a-source.ts';
import { startOidcStub } from '../../stub/oidc/oidc-stub.ts';
import { type Stub, type StubOptions, startStub } from '../../stub/stub.ts';
import { SmallDisk } from '../../support/files/small-disk.ts';
import { startLeadsync } from '../../support/program/leadsync.ts';
import { startRedis } from '../../support/servers/private-redis.ts';
import { freePort } from '../../support/servers/server-process.ts';
import { startWebhookReceiver } from '../../support/servers/webhook-receiver.ts';
import { until } from '../../support/time/until.ts';
import { Install } from '../an-install.ts';

async function aService(options: StubOptions = {}): Promise<Stub> {
  const stub = await startStub({ leads: 3, ...options });
  onTestFinished(() => stub.close());
  return stub;
}

function sourceAt({ url, clientId, clientSecret }: Stub, more = {}) {
  return { main: { base_url: url, client_id: clientId, client_secret: clientSecret, ...more } };
}

async function blocksOf(source: Source) {
  const listing = await source.list(undefined, new AbortController().signal);
  return listing.kind === 'changed' ? listing.blocks : [];
}

const drop = { drop: { type: 'csv', directory: './drop' } };

describe('leadsync check', () => {
  test('reads a listing, checks each sink, records nothing and delivers nothing', async () => {
    const stub = await aService();
    const receiver = await startWebhookReceiver();
    onTestFinished(() => receiver.close());
    const secret = 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0';
    const sinks = { crm: { type: 'webhook', url: receiver.url, secret }, ...drop };
    const install = new Install({ sources: sourceAt(stub), sinks });
    const { code, stdout, stderr } = await install.run(['check']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^ok +data_dir: /),
      'ok      source main: Got a token and read a listing of 3 leads.',
      'ok      sink crm: Reachable; no request was sent.',
      'ok      sink drop: Files can be written there.',
    ]);
    expect(existsSync(join(install.folder, 'data', 'ledger.db'))).toBe(false);
    expect(receiver.received.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  test('checks everything even if something fails, prints each reason and next step, and exits with 69', async () => {
    const stub = await aService();
    const closed = await freePort();
    const install = new Install({
      sources: {
        ...sourceAt(stub),
        wrong: { ...sourceAt(stub).main, client_secret: 'canary-wrong' },
        gone: { ...sourceAt(stub).main, base_url: `http://127.0.0.1:${closed}` },
      },
      queue: { redis_url: `redis://:canary-password@127.0.0.1:${closed}` },
      sinks: { bad: { type: 'csv', directory: './leadsync.yaml' }, ...drop },
    });
    const { code, stdout } = await install.run(['check']);
    expect(code).toBe(69);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split(':', 1)[0])).toEqual([
      'ok      data_dir',
      'ok      source main',
      'FAILED  source wrong',
      'FAILED  source gone',
      'FAILED  queue',
      'FAILED  sink bad',
      'ok      sink drop',
    ]);
    expect(lines[4]).toContain('Redis cannot be used (ECONNREFUSED). Check queue.redis_url');
    expect(stdout).not.toContain('canary');
  });

  test('reports, as run does, that a file is in the place of the data directory', async () => {
    const install = new Install({ sources: sourceAt(await aService()), sinks: drop });
    writeFileSync(join(install.folder, 'data'), '');
    const hint = 'There is a file where a folder must be: move it away, or set another folder.';
    expect((await install.run(['run'])).stderr).toBe(
      `The data directory ${install.folder}/data is not a folder, or is beneath a file (EEXIST).\n${hint}\n`,
    );
    install.configure({ sources: sourceAt(await aService()), sinks: drop, data_dir: './data/in' });
    const { stdout } = await install.run(['check']);
    expect(stdout).toContain(
      `FAILED  data_dir: ${install.folder}/data/in is not a folder, or is beneath a file (ENOTDIR). ${hint}\n`,
    );
  });

  test('reports a full disk, although a file could be created there', async (context) => {
    const install = new Install({ sources: sourceAt(await aService()), sinks: drop });
    const disk = new SmallDisk(join(install.folder, 'data'), 4);
    onTestFinished(() => disk.close());
    if (!disk.own)
      context.skip('needs a file system of its own, which this machine does not let the tests mount');
    expect((await install.run(['check'])).stdout).toMatch(/^ok +data_dir: /);
    disk.fill();
    const { code, stdout } = await install.run(['check']);
    expect(code).toBe(69);
    expect(stdout).toMatch(/^FAILED {2}data_dir: .* is on a full disk \(ENOSPC\)\. Free space/);
  });

  test('counts one lead as one', async () => {
    const stub = await aService({ leads: 1 });
    const { stdout } = await new Install({ sources: sourceAt(stub), sinks: drop }).run(['check']);
    expect(stdout).toContain('read a listing of 1 lead.\n');
  });

  test('counts leads that do not match the description, without their text', async () => {
    const stub = await aService();
    stub.misbehave({ listing: 'broken-leads' });
    const { stdout } = await new Install({ sources: sourceAt(stub), sinks: drop }).run(['check']);
    expect(stdout).toMatch(/source main: .*do not match the service's API description/);
  });

  test('does not check disabled sinks', async () => {
    const sinks = { bad: { type: 'csv', directory: './leadsync.yaml', enabled: false }, ...drop };
    const { code, stdout } = await new Install({ sources: sourceAt(await aService()), sinks }).run(['check']);
    expect(code).toBe(0);
    expect(stdout).not.toContain('bad');
  });

  test('prints JSON', async () => {
    const install = new Install({ sources: sourceAt(await aService()), sinks: drop });
    expect(await install.json('check')).toEqual([
      expect.objectContaining({ kind: 'data_dir', name: '', ok: true }),
      expect.objectContaining({ kind: 'source', name: 'main', ok: true, hint: '' }),
      expect.objectContaining({ kind: 'sink', name: 'drop', ok: true }),
    ]);
  });

  test('stores the token for the daemon', async () => {
    const install = new Install({ sources: sourceAt(await aService()), sinks: drop });
    await install.run(['check']);
    expect(readFileSync(join(install.folder, 'data', 'tokens', 'main.json'), 'utf8')).toContain(
      'access_token',
    );
  });

  test('tries a changed client secret, although the stored token is valid, and keeps that token', async () => {
    const stub = await aService();
    const install = new Install({ sources: sourceAt(stub), sinks: drop });
    await install.run(['check']);
    const file = join(install.folder, 'data', 'tokens', 'main.json');
    const before = readFileSync(file, 'utf8');
    expect((await install.run(['check'])).code).toBe(0);
    expect(stub.grants).toEqual(['client_credentials', 'client_credentials']);
    install.configure({ sources: sourceAt(stub, { client_secret: 'canary-mistyped' }), sinks: drop });
    const { code, stdout } = await install.run(['check']);
    expect(stdout).toMatch(/^FAILED {2}source main: .*does not accept the client id or secret/m);
    expect(code).toBe(69);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  test.each([
    ['scope', { scope: 'leads' }, {}, 'belongs to another base_url, client_id or scope'],
    ['key', {}, { tokens: { encryption_key: 'another passphrase' } }, 'cannot be decrypted'],
  ])(
    'fails for a login that does not match a new %s, and does not change the login',
    async (_, source, more, reason) => {
      const stub = await aService();
      const install = new Install({
        sources: sourceAt(stub),
        sinks: drop,
        tokens: { encryption_key: 'the right passphrase' },
      });
      const dataDir = join(install.folder, 'data');
      const { source: person } = aSource(stub, { dataDir, tokenKey: 'the right passphrase' });
      const login = await person.startLogin();
      await fetch(login.address);
      await login.finish((await login.redirected) ?? expect.fail());
      await login.close();
      const tokens = join(dataDir, 'tokens');
      const before = readFileSync(join(tokens, 'main.json'), 'utf8');
      const changed = {
        data_dir: dataDir,
        sources: sourceAt(stub, source),
        sinks: drop,
        tokens: { encryption_key: 'the right passphrase' },
        ...more,
      };
      const { code, stdout } = await new Install(changed).run(['check']);
      expect(code).toBe(69);
      expect(stdout).toMatch(/FAILED {2}source main: .*`leadsync login main`/);
      expect(stdout).toContain(reason);
      expect(readFileSync(join(tokens, 'main.json'), 'utf8')).toBe(before);
      expect(readdirSync(tokens).filter((name) => name.includes('.json'))).toEqual(['main.json']);
      expect(await install.run(['check'])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(
          "main: The login's token works: leadsync read a listing of 3 leads. client_secret was not tested",
        ),
      });
      expect(readFileSync(join(tokens, 'main.json'), 'utf8')).toBe(before);
    },
  );

  test('reports both if neither the login nor the client is accepted', async () => {
    const stub = await aService();
    const install = new Install({ sources: sourceAt(stub), sinks: drop });
    await install.run(['check']);
    const key = { encryption_key: 'a passphrase of some length' };
    const dataDir = join(install.folder, 'data');
    const sealed = aSource(stub, { dataDir, tokenKey: key.encryption_key }).source;
    for await (const _ of await blocksOf(sealed)) break;
    const wrong = sourceAt(stub, { client_secret: 'canary-wrong' });
    const { stdout } = await new Install({ data_dir: dataDir, sources: wrong, sinks: drop }).run(['check']);
    expect(stdout).toMatch(
      /FAILED {2}source main: .*cannot be decrypted.*does not accept the client id or secret/,
    );
    expect(stdout).not.toContain('canary');
  });

  test('checks Redis: its password, its role, and whether it may evict jobs', async () => {
    const redis = await startRedis({ args: ['--requirepass', 'right'] });
    onTestFinished(() => redis.close());
    const sources = sourceAt(await aService());
    const lineFor = async (address: string) => {
      const { stdout } = await new Install({ sources, sinks: drop, queue: { redis_url: address } }).run([
        'check',
      ]);
      return /^(?:ok|FAILED) +queue: .*$/m.exec(stdout)?.[0];
    };
    const at = `127.0.0.1:${redis.port}`;
    expect(await lineFor(`redis://:right@${at}`)).toBe('ok      queue: Redis answers.');
    expect(await lineFor(`redis://${at}`)).toMatch(
      /^FAILED {2}queue: Redis cannot be used \(NOAUTH\)\. Put the password/,
    );
    expect(await lineFor(`redis://:wrong@${at}`)).toMatch(
      /^FAILED {2}queue: Redis cannot be used \(WRONGPASS\)\. Correct/,
    );
  });

  test('warns of a Redis that may evict jobs, and of one that is a replica', async () => {
    const evicting = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(evicting.port)] });
    onTestFinished(() => Promise.all([evicting.close(), replica.close()]).then(() => undefined));
    const sources = sourceAt(await aService());
    const run = (url: string) =>
      new Install({ sources, sinks: drop, queue: { redis_url: url } }).run(['check']);
    expect((await run(evicting.url)).stdout).toContain('its maxmemory-policy is allkeys-lru');
    expect((await run(replica.url)).stdout).toContain(
      'This Redis is a replica, which does not accept writes.',
    );
  });

  test('requests the configuration of the login provider, and prints what to register there', async () => {
    const provider = await startOidcStub();
    onTestFinished(() => provider.close());
    const { issuer, clientId: client_id, clientSecret: client_secret } = provider;
    const oidc = { issuer, client_id, client_secret, roles: { 'anna@example.com': 'admin' } };
    const admin = { token: 'a-token-of-the-commands', public_url: 'https://leadsync.example.com', oidc };
    const install = new Install({ sources: sourceAt(await aService()), sinks: drop, admin });
    const registered =
      'Register at the provider: https://leadsync.example.com/login/oidc/callback as redirect URI, https://leadsync.example.com/login as post-logout redirect URI.';
    const found = await install.run(['check']);
    expect(found.stdout).toContain(
      `ok      login: The provider answers, and has what a login needs. client_id and client_secret were not tested. ${registered}\n`,
    );
    expect(found.code).toBe(0);
    expect((await install.run(['validate'])).stdout).toContain(`\nadmin.oidc: ${registered}\n`);
    provider.fault = { discovery: { code_challenge_methods_supported: ['plain'] } };
    const failed = await install.run(['check']);
    expect(failed.stdout).toMatch(/^FAILED {2}login: .* does not have what a login needs: PKCE with S256\./m);
    expect(failed.code).toBe(69);
  });

  test('ends on Ctrl-C while a service does not answer, and prints what it could not check', async () => {
    const stub = await aService();
    stub.misbehave({ listing: 'hang' });
    const install = new Install({ sources: sourceAt(stub), sinks: drop });
    const check = startLeadsync(['check', '-c', install.configFile]);
    onTestFinished(() => void check.kill('SIGKILL'));
    await until('the first line is there', () => check.stdout.includes('data_dir'));
    expect(await check.kill('SIGINT')).toEqual({ code: 1, signal: null });
    expect(check.stdout).toContain('FAILED  source main: Stopped before the check was complete.');
    expect(check.stderr).toBe('');
  });
});
