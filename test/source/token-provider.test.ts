import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { acquireLock } from '../../src/platform/files/file-lock.ts';
import { disk, type Files } from '../../src/platform/files/file-system.ts';
import { SourceError, type SourceErrorCode } from '../../src/source/contract/source.ts';
import type { Stub, TokenFaultName } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { aSource, aStub, failureOf, read } from './a-source.ts';
import { aRawService, sends } from './raw-service.ts';

const MINUTES = 60_000;

/** A disk that stores no file while it is full. */
function aDisk(): { full: boolean; readonly files: Files } {
  const held = {
    full: false,
    files: {
      ...disk,
      rename: async (from: string, to: string) => {
        if (held.full) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
        await disk.rename(from, to);
      },
    },
  };
  return held;
}

describe('a token', () => {
  test('the next run uses a valid token and requests no new one', async () => {
    const stub = await aStub({ leads: 1 });
    const { source, dataDir, events } = aSource(stub);
    await read(source);
    await read(source);
    expect(stub.tokenRequests).toBe(1);
    expect(events).toMatchObject([{ type: 'token-renewed', source: 'main', grant: 'client_credentials' }]);
    await source.close();
    const next = aSource(stub, { dataDir });
    expect((await read(next.source)).ids).toHaveLength(1);
    expect(stub.tokenRequests).toBe(1);
    expect(next.source.tokenExpiresAt()).toEqual(source.tokenExpiresAt());
  });

  test("a trial of the client's own token requests a new one, once, and leaves the stored one", async () => {
    const stub = await aStub({ leads: 1 });
    const { source, dataDir } = aSource(stub);
    await read(source);
    const stored = readFileSync(tokenFile(dataDir), 'utf8');
    const trial = aSource(stub, { dataDir, trial: true });
    await read(trial.source);
    await read(trial.source);
    expect(stub.tokenRequests).toBe(2);
    expect(readFileSync(tokenFile(dataDir), 'utf8')).toBe(stored);
    await read(source);
    expect(stub.tokenRequests).toBe(2);
  });

  test('only the current user can read the stored token', async () => {
    const { source, dataDir } = aSource(await aStub());
    await read(source);
    expect(statSync(join(dataDir, 'tokens')).mode & 0o777).toBe(0o700);
    expect(statSync(tokenFile(dataDir)).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(dataDir, 'tokens')).sort()).toEqual(['main.json', 'main.lock']);
    // A process that can read a lock file can hold the lock.
    expect(statSync(join(dataDir, 'tokens', 'main.lock')).mode & 0o777).toBe(0o600);
  });

  test('a token is renewed a minute before it expires, by the local clock from the moment of receipt', async () => {
    const clock = new HeldClock();
    // The service's own clock is 10 minutes off, which makes no difference.
    const now = () => new Date(clock.now().getTime() - 10 * MINUTES);
    const stub = await aStub({ tokenLifetimeSeconds: 7200, now });
    const { source } = aSource(stub, { clock });
    await read(source);
    expect(source.tokenExpiresAt()).toEqual(clock.in(120 * MINUTES));
    clock.jump(119 * MINUTES - 1);
    await read(source);
    expect(stub.tokenRequests).toBe(1);
    clock.jump(1);
    await read(source);
    expect(stub.tokenRequests).toBe(2);
  });

  test('a short-lived token is renewed when a tenth of its life is left', async () => {
    const clock = new HeldClock();
    const stub = await aStub({ tokenLifetimeSeconds: 10, now: () => clock.now() });
    const { source } = aSource(stub, { clock });
    await read(source);
    clock.jump(8_999);
    await read(source);
    expect(stub.tokenRequests).toBe(1);
    clock.jump(1);
    await read(source);
    expect(stub.tokenRequests).toBe(2);
  });

  test('a token is renewed once for any number of concurrent polls', async () => {
    const stub = await aStub({ leads: 2 });
    stub.misbehave({ token: 'slow', delayMs: 100, times: 1 });
    const { source } = aSource(stub);
    const readings = await Promise.all(Array.from({ length: 20 }, () => read(source)));
    expect(readings.every(({ ids }) => ids.length === 2)).toBe(true);
    expect(stub.tokenRequests).toBe(1);
  });

  test('a token that several requests were refused with is renewed once for all of them', async () => {
    const stub = await aStub({ leads: 2 });
    const { source, events } = aSource(stub);
    await read(source);
    stub.revoke('all');
    await Promise.all(Array.from({ length: 20 }, () => read(source)));
    expect(events.filter(({ type }) => type === 'token-renewed')).toHaveLength(2);
    expect(stub.tokenRequests).toBe(3); // the refresh token was revoked as well
  });

  test('all processes on one data directory renew a token once', async () => {
    const stub = await aStub({ leads: 2 });
    stub.misbehave({ token: 'slow', delayMs: 100, times: 1 });
    const dataDir = tempDir();
    const sources = Array.from({ length: 5 }, () => aSource(stub, { dataDir }).source);
    await Promise.all(sources.map((source) => read(source)));
    expect(stub.tokenRequests).toBe(1);
  });

  test('a process does not wait forever while another one renews the token', async () => {
    const clock = new HeldClock();
    const { source, dataDir } = aSource(await aStub(), { clock });
    mkdirSync(join(dataDir, 'tokens'));
    const lock = acquireLock(join(dataDir, 'tokens', 'main.lock'));
    const failure = failureOf(source);
    await until('it waits', () => clock.sleeping === 2); // the other sleeper is the deadline
    await clock.pass(10_000);
    lock.release();
    expect((await failure).error).toMatchObject({ code: 'token-file' });
    expect((await failure).error.message).toContain('Another leadsync');
  });

  test('a token is on disk before its first use', async () => {
    const seen: boolean[] = [];
    let dataDir = '';
    const service = await aRawService((request, response) => {
      const token = request.headers.authorization?.replace('Bearer ', '') ?? expect.fail();
      seen.push(readFileSync(tokenFile(dataDir), 'utf8').includes(`"access_token":"${token}"`));
      sends('[]')(request, response);
    });
    const opened = aSource(service);
    dataDir = opened.dataDir;
    await read(opened.source);
    expect(seen).toEqual([true]);
  });

  test('a token that cannot be stored is not used, and not requested again once there is space', async () => {
    const stub = await aStub({ leads: 3 });
    const disc = aDisk();
    const { source, dataDir } = aSource(stub, { files: disc.files });
    disc.full = true;
    for (let poll = 0; poll < 3; poll++) {
      const { error } = await failureOf(source);
      expect(error).toMatchObject({ code: 'token-file' });
      expect(error.message).toContain('cannot be written (ENOSPC)');
    }
    expect(stub.listingRequests).toBe(0);
    disc.full = false;
    expect((await read(source)).ids).toHaveLength(3);
    expect(stub.tokenRequests).toBe(1);
    expect(existsSync(tokenFile(dataDir))).toBe(true);
  });

  test('a token that could not be stored is stored at the stop if there is space by then', async () => {
    const stub = await aStub({ leads: 3, refreshRotation: 'at-once' });
    const { dataDir, disc, source } = await anUnstored(stub);
    disc.full = false;
    await source.close();
    const next = aSource(stub, { dataDir });
    expect((await read(next.source)).ids).toHaveLength(3);
    expect(next.events).toEqual([]);
    expect(stub.tokenRequests).toBe(2);
  });

  test('a token that could not be stored does not overwrite what another process has stored since', async () => {
    const stub = await aStub({ leads: 3 });
    const { dataDir, disc, source } = await anUnstored(stub);
    disc.full = false;
    await read(aSource(stub, { dataDir }).source);
    expireStored(dataDir);
    expect(stub.tokenRequests).toBe(3);
    expect((await read(source)).ids).toHaveLength(3);
    expect(stub.tokenRequests).toBe(4); // the other process renewed it
  });

  test('the next process removes a file that a crash left half-written', async () => {
    const { source, dataDir } = aSource(await aStub());
    mkdirSync(join(dataDir, 'tokens'));
    const leftover = join(dataDir, 'tokens', '.main.json.0123456789abcdef.tmp');
    writeFileSync(leftover, '{"access_tok');
    const anothers = join(dataDir, 'tokens', '.other.json.0123456789abcdef.tmp');
    writeFileSync(anothers, '{"access_tok');
    await read(source);
    expect(existsSync(leftover)).toBe(false);
    expect(existsSync(anothers)).toBe(true);
  });
});

