import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openInstallationStores } from '../../src/ledger-postgres/installation-stores.ts';
import { DocumentFolder } from '../../src/platform/files/document-folder.ts';
import { disk } from '../../src/platform/files/file-system.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import { type Clock, systemClock } from '../../src/platform/time/clock.ts';
import { takeOverTokens } from '../../src/source/auth/take-over-tokens.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { aSource, aStub, read } from '../source/a-source.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { PostgresStore } from './postgres-store.ts';

const KEY = 'a passphrase for every machine';

/** Returns what opens the tokens of an installation, each time as another machine. */
async function machines(): Promise<() => ReturnType<typeof openInstallationStores>> {
  const store = new PostgresStore();
  await new LedgerUnderTest(store.open).ledger.status();
  return async () => {
    const stores = await openInstallationStores(store.place(), systemClock);
    onTestFinished(() => stores.close());
    return stores;
  };
}

test('two machines renew a login once between them, although its service ends a refresh token with its use', async () => {
  const machine = await machines();
  const stub = await aStub({ leads: 2, personal: true, refreshRotation: 'at-once' });
  let aheadMs = 0;
  const clock: Clock = {
    now: () => new Date(systemClock.now().getTime() + aheadMs),
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
  };
  const open = async () => aSource(stub, { tokens: (await machine()).tokens, tokenKey: KEY, clock }).source;
  const [one, other] = [await open(), await open()];
  const login = await one.startLogin();
  await fetch(login.address);
  await login.finish((await login.redirected) ?? expect.fail());
  await login.close();
  expect((await read(other)).ids).toEqual([1, 2]);
  expect(stub.grants).toEqual(['authorization_code']);
  for (let renewals = 1; renewals <= 2; renewals += 1) {
    aheadMs += 24 * 3_600_000; // both tokens are due
    expect(await Promise.all([read(one), read(other)])).toMatchObject([{ ids: [1, 2] }, { ids: [1, 2] }]);
    expect(stub.grants.filter((grant) => grant === 'refresh_token')).toHaveLength(renewals);
  }
});

test('the tokens of a data directory are moved with their login, encrypted, and the next machine uses them', async () => {
  const stores = await (await machines())();
  const stub = await aStub({ leads: 2, personal: true });
  const { source, dataDir } = aSource(stub);
  const login = await source.startLogin();
  await fetch(login.address);
  await login.finish((await login.redirected) ?? expect.fail());
  await login.close();
  const folder = join(dataDir, 'tokens');
  const from = new DocumentFolder(disk, folder);
  const parts = { key: new Secret(KEY), clock: systemClock, random: () => 0.5 };
  expect(await takeOverTokens(from, stores.tokens, parts)).toEqual({ sources: ['main'], left: [] });
  expect(readdirSync(folder).filter((name) => !name.endsWith('.lock'))).toEqual([]);
  expect(await stores.tokens.names()).toEqual(['main.json', 'main.login']);
  expect(await stores.tokens.read('main.json')).toContain('aes-256-gcm');
  const elsewhere = aSource(stub, { tokens: stores.tokens, tokenKey: KEY }).source;
  expect((await read(elsewhere)).ids).toEqual([1, 2]);
  expect(stub.grants).toEqual(['authorization_code']);
  expect(await takeOverTokens(from, stores.tokens, parts)).toEqual({ sources: [], left: [] });
});

test('a token of a data directory is left there if the server has another one, whose refresh token may be newer', async () => {
  const stores = await (await machines())();
  await stores.tokens.write('main.json', 'of the server');
  const folder = join(tempDir(), 'tokens');
  mkdirSync(folder);
  writeFileSync(join(folder, 'main.json'), 'of the data directory');
  writeFileSync(join(folder, 'other%20one.json.0123abcd.unusable'), '{}');
  const parts = { key: new Secret(KEY), clock: systemClock, random: () => 0.5 };
  const moved = await takeOverTokens(new DocumentFolder(disk, folder), stores.tokens, parts);
  expect(moved).toEqual({ sources: ['other one'], left: ['main'] });
  expect(await stores.tokens.read('main.json')).toBe('of the server');
  expect(readdirSync(folder)).toEqual(['main.json.left']);
});
