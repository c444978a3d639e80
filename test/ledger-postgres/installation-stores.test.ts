import { describe, expect, onTestFinished, test } from 'vitest';
import { StoredAlerts } from '../../src/alerts/stored-alerts.ts';
import { StoredExportStates } from '../../src/exports/export-states.ts';
import { openInstallationStores } from '../../src/ledger-postgres/installation-stores.ts';
import type { Clock } from '../../src/platform/time/clock.ts';
import { TokenStore } from '../../src/source/auth/token-store.ts';
import { alertStoreContract } from '../alerts/alert-store-contract.ts';
import { auditStoreContract } from '../audit/audit-store-contract.ts';
import { exportStatesContract } from '../exports/export-states-contract.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { tokenStoreContract } from '../source/token-store-contract.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { PostgresStore } from './postgres-store.ts';

/** Creates a ledger, and returns the stores of two processes. The server's time is that of the test. */
async function twoProcesses(clocks: readonly [Clock, Clock] = [new HeldClock(), new HeldClock()]) {
  const store = new PostgresStore();
  const on = new LedgerUnderTest(store.open);
  await on.ledger.status();
  const open = async (clock: Clock) => {
    const stores = await openInstallationStores(store.place(), clock);
    onTestFinished(() => stores.close());
    return stores;
  };
  return { one: await open(clocks[0]), other: await open(clocks[1]), store };
}

/** Returns what changes with each renewal of the only lock. */
async function renewal(store: PostgresStore): Promise<number | undefined> {
  const [lock] = await store.query<{ held_until: number }>(
    'SELECT held_until::float8 AS held_until FROM _document_locks',
  );
  return lock?.held_until;
}

/** Returns a function that opens the same thing in turn for one process and the other. */
function inTurn<Stores, T>(one: Stores, other: Stores, open: (stores: Stores) => T): () => T {
  let opened = 0;
  return () => {
    opened += 1;
    return open(opened % 2 === 0 ? other : one);
  };
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

  test('the right to renew stays with a process that renews it, and goes to one that has seen it unchanged for a lease', async () => {
    const [clock, watching] = [new HeldClock(), new HeldClock()];
    const { one, other, store } = await twoProcesses([clock, watching]);
    const lock = await one.tokens.tryLock('main');
    const before = await renewal(store);
    expect(await other.tokens.tryLock('main')).toBeUndefined();
    await clock.pass(5_000);
    await until('the right is renewed', async () => (await renewal(store)) !== before);
    watching.jump(15_000);
    expect(await other.tokens.tryLock('main')).toBeUndefined();
    watching.jump(14_990);
    expect(await other.tokens.tryLock('main')).toBeUndefined();
    watching.jump(20); // the holder stands still
    const taken = await other.tokens.tryLock('main');
    expect(taken?.isHeld()).toBe(true);
    await lock?.release();
    expect(await one.tokens.tryLock('main')).toBeUndefined();
    await taken?.release();
  });

  test('a process that stood still knows that it may have lost the right, and can no longer write a token', async () => {
    const [clock, watching] = [new HeldClock(), new HeldClock()];
    const { one, other } = await twoProcesses([clock, watching]);
    const lock = await one.tokens.tryLock('main');
    await other.tokens.tryLock('main');
    watching.jump(15_000);
    const taken = await other.tokens.tryLock('main');
    await other.tokens.write('main.json', 'new', taken);
    expect(lock?.isHeld()).toBe(true);
    clock.jump(10_500);
    expect(lock?.isHeld()).toBe(false);
    const lost = { code: 'lock-lost' };
    await expect(one.tokens.write('main.json', 'late', lock)).rejects.toMatchObject(lost);
    await expect(one.tokens.rename('main.json', 'aside', lock)).rejects.toMatchObject(lost);
    await expect(one.tokens.remove('main.json', lock)).rejects.toMatchObject(lost);
    expect(await one.tokens.read('main.json')).toBe('new');
    await taken?.release();
  });

  test('no clock of the server that was set ends the right to renew, or keeps it from ending', async () => {
    const watching = new HeldClock();
    const { one, other, store } = await twoProcesses([new HeldClock(), watching]);
    expect(await one.tokens.tryLock('main')).toBeDefined();
    await store.query('UPDATE _test_clock SET ms = ms + 3600000');
    expect(await other.tokens.tryLock('main')).toBeUndefined();
    await store.query('UPDATE _test_clock SET ms = ms - 7200000');
    watching.jump(15_000);
    const taken = await other.tokens.tryLock('main');
    expect(taken).toBeDefined();
    await taken?.release();
  });

  test('a right that the server does not let go is given up after seconds, and ends by itself', async () => {
    const clock = new HeldClock();
    const { store } = await twoProcesses();
    const never = new Promise<void>(() => undefined);
    const beforeStatement = (name: string) =>
      name.endsWith('-document-lock') || name === 'unlock-document' ? never : undefined;
    const stores = await openInstallationStores({ ...store.place(), beforeStatement }, clock);
    onTestFinished(() => stores.close());
    const lock = await stores.tokens.tryLock('main');
    await clock.pass(5_000);
    await lock?.release();
    expect(lock).toBeDefined();
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

describe('the states of exports in the schema of the ledger', () => {
  exportStatesContract(async () => {
    const { one, other } = await twoProcesses();
    const folders = new Map([one, other].map((stores) => [stores, tempDir()]));
    return inTurn(one, other, (stores) => new StoredExportStates(stores.exports, folders.get(stores) ?? ''));
  });
});

describe('the alerts in the schema of the ledger', () => {
  alertStoreContract(async () => {
    const { one, other } = await twoProcesses();
    return inTurn(one, other, (stores) => new StoredAlerts(stores.alerts));
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