describe('a refresh token', () => {
  test('a stored refresh token is used, and its successor is stored', async () => {
    const stub = await aStub({ leads: 1, refreshRotation: 'at-once' });
    const { source, dataDir } = aSource(stub);
    await read(source);
    for (let round = 0; round < 3; round++) {
      expireStored(dataDir);
      const next = aSource(stub, { dataDir });
      expect((await read(next.source)).ids).toHaveLength(1);
      expect(next.events).toMatchObject([{ type: 'token-renewed', grant: 'refresh_token' }]);
    }
    expect(stub.tokenRequests).toBe(4);
  });

  test('a refused refresh token is replaced by the client credentials, once, and removed', async () => {
    const stub = await aStub({ leads: 1 });
    const { source, dataDir } = aSource(stub);
    await read(source);
    expireStored(dataDir);
    stub.revoke('refresh');
    const next = aSource(stub, { dataDir });
    await read(next.source);
    expect(next.events).toMatchObject([
      { type: 'token-fallback', source: 'main' },
      { type: 'token-renewed', grant: 'client_credentials' },
    ]);
    expect(stub.tokenRequests).toBe(3);
  });

  test('a refresh token that is refused together with the client is not tried on every poll', async () => {
    const stub = await aStub({ leads: 1 });
    const { source, dataDir } = aSource(stub);
    await read(source);
    expireStored(dataDir);
    stub.misbehave({ token: 'invalid-grant' });
    const next = aSource(stub, { dataDir }).source;
    expect((await failureOf(next)).error).toMatchObject({ code: 'credentials' });
    expect(stub.tokenRequests).toBe(3);
    expect((await failureOf(next)).error).toMatchObject({ code: 'credentials' });
    expect(stub.tokenRequests).toBe(4);
  });

  test('a refresh token stays when the service cannot be reached or is failing', async () => {
    const stub = await aStub({ leads: 1 });
    const { source, dataDir } = aSource(stub);
    await read(source);
    expireStored(dataDir);
    const next = aSource(stub, { dataDir });
    for (const token of ['down', 'server-error', 'rate-limited', 'html', 'not-json'] as const) {
      stub.misbehave({ token, times: 1 });
      await failureOf(next.source);
    }
    await read(next.source);
    expect(next.events).toMatchObject([{ type: 'token-renewed', grant: 'refresh_token' }]);
  });

  test('losing the successor of a refresh token on the way does not end it', async () => {
    const stub = await aStub({ leads: 1, refreshRotation: 'at-once' });
    const { source, dataDir } = aSource(stub);
    await read(source);
    expireStored(dataDir);
    stub.misbehave({ token: 'answer-lost', times: 1 });
    const next = aSource(stub, { dataDir });
    expect((await failureOf(next.source)).error.code).toBe('unreachable');
    expect((await read(next.source)).ids).toHaveLength(1);
  });

  test('Doorkeeper issues no refresh token, which makes no difference', async () => {
    const stub = await aStub({ leads: 1, doorkeeper: true });
    const { source, dataDir, events } = aSource(stub);
    await read(source);
    expect(stored(dataDir)['refresh_token']).toBeUndefined();
    stub.revoke('all');
    await read(source);
    expect(events).toMatchObject([{ grant: 'client_credentials' }, { grant: 'client_credentials' }]);
  });
});

