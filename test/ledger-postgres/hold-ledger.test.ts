import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import type { HeldLedger } from '../../src/ledger/contract/held-ledger.ts';
import { machineTables } from '../../src/ledger-postgres/database/machines-migration.ts';
import { migrations } from '../../src/ledger-postgres/database/schema.ts';
import { holdLedger } from '../../src/ledger-postgres/hold-ledger.ts';
import { inspectServer } from '../../src/ledger-postgres/inspect-server.ts';
import { openPostgresLedger } from '../../src/ledger-postgres/postgres-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { PostgresStore } from './postgres-store.ts';

const judge = () => ({ health: HEALTHY, verdicts: [], reviveSince: undefined });
const BEATS_MS = 6_000;

async function open(store: PostgresStore, dead: readonly string[] = []): Promise<void> {
  const isDead = async (name: string) => dead.includes(name);
  const parts = { clock: systemClock, random: Math.random, judge, create: true, isDead };
  await (await openPostgresLedger({ ...store.place(), ...parts })).close();
}

/** Returns an empty ledger. */
async function aLedger(): Promise<PostgresStore> {
  const store = new PostgresStore();
  await open(store);
  return store;
}

async function hold(
  store: PostgresStore,
  holder: string,
  { clock = new HeldClock(), dead = [] }: { clock?: HeldClock; dead?: readonly string[] } = {},
): Promise<HeldLedger> {
  const isDead = async (name: string) => dead.includes(name);
  const self = { holder, machine: `of-${holder}`, pid: 42 };
  const held = await holdLedger(store.place(), { ...self, clock, isDead });
  onTestFinished(async () => void (await held.release()));
  return held;
}

/** Makes the lease of the holder end, as the time of the server would. */
async function endLease(store: PostgresStore): Promise<void> {
  await store.query('UPDATE _duties SET held_until = _now()');
}

it('one process holds a ledger, and the error of another one names it and since when it holds it', async () => {
  const store = await aLedger();
  const first = await hold(store, 'a');
  await expect(hold(store, 'b')).rejects.toMatchObject({
    code: 'held',
    message: expect.stringMatching(/: process 42 on of-a, since \d{4}-\d\d-\d\dT[\d:]{8}Z\.$/),
  });
  await first.release();
  await hold(store, 'b');
});

it('the holder may be a process that is known to be dead, and its lease need not end first', async () => {
  const store = await aLedger();
  await hold(store, 'killed');
  await hold(store, 'next', { dead: ['killed'] });
  await expect(hold(store, 'other', { dead: ['killed'] })).rejects.toMatchObject({ code: 'held' });
});

it('a holder that was not seen for a lease loses the ledger only if another process takes it', async () => {
  const store = await aLedger();
  const clock = new HeldClock();
  const first = await hold(store, 'frozen', { clock });
  const [row] = await store.query('SELECT since FROM _duties');
  await endLease(store);
  await clock.pass(BEATS_MS);
  const isHeld = async () =>
    (await store.query('SELECT 1 FROM _duties WHERE held_until > _now()')).length > 0;
  await until('the lease is extended', isHeld);
  expect(await store.query('SELECT since FROM _duties')).toEqual([row]);
  await endLease(store);
  await hold(store, 'next');
  await clock.pass(BEATS_MS);
  expect(await first.lost).toMatch(/^process 42 on of-next, since /);
  // It does not give up what is not its own.
  await first.release();
  await expect(hold(store, 'third')).rejects.toMatchObject({ code: 'held' });
});

it('a release says that it could not give the ledger up, and the ledger then still names its holder', async () => {
  const store = await aLedger();
  const held = await hold(store, 'a');
  const other = new pg.Client({ connectionString: requireDatabaseUrl() });
  await other.connect();
  await other.query(`BEGIN; LOCK TABLE ${store.schema}._duties`);
  expect(await held.release()).toBe(false);
  await other.end();
  expect(await store.query('SELECT holder FROM _duties')).toEqual([{ holder: 'a' }]);
  await hold(store, 'next', { dead: ['a'] });
});

it('the lease of a dead holder does not last longer because the clock of the server was set back', async () => {
  const store = await aLedger();
  await hold(store, 'killed');
  await store.query('UPDATE _duties SET held_until = _now() + 3600000');
  await hold(store, 'next');
});

it('a ledger that another leadsync works with is not upgraded', async () => {
  const store = await aLedger();
  await hold(store, 'a');
  await store.query('UPDATE _ledger SET shape = shape - 1');
  await expect(open(store)).rejects.toMatchObject({ code: 'held' });
});

it('a ledger whose holder is known to be dead is upgraded without waiting for its lease', async () => {
  const store = await aLedger();
  await hold(store, 'killed');
  const shape = migrations.indexOf(machineTables);
  await store.query(`DROP TABLE _processes, _duty_leases; UPDATE _ledger SET shape = ${shape}`);
  await open(store, ['killed']);
  expect((await inspectServer(store.place())).isOlder).toBe(false);
});

it('a check says which rights of the user reach beyond the database', async () => {
  const store = await aLedger();
  const { reader, url } = await store.addReader();
  const powers = async () => (await inspectServer({ ...store.place(), url })).powers;
  expect(await powers()).toBeNull();
  await store.query(`GRANT pg_read_server_files TO ${reader}`);
  expect(await powers()).toBe('a member of pg_read_server_files');
});

it('a check names the holder', async () => {
  const store = await aLedger();
  expect((await inspectServer(store.place())).holder).toBeUndefined();
  await hold(store, 'a');
  expect((await inspectServer(store.place())).holder).toMatch(/^process 42 on of-a/);
});
