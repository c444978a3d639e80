import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type InstallationStores,
  openInstallationStores,
} from '../../src/ledger-postgres/installation-stores.ts';
import type { Clock } from '../../src/platform/time/clock.ts';
import { TokenStore } from '../../src/source/auth/token-store.ts';
import { auditStoreContract } from '../audit/audit-store-contract.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { tokenStoreContract } from '../source/token-store-contract.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { PostgresStore } from './postgres-store.ts';

/** Creates a ledger, and returns the stores of two processes. The server's time is that of the test. */
async function twoProcesses(clocks: readonly [Clock, Clock] = [new HeldClock(), new HeldClock()]) {
  const store = new PostgresStore();
  const on = new LedgerUnderTest(store.open);
  await on.ledger.status();
  const open = async (clock: Clock): Promise<InstallationStores> => {
    const stores = await openInstallationStores(store.place(), clock);
    onTestFinished(() => stores.close());
    return stores;
  };
  const tellTime = async (ms: number) => {
    on.clock.jump(ms);
    await on.ledger.status();
  };
  return { one: await open(clocks[0]), other: await open(clocks[1]), store, tellTime };
}

async function heldUntil(store: PostgresStore): Promise<string | undefined> {
  const [lock] = await store.query<{ held_until: number }>(
    'SELECT held_until::float8 AS held_until FROM _document_locks',
  );
  return lock && new Date(lock.held_until).toISOString();
}

describe('tokens in the schema of the ledger', () => {
  tokenStoreContract(async () => {
    const { one, other } = await twoProcesses();
    let opened = 0;
    return ({ clientId } = { clientId: 'me' }) => {
      opened += 1;
      return new TokenStore({
        name: 'main',
        account: { baseUrl: 'https://leads.test', clientId, scope: undefined, grant: undefined },
        documents: (opened % 2 === 0 ? other : one).tokens,
        key: undefined,
      });
    };
  });

  test('the right to renew stays with a process that renews its lease, and is free a lease after it has died', async () => {
    const clock = new HeldClock();
    const { one, other, store, tellTime } = await twoProcesses([clock, new HeldClock()]);
    const lock = await one.tokens.tryLock('main');
    await tellTime(10_000);
    await clock.pass(5_000); // the holder renews
    await until('the lease is renewed', async () => (await heldUntil(store)) !== '2026-11-20T10:00:15.000Z');
    await tellTime(10_000);
    expect(await other.tokens.tryLock('main')).toBeUndefined();
    await tellTime(10_000); // the holder stands still
    const taken = await other.tokens.tryLock('main');
    expect(taken).toBeDefined();
    await lock?.release();
    expect(await one.tokens.tryLock('main')).toBeUndefined();
    await taken?.release();
  });

  test('a store that cannot be reached fails with a code, the place and a next step, without the password', async () => {
    const { one, store } = await twoProcesses();
    await store.query('DROP TABLE _documents');
    const tokens = new TokenStore({
      name: 'main',
      account: { baseUrl: 'https://leads.test', clientId: 'me', scope: undefined, grant: undefined },
      documents: one.tokens,
      key: undefined,
    });
    await expect(tokens.read()).rejects.toMatchObject({
      code: 'token-file',
      message: expect.stringMatching(
        /^The stored token of source main cannot be read \(\w+\): tokens\/main\.json in PostgreSQL at \S+\.$/,
      ),
      hint: expect.stringContaining('server'),
    });
  });
});

describe('the audit log in the schema of the ledger', () => {
  auditStoreContract(async () => {
    const clocks = [new HeldClock(), new HeldClock()] as const;
    const { one, other } = await twoProcesses(clocks);
    let opened = 0;
    return () => {
      opened += 1;
      return opened % 2 === 0
        ? { audit: other.audit, clock: clocks[1] }
        : { audit: one.audit, clock: clocks[0] };
    };
  });

  test('a filter that matches few lines reads a bounded number of them for a page', async () => {
    const { one, store } = await twoProcesses();
    await one.audit.write({ who: 'anna', what: 'pause' });
    await store.query(
      `INSERT INTO _audit (at, who, what, details) SELECT 0, 'bob', 'retry', '{}' FROM generate_series(1, 25000)`,
    );
    const first = await one.audit.read({ who: 'anna' }, { limit: 5 });
    expect(first?.rows).toEqual([]);
    const second = await one.audit.read({ who: 'anna' }, { limit: 5, after: first?.next ?? '' });
    expect(second).toMatchObject({ rows: [{ who: 'anna' }], next: null });
    expect(await one.audit.count({ who: 'anna' }, 100)).toEqual({ count: 0, isAtLeast: true });
  });

  test('the newest 200,000 lines are kept', async () => {
    const { one, store } = await twoProcesses();
    await store.query(
      `INSERT INTO _audit (at, who, what, details) SELECT 0, 'bob', 'retry', '{}' FROM generate_series(1, 200010)`,
    );
    await one.audit.write({ who: 'anna', what: 'pause' });
    expect(
      await store.query('SELECT min(audit_no)::int AS first, count(*)::int AS lines FROM _audit'),
    ).toEqual([{ first: 12, lines: 200_000 }]);
  });
});