describe('the listing refuses a token', () => {
  test('the source requests one new token and tries once more', async () => {
    const stub = await aStub({ leads: 3, doorkeeper: true });
    const { source } = aSource(stub);
    await read(source);
    stub.revoke('all');
    expect((await read(source)).ids).toHaveLength(3);
    expect(stub).toMatchObject({ tokenRequests: 2, listingRequests: 3 });
  });

  test('if the new token is refused too, the source reports it and requests no more', async () => {
    for (const doorkeeper of [false, true]) {
      const stub = await aStub({ leads: 3, doorkeeper });
      stub.misbehave({ listing: 'unauthorized' });
      const { error } = await failureOf(aSource(stub).source);
      expect(error).toMatchObject({ code: 'unauthorized', httpStatus: 401 });
      expect(error.message).toMatch(/^The listing refuses a new token \(401(, \w+)?\)\.$/);
      expect(stub).toMatchObject({ tokenRequests: 2, listingRequests: 2 });
    }
  });

  test('if the scope is insufficient, the source does not try another token', async () => {
    const stub = await aStub({
      leads: 3,
      doorkeeper: true,
      scopes: ['leads', 'profile'],
      requiredScope: 'leads',
    });
    const { error } = await failureOf(aSource(stub, { options: { scope: 'profile' } }).source);
    expect(error).toMatchObject({ code: 'forbidden', httpStatus: 403 });
    expect(stub).toMatchObject({ tokenRequests: 1, listingRequests: 1 });
    expect((await read(aSource(stub, { options: { scope: 'leads' } }).source)).ids).toHaveLength(3);
  });
});

