import { expect, test } from 'vitest';
import type { Token } from '../../src/source/auth/token.ts';
import type { TokenStore } from '../../src/source/auth/token-store.ts';

/** Opens the store of one source; a second call opens it again, as another process would. */
export type OpenTokens = (account?: { readonly clientId: string }) => TokenStore;

function aToken(accessToken: string, origin: Token['origin'] = 'client_credentials'): Token {
  return {
    accessToken,
    refreshToken: `${accessToken}-refresh`,
    origin,
    receivedAt: new Date('2026-11-20T10:00:00.000Z'),
    expiresAt: new Date('2026-11-20T11:00:00.000Z'),
    refusedAt: undefined,
  };
}

/** What every store of a source's token promises. */
export function tokenStoreContract(store: () => OpenTokens | Promise<OpenTokens>): void {
  test('a token that is written is there for every process, until it is removed', async () => {
    const open = await store();
    const tokens = open();
    await tokens.prepare();
    expect(await tokens.read()).toEqual({ kind: 'none' });
    await tokens.write(aToken('first'));
    await tokens.write(aToken('second'));
    expect(await open().read()).toEqual({ kind: 'token', token: aToken('second') });
    await tokens.remove();
    expect(await open().read()).toEqual({ kind: 'none' });
  });

  test('one process at a time has the right to renew', async () => {
    const open = await store();
    const [one, other] = [open(), open()];
    await one.prepare();
    const lock = await one.tryLock();
    expect(lock).toBeDefined();
    expect(await other.tryLock()).toBeUndefined();
    await lock?.release();
    const next = await other.tryLock();
    expect(next).toBeDefined();
    await next?.release();
  });

  test('a token of another account is set aside, and taken back when the account returns', async () => {
    const open = await store();
    const [mine, theirs] = [open({ clientId: 'me' }), open({ clientId: 'they' })];
    await mine.prepare();
    await mine.write(aToken('mine'));
    expect(await theirs.read()).toMatchObject({ kind: 'unusable', origin: 'client_credentials' });
    await theirs.setAside();
    await theirs.write(aToken('theirs'));
    expect(await mine.takeBack()).toEqual({ kind: 'token', token: aToken('mine') });
    expect(await theirs.takeBack()).toEqual({ kind: 'token', token: aToken('theirs') });
  });

  test('once a person has logged in, only a login counts, even after its token is gone', async () => {
    const open = await store();
    const tokens = open();
    await tokens.prepare();
    expect(await tokens.needsLogin(await tokens.read())).toBe(false);
    await tokens.write(aToken('hers', 'authorization_code'));
    await tokens.remove();
    expect(await open().needsLogin(await open().read())).toBe(true);
  });
}
