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
import { disk, type Files } from '../../src/platform/files/files.ts';
import { acquireLock } from '../../src/platform/files/lock.ts';
import { SourceError, type SourceErrorCode } from '../../src/source/contract/source.ts';
import type { Stub, TokenFaultName } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { aSource, aStub, failureOf, read } from './a-source.ts';
import { aRawService, sends } from './raw-service.ts';

const MINUTES = 60_000;

/** A disk that takes no file while it is full. */
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
  test('that is good is used by the next run, and no new one is asked for', async () => {
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

  test("of the client's own is got anew by a trial, once, and the stored one stays", async () => {
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

  test('is stored for nobody else to read', async () => {
    const { source, dataDir } = aSource(await aStub());
    await read(source);
    expect(statSync(join(dataDir, 'tokens')).mode & 0o777).toBe(0o700);
    expect(statSync(tokenFile(dataDir)).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(dataDir, 'tokens')).sort()).toEqual(['main.json', 'main.lock']);
    // Whoever can read a lock file can hold the lock.
    expect(statSync(join(dataDir, 'tokens', 'main.lock')).mode & 0o777).toBe(0o600);
  });

  test('is renewed a minute before its end, by the local clock from the moment of receipt', async () => {
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

  test('with a short life is renewed when a tenth of it is left', async () => {
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

  test('is renewed once for any number of waiters', async () => {
    const stub = await aStub({ leads: 2 });
    stub.misbehave({ token: 'slow', delayMs: 100, times: 1 });
    const { source } = aSource(stub);
    const readings = await Promise.all(Array.from({ length: 20 }, () => read(source)));
    expect(readings.every(({ ids }) => ids.length === 2)).toBe(true);
    expect(stub.tokenRequests).toBe(1);
  });

  test('that everybody is refused with is renewed once for all of them', async () => {
    const stub = await aStub({ leads: 2 });
    const { source, events } = aSource(stub);
    await read(source);
    stub.revoke('all');
    await Promise.all(Array.from({ length: 20 }, () => read(source)));
    expect(events.filter(({ type }) => type === 'token-renewed')).toHaveLength(2);
    expect(stub.tokenRequests).toBe(3); // the refresh token was revoked as well
  });

  test('is renewed once by all processes on one data directory', async () => {
    const stub = await aStub({ leads: 2 });
    stub.misbehave({ token: 'slow', delayMs: 100, times: 1 });
    const dataDir = tempDir();
    const sources = Array.from({ length: 5 }, () => aSource(stub, { dataDir }).source);
    await Promise.all(sources.map((source) => read(source)));
    expect(stub.tokenRequests).toBe(1);
  });

  test('is not waited for without end when another process renews and renews', async () => {
    const clock = new HeldClock();
    const { source, dataDir } = aSource(await aStub(), { clock });
    mkdirSync(join(dataDir, 'tokens'));
    const lock = acquireLock(join(dataDir, 'tokens', 'main.lock'));
    const failure = failureOf(source);
    await until('it waits', () => clock.sleeping === 2); // the other is the deadline
    await clock.pass(10_000);
    lock.release();
    expect((await failure).error).toMatchObject({ code: 'token-file' });
    expect((await failure).error.message).toContain('Another leadsync');
  });

  test('is on disk before it is first used', async () => {
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

  test('that cannot be stored is not used, and not asked for again when there is room', async () => {
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

  test('that cannot be stored is stored at the stop when there is room by then', async () => {
    const stub = await aStub({ leads: 3, refreshRotation: 'at-once' });
    const { dataDir, disc, source } = await anUnstored(stub);
    disc.full = false;
    await source.close();
    const next = aSource(stub, { dataDir });
    expect((await read(next.source)).ids).toHaveLength(3);
    expect(next.events).toEqual([]);
    expect(stub.tokenRequests).toBe(2);
  });

  test('that could not be stored does not take the place of what another process has stored since', async () => {
    const stub = await aStub({ leads: 3 });
    const { dataDir, disc, source } = await anUnstored(stub);
    disc.full = false;
    await read(aSource(stub, { dataDir }).source);
    expireStored(dataDir);
    expect(stub.tokenRequests).toBe(3);
    expect((await read(source)).ids).toHaveLength(3);
    expect(stub.tokenRequests).toBe(4); // theirs was renewed
  });

  test('half written by a crash is swept away by the next', async () => {
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
  test('is used when one is held, and its successor is kept', async () => {
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

  test('that is refused gives way to the client credentials, once, and is forgotten', async () => {
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

  test('that is refused while the client is refused as well, is not tried on every poll', async () => {
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

  test('is kept when the service cannot be reached or is not well', async () => {
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

  test('whose successor was lost on the way is no end of it', async () => {
    const stub = await aStub({ leads: 1, refreshRotation: 'at-once' });
    const { source, dataDir } = aSource(stub);
    await read(source);
    expireStored(dataDir);
    stub.misbehave({ token: 'answer-lost', times: 1 });
    const next = aSource(stub, { dataDir });
    expect((await failureOf(next.source)).error.code).toBe('unreachable');
    expect((await read(next.source)).ids).toHaveLength(1);
  });

  test('is missing with Doorkeeper, which makes no difference', async () => {
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
  test('and gets one new token and one more try', async () => {
    const stub = await aStub({ leads: 3, doorkeeper: true });
    const { source } = aSource(stub);
    await read(source);
    stub.revoke('all');
    expect((await read(source)).ids).toHaveLength(3);
    expect(stub).toMatchObject({ tokenRequests: 2, listingRequests: 3 });
  });

  test('that is new as well: that is said, and no more is asked', async () => {
    for (const doorkeeper of [false, true]) {
      const stub = await aStub({ leads: 3, doorkeeper });
      stub.misbehave({ listing: 'unauthorized' });
      const { error } = await failureOf(aSource(stub).source);
      expect(error).toMatchObject({ code: 'unauthorized', httpStatus: 401 });
      expect(error.message).toMatch(/^The listing refuses a new token \(401(, \w+)?\)\.$/);
      expect(stub).toMatchObject({ tokenRequests: 2, listingRequests: 2 });
    }
  });

  test('for its scope, and is not asked again with another', async () => {
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
    '%s is said to be: %s; one request, and the next poll asks again',
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
  ] as const)('%s: the error says that the answer ends early, and what to look at', async (token, said) => {
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
  ] as const)('%s is taken as it is meant', async (token, lifetimeMs) => {
    const clock = new HeldClock();
    const stub = await aStub({ leads: 1, tokenLifetimeSeconds: 7200, now: () => clock.now() });
    stub.misbehave({ token, delayMs: 100 });
    const { source } = aSource(stub, { clock });
    expect((await read(source)).ids).toHaveLength(1);
    expect(source.tokenExpiresAt()).toEqual(lifetimeMs === undefined ? undefined : clock.in(lifetimeMs));
    expect(stub.tokenRequests).toBe(1);
  });

  test('that does not say for how long: the token is used until it is refused', async () => {
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

  test('that says zero seconds: each poll asks for a token, and no more than one', async () => {
    const stub = await aStub({ leads: 1 });
    stub.misbehave({ token: 'expires-zero' });
    const { source } = aSource(stub);
    for (let poll = 1; poll <= 3; poll++) {
      await read(source);
      expect(stub.tokenRequests).toBe(poll);
    }
  });

  test('that is not there is said with its address, and with the option that is most often wrong', async () => {
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

  test('that refuses the client is asked once for each poll, and the secret is in no error', async () => {
    for (const doorkeeper of [false, true]) {
      const stub = await aStub({ doorkeeper });
      const { url, clientId } = stub;
      const { source } = aSource({ url, clientId, clientSecret: 'canary-secret' });
      const { error } = await failureOf(source);
      expect(error).toMatchObject({
        code: 'credentials',
        message:
          'The token endpoint does not accept the client id or secret (invalid_client, grant client_credentials).',
        hint: 'Correct client_id and client_secret of the source.',
      });
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('canary');
      expect(stub.tokenRequests).toBe(1);
    }
  });

  test('is told the scope when there is one, and refuses one that it does not know', async () => {
    const stub = await aStub({ leads: 1, scopes: ['leads'] });
    const { error } = await failureOf(aSource(stub, { options: { scope: 'everything' } }).source);
    expect(error).toMatchObject({
      code: 'credentials',
      hint: 'Correct scope of the source, or leave it out.',
    });
  });

  test('with a secret of odd characters gets it letter by letter', async () => {
    const stub = await aStub({ leads: 1, clientId: 'a b+c:d%', clientSecret: 'ä&=+ %2B:é"' });
    expect((await read(aSource(stub).source)).ids).toHaveLength(1);
  });
});

describe('the clock', () => {
  test.each([
    ['ahead', 24 * 60 * MINUTES],
    ['back', -24 * 60 * MINUTES],
  ])('jumps a day %s: at most one renewal, and reading goes on', async (_, ms) => {
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
    // Set back, the wall clock says for a day that the token is good; the other clock knows better.
    held.jump(120 * MINUTES);
    await read(source);
    expect(stub.requests.filter(({ path, status }) => path.includes('leads') && status === 401)).toEqual([]);
  });
});

describe('the file', () => {
  const KEYS = ['correct horse battery staple', 'ab'.repeat(32), Buffer.alloc(32, 7).toString('base64')];

  test.each(KEYS)('is encrypted with a key, and opens with it only: %s', async (tokenKey) => {
    const stub = await aStub({ leads: 1 });
    const { source, dataDir } = aSource(stub, { tokenKey });
    await read(source);
    const text = readFileSync(tokenFile(dataDir), 'utf8');
    expect(JSON.parse(text)).toMatchObject({ cipher: 'aes-256-gcm' });
    expect(text).not.toMatch(/access_token|eyJ/);
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

  test('that was written before there was a key is read, and encrypted at once, with all that was set aside', async () => {
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
    ['half of a token', '{"version":1,"base_url":"http'],
    ['something else', '{"leads":[]}'],
    ['bytes', '\u0000\u0001\ufffd'],
    ['a seal without a text', '{"cipher":"aes-256-gcm","iv":"AAAA","tag":"AAAA","data":""}'],
  ])('that holds %s is set aside with a word, and a new token is got', async (_, text) => {
    for (const setting of [{}, { tokenKey: 'a passphrase' }, { tokenKey: 'ab'.repeat(32) }]) {
      const stub = await aStub({ leads: 1 });
      const { source, dataDir, events } = aSource(stub, setting);
      mkdirSync(join(dataDir, 'tokens'));
      writeFileSync(tokenFile(dataDir), text);
      expect((await read(source)).ids).toHaveLength(1);
      expect(events).toMatchObject([{ type: 'token-fallback' }, { type: 'token-renewed' }]);
    }
  });

  test('of another service, for another client or for other scopes is not used', async () => {
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

  test('of each source is its own, whatever the source is called', async () => {
    const stub = await aStub({ leads: 1 });
    const dataDir = tempDir();
    for (const name of ['a', 'a/../b', '..', 'ä ö']) await read(aSource(stub, { dataDir, name }).source);
    expect(stub.tokenRequests).toBe(4);
    expect(readdirSync(dataDir)).toEqual(['tokens']);
    expect(readdirSync(join(dataDir, 'tokens')).filter((name) => name.endsWith('.json'))).toHaveLength(4);
  });

  test('that cannot be read or a folder that cannot be made is said with its path and what to do', async () => {
    const { source, dataDir } = aSource(await aStub());
    mkdirSync(tokenFile(dataDir), { recursive: true });
    const { error } = await failureOf(source);
    expect(error).toBeInstanceOf(SourceError);
    expect(error.message).toBe(
      `The token file of source main cannot be read (EISDIR): ${tokenFile(dataDir)}.`,
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

/** As if its time had passed since it was stored. */
/** A source that could not store the token which took the place of an expired one. */
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

function expireStored(dataDir: string): void {
  const past = { received_at: '2026-01-01T00:00:00.000Z', expires_at: '2026-01-01T02:00:00.000Z' };
  writeFileSync(tokenFile(dataDir), JSON.stringify({ ...stored(dataDir), ...past }));
}