describe('the token endpoint', () => {
  const failures: readonly (readonly [TokenFaultName, SourceErrorCode])[] = [
    ['down', 'unreachable'],
    ['hang', 'unreachable'],
    ['hang-midway', 'unreachable'],
    ['truncated', 'unreachable'],
    ['cut-off', 'protocol'],
    ['unauthorized', 'credentials'],
    ['bad-request', 'credentials'],
    ['invalid-grant', 'credentials'],
    ['rate-limited', 'rate-limited'],
    ['server-error', 'server'],
    ['unavailable', 'server'],
    ['bad-gateway', 'server'],
    ['not-found', 'protocol'],
    ['html', 'protocol'],
    ['not-json', 'protocol'],
    ['no-token-type', 'protocol'],
    ['no-access-token', 'protocol'],
  ];

  test.each(failures)(
    '%s is reported as: %s; the poll makes one request, and the next poll asks again',
    async (token, code) => {
      for (const doorkeeper of [false, true]) {
        const stub = await aStub({ leads: 1, doorkeeper });
        stub.misbehave({ token });
        const { source } = aSource(stub, { options: { timeout: '300ms' } });
        const { error } = await failureOf(source);
        expect(error).toMatchObject({ code });
        expect(error.hint).not.toBe('');
        expect(stub.tokenRequests).toBe(1);
        stub.behave();
        expect((await read(source)).ids).toHaveLength(1);
      }
    },
  );

  test.each([
    ['truncated', 'closed the connection before the end of its answer.'],
    ['cut-off', 'sent a truncated answer (status 200).'],
  ] as const)('%s: the error says that the answer is truncated, and what to check', async (token, said) => {
    const stub = await aStub({ leads: 1 });
    stub.misbehave({ token });
    const { error } = await failureOf(aSource(stub).source);
    expect(error.message).toBe(`The token endpoint at ${new URL(stub.url).host} ${said}`);
    expect(error.hint).toBe(
      'If this persists, check whether a proxy truncates answers, or ask the operator of the service.',
    );
    expect(JSON.stringify([error.message, error.cause])).not.toContain('canary');
  });

  test.each([
    ['slow', 120 * MINUTES],
    ['lower-case-bearer', 120 * MINUTES],
    ['no-refresh-token', 120 * MINUTES],
    ['refresh-null', 120 * MINUTES],
    ['expires-text', 60 * MINUTES],
    ['expires-zero', 0],
    ['expires-huge', 10 * 365 * 24 * 60 * MINUTES],
    ['expires-missing', undefined],
    ['expires-null', undefined],
  ] as const)('%s is read as intended', async (token, lifetimeMs) => {
    const clock = new HeldClock();
    const stub = await aStub({ leads: 1, tokenLifetimeSeconds: 7200, now: () => clock.now() });
    stub.misbehave({ token, delayMs: 100 });
    const { source } = aSource(stub, { clock });
    expect((await read(source)).ids).toHaveLength(1);
    expect(source.tokenExpiresAt()).toEqual(lifetimeMs === undefined ? undefined : clock.in(lifetimeMs));
    expect(stub.tokenRequests).toBe(1);
  });

  test('without a lifetime in the answer, the token is used until it is refused', async () => {
    const clock = new HeldClock();
    const stub = await aStub({ leads: 1, now: () => clock.now() });
    stub.misbehave({ token: 'expires-missing' });
    const { source } = aSource(stub, { clock });
    for (let poll = 0; poll < 3; poll++) await read(source);
    expect(stub.tokenRequests).toBe(1);
    clock.jump(24 * 60 * MINUTES);
    await read(source);
    expect(stub.tokenRequests).toBe(2);
  });

  test('with a lifetime of zero seconds, each poll requests one token and no more', async () => {
    const stub = await aStub({ leads: 1 });
    stub.misbehave({ token: 'expires-zero' });
    const { source } = aSource(stub);
    for (let poll = 1; poll <= 3; poll++) {
      await read(source);
      expect(stub.tokenRequests).toBe(poll);
    }
  });

  test('an endpoint that does not exist is reported with its address and the option that is most often wrong', async () => {
    for (const doorkeeper of [false, true]) {
      const stub = await aStub({ doorkeeper });
      const base_url = `${stub.url}/api/v1/leads`;
      const { error } = await failureOf(aSource(stub, { options: { base_url } }).source);
      expect(error).toMatchObject({
        code: 'protocol',
        httpStatus: 404,
        message: `There is no token endpoint at ${base_url}/oauth/token (404).`,
        hint: expect.stringContaining('base_url'),
      });
    }
  });

  test('an endpoint that refuses the client gets one request per poll, and no error contains the secret', async () => {
    for (const doorkeeper of [false, true]) {
      const stub = await aStub({ doorkeeper });
      const { url, clientId } = stub;
      const { source } = aSource({ url, clientId, clientSecret: 'canary-secret' });
      const { error } = await failureOf(source);
      expect(error).toMatchObject({
        code: 'credentials',
        message:
          'The token endpoint does not accept the client id or secret (invalid_client, grant client_credentials).',
        hint: "Correct the source's client_id and client_secret.",
      });
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('canary');
      expect(stub.tokenRequests).toBe(1);
    }
  });

  test('the endpoint gets the configured scope, and refuses an unknown one', async () => {
    const stub = await aStub({ leads: 1, scopes: ['leads'] });
    const { error } = await failureOf(aSource(stub, { options: { scope: 'everything' } }).source);
    expect(error).toMatchObject({
      code: 'credentials',
      hint: "Correct the source's scope, or leave it out.",
    });
  });

  test('a secret with unusual characters arrives unchanged', async () => {
    const stub = await aStub({ leads: 1, clientId: 'a b+c:d%', clientSecret: 'ä&=+ %2B:é"' });
    expect((await read(aSource(stub).source)).ids).toHaveLength(1);
  });
});

