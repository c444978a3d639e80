import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { LedgerPool } from '../../src/ledger-postgres/database/ledger-pool.ts';
import { SharedSlots } from '../../src/ledger-postgres/database/shared-slots.ts';
import { requireDatabaseUrl, uniqueName } from '../support/servers/services.ts';

// What the pools of a process do when the server grants fewer connections than they would use. A limit of a role does not hold for superusers.

/** Returns a function that opens pools for a role that the server grants only so many connections. */
async function granted(most: number) {
  const url = new URL(requireDatabaseUrl());
  const role = uniqueName('role');
  const run = async (sql: string) => {
    const admin = new pg.Client({ connectionString: requireDatabaseUrl() });
    await admin.connect();
    await admin.query(sql).finally(() => admin.end());
  };
  await run(`CREATE ROLE ${role} LOGIN PASSWORD 'let-me-in' CONNECTION LIMIT ${most}`);
  onTestFinished(() => run(`DROP ROLE ${role}`));
  url.username = role;
  url.password = 'let-me-in';
  return async (connections: number, connectMs = 60_000) => {
    const pool = await LedgerPool.open({
      address: url.href,
      connections,
      connectMs,
      applicationName: 'a test',
    });
    onTestFinished(() => pool.end());
    return pool;
  };
}

const one = async (pool: LedgerPool) => (await pool.query('SELECT 1 AS one', [])).rows;

test('pools that would use more connections than they get take turns', async () => {
  const open = await granted(2);
  const pools = [await open(4), await open(2), await open(1)];
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) => one(pools[index % 3] as LedgerPool)),
  );
  expect(answers).toEqual(Array.from({ length: 60 }, () => [{ one: 1 }]));
});

test('a pool gets the connection that another one has and does not use', async () => {
  const open = await granted(1);
  const [first, second] = [await open(1), await open(1)];
  for (const pool of [first, second, first]) expect(await one(pool)).toEqual([{ one: 1 }]);
});

test('a pool waits for a connection that another one is using', async () => {
  const open = await granted(1);
  const [first, second] = [await open(1), await open(1)];
  const client = await first.connect();
  const answer = one(second);
  await client.query('SELECT 1');
  client.release();
  expect(await answer).toEqual([{ one: 1 }]);
});

test('a pool that waits in vain reports what the server has answered', async () => {
  const open = await granted(1);
  const [first, second] = [await open(1), await open(1, 50)];
  const client = await first.connect();
  await expect(second.connect()).rejects.toMatchObject({ code: '53300' });
  client.release();
});

test('a process that the server grants no connection reports it without waiting', async () => {
  const open = await granted(0);
  const pools = [await open(1), await open(1)];
  for (const result of await Promise.allSettled(pools.map(one)))
    expect(result).toMatchObject({ status: 'rejected', reason: { code: '53300' } });
});

test('calls that the server refuses all do not keep each other asking', async () => {
  const open = await granted(0);
  const pools = [await open(1), await open(1), await open(1)];
  const connect = vi.spyOn(pg.Client.prototype, 'connect');
  onTestFinished(() => connect.mockRestore());
  const calls: Promise<unknown>[] = [];
  for (let index = 0; index < 30; index += 1) {
    calls.push(one(pools[index % 3] as LedgerPool).catch((error: unknown) => error));
    await sleep(index % 4);
  }
  for (const answer of await Promise.all(calls)) expect(answer).toMatchObject({ code: '53300' });
  expect(connect.mock.calls.length).toBeLessThan(300);
});

test('a connection that breaks is replaced', async () => {
  const open = await granted(1);
  const pool = await open(1);
  await expect(pool.query('SELECT pg_terminate_backend(pg_backend_pid())', [])).rejects.toThrow();
  await expect(pool.query('SELECT wrong', [])).rejects.toMatchObject({ code: '42703' });
  expect(await one(pool)).toEqual([{ one: 1 }]);
});

test('a call does not wait beyond its time for a server that closes no connection', async () => {
  const client = Object.assign(new EventEmitter(), { release: () => undefined });
  const pool = Object.assign(new EventEmitter(), { idleCount: 1, connect: async () => client });
  const slots = new SharedSlots();
  slots.add(pool as unknown as pg.Pool);
  expect(await slots.freed(20)).toBe(false);
});