describe('the clock', () => {
  test.each([
    ['ahead', 24 * 60 * MINUTES],
    ['back', -24 * 60 * MINUTES],
  ])('a jump by a day %s causes at most one renewal, and reading continues', async (_, ms) => {
    let offsetMs = 0;
    const held = new HeldClock();
    const clock = Object.assign(Object.create(held) as HeldClock, {
      now: () => new Date(held.now().getTime() + offsetMs),
      monotonicMs: () => held.monotonicMs(),
      sleep: (sleepMs: number, signal?: AbortSignal) => held.sleep(sleepMs, signal),
    });
    const stub = await aStub({ leads: 1, tokenLifetimeSeconds: 7200, now: () => held.now() });
    const { source } = aSource(stub, { clock });
    await read(source);
    offsetMs = ms;
    for (let poll = 0; poll < 5; poll++) {
      await read(source);
      held.jump(30_000);
    }
    expect(stub.tokenRequests).toBeLessThanOrEqual(2);
    // With the clock set back, the wall clock calls the token valid for a day; the monotonic clock does not.
    held.jump(120 * MINUTES);
    await read(source);
    expect(stub.requests.filter(({ path, status }) => path.includes('leads') && status === 401)).toEqual([]);
  });
});

describe('the token file', () => {
  const KEYS = ['correct horse battery staple', 'ab'.repeat(32), Buffer.alloc(32, 7).toString('base64')];

  test.each(KEYS)('the file is encrypted with a key and opens only with that key: %s', async (tokenKey) => {
    const stub = await aStub({ leads: 1 });
    const { source, dataDir } = aSource(stub, { tokenKey });
    await read(source);
    const text = readFileSync(tokenFile(dataDir), 'utf8');
    expect(JSON.parse(text)).toMatchObject({ cipher: 'aes-256-gcm' });
    // Characters that base64 does not have: any three letters can occur in it by chance.
    expect(text).not.toMatch(/access_token|eyJ[\w-]*\./);
    await read(aSource(stub, { dataDir, tokenKey }).source);
    expect(stub.tokenRequests).toBe(1);
    for (const other of [...KEYS.filter((key) => key !== tokenKey), undefined]) {
      const setting = other === undefined ? { dataDir } : { dataDir, tokenKey: other };
      writeFileSync(tokenFile(dataDir), text);
      const { events, source: opened } = aSource(stub, setting);
      expect((await read(opened)).ids).toHaveLength(1);
      expect(events).toMatchObject([
        {
          type: 'token-fallback',
          reason: expect.stringContaining('cannot be decrypted with tokens.encryption_key'),
        },
        { type: 'token-renewed' },
      ]);
      const kept = readdirSync(join(dataDir, 'tokens')).filter((name) => name.endsWith('.unusable'));
      expect(kept.map((name) => readFileSync(join(dataDir, 'tokens', name), 'utf8'))).toContain(text);
    }
  });

  test('a file from before there was a key is read and immediately encrypted, as are the files set aside', async () => {
    const stub = await aStub({ leads: 1 });
    const { source, dataDir } = aSource(stub);
    await read(source);
    const plain = readFileSync(tokenFile(dataDir), 'utf8');
    writeFileSync(`${tokenFile(dataDir)}.unusable`, plain.replace('"client_id":"', '"client_id":"other-'));
    writeFileSync(`${tokenFile(dataDir)}.0123.unusable`, plain.slice(0, -20));
    await read(aSource(stub, { dataDir, tokenKey: 'a passphrase' }).source);
    expect(stub.tokenRequests).toBe(1);
    const names = readdirSync(join(dataDir, 'tokens')).filter((name) => name.includes('.json'));
    expect(names).toHaveLength(3);
    for (const name of names) {
      const path = join(dataDir, 'tokens', name);
      expect(readFileSync(path, 'utf8')).not.toContain('access_token');
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
    await read(aSource(stub, { dataDir, tokenKey: 'a passphrase' }).source);
    expect(stub.tokenRequests).toBe(1);
  });

  test.each([
    ['nothing', ''],
    ['a truncated token', '{"version":1,"base_url":"http'],
    ['something else', '{"leads":[]}'],
    ['bytes', '\u0000\u0001\ufffd'],
    ['a cipher without a text', '{"cipher":"aes-256-gcm","iv":"AAAA","tag":"AAAA","data":""}'],
  ])('a file that contains %s is set aside with an event, and a new token is requested', async (_, text) => {
    for (const setting of [{}, { tokenKey: 'a passphrase' }, { tokenKey: 'ab'.repeat(32) }]) {
      const stub = await aStub({ leads: 1 });
      const { source, dataDir, events } = aSource(stub, setting);
      mkdirSync(join(dataDir, 'tokens'));
      writeFileSync(tokenFile(dataDir), text);
      expect((await read(source)).ids).toHaveLength(1);
      expect(events).toMatchObject([{ type: 'token-fallback' }, { type: 'token-renewed' }]);
    }
  });

  test('a token of another service, client or scope is not used', async () => {
    const stub = await aStub({ leads: 1 });
    const { url, clientId, clientSecret } = stub;
    const other = await aStub({ leads: 2 });
    const sameServiceOtherClient = { url, clientId: 'another', clientSecret };
    for (const [service, options, listings] of [
      [other, {}, 1],
      [sameServiceOtherClient, {}, 0],
      [stub, { scope: 'leads' }, 1],
    ] as const) {
      const { source, dataDir } = aSource({ url, clientId, clientSecret });
      await read(source);
      const before = { stub: stub.listingRequests, other: other.listingRequests };
      const next = aSource(service, { dataDir, options });
      if (listings > 0) await read(next.source);
      else expect((await failureOf(next.source)).error.code).toBe('credentials');
      expect(next.events[0]).toMatchObject({ type: 'token-fallback' });
      const asked = stub.listingRequests - before.stub + other.listingRequests - before.other;
      expect(asked).toBe(listings);
    }
  });

  test('each source has its own file, whatever its name', async () => {
    const stub = await aStub({ leads: 1 });
    const dataDir = tempDir();
    for (const name of ['a', 'a/../b', '..', 'ä ö']) await read(aSource(stub, { dataDir, name }).source);
    expect(stub.tokenRequests).toBe(4);
    expect(readdirSync(dataDir)).toEqual(['tokens']);
    expect(readdirSync(join(dataDir, 'tokens')).filter((name) => name.endsWith('.json'))).toHaveLength(4);
  });

  test('an unreadable file or a folder that cannot be created is reported with its path and the next step', async () => {
    const { source, dataDir } = aSource(await aStub());
    mkdirSync(tokenFile(dataDir), { recursive: true });
    const { error } = await failureOf(source);
    expect(error).toBeInstanceOf(SourceError);
    expect(error.message).toBe(
      `The stored token of source main cannot be read (EISDIR): ${tokenFile(dataDir)}.`,
    );
    const blocked = tempDir();
    writeFileSync(join(blocked, 'tokens'), '');
    chmodSync(join(blocked, 'tokens'), 0o600);
    expect((await failureOf(aSource(await aStub(), { dataDir: blocked }).source)).error.code).toBe(
      'token-file',
    );
  });
});

function tokenFile(dataDir: string): string {
  return join(dataDir, 'tokens', 'main.json');
}

function stored(dataDir: string): Record<string, unknown> {
  return JSON.parse(readFileSync(tokenFile(dataDir), 'utf8'));
}

/** Creates a source that could not store the replacement of an expired token. */
async function anUnstored(stub: Stub) {
  const disc = aDisk();
  const { source: before, dataDir } = aSource(stub);
  await read(before);
  expireStored(dataDir);
  disc.full = true;
  const { source } = aSource(stub, { dataDir, files: disc.files });
  expect((await failureOf(source)).error.code).toBe('token-file');
  return { dataDir, disc, source };
}

/** Dates the stored token back, as if it had expired. */
function expireStored(dataDir: string): void {
  const past = { received_at: '2026-01-01T00:00:00.000Z', expires_at: '2026-01-01T02:00:00.000Z' };
  writeFileSync(tokenFile(dataDir), JSON.stringify({ ...stored(dataDir), ...past }));
}
