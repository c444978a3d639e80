import { expect, it } from 'vitest';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import { openPostgresLedger, type PostgresLedgerOptions } from '../../src/ledger-postgres/postgres-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { freePort } from '../support/servers/server-process.ts';
import { PostgresStore } from './postgres-store.ts';

function optionsFor(store: PostgresStore, create: boolean): PostgresLedgerOptions {
  const judge = () => ({ health: HEALTHY, verdicts: [], reviveSince: undefined });
  return { ...store.place(), clock: systemClock, random: Math.random, judge, create };
}

it('two processes that create the ledger at the same time open the same one', async () => {
  const options = optionsFor(new PostgresStore(), true);
  const ledgers = await Promise.all([openPostgresLedger(options), openPostgresLedger(options)]);
  expect(ledgers[0]?.id).toMatch(/^[0-9a-f]{32}$/);
  expect(ledgers[1]?.id).toBe(ledgers[0]?.id);
  for (const ledger of ledgers) await ledger.close();
});

it('a ledger that is opened again keeps its id, also by a process that may not create one', async () => {
  const store = new PostgresStore();
  const first = await openPostgresLedger(optionsFor(store, true));
  await first.close();
  const again = await openPostgresLedger(optionsFor(store, false));
  expect(again.id).toBe(first.id);
  await again.close();
});

it('a process that may not create a ledger reports that there is none', async () => {
  await expect(openPostgresLedger(optionsFor(new PostgresStore(), false))).rejects.toMatchObject({
    code: 'missing',
  });
});

it('a schema with other tables is not a ledger, and stays as it is', async () => {
  const store = new PostgresStore();
  await store.query(`CREATE SCHEMA ${store.schema}; CREATE TABLE ${store.schema}.other (id int)`);
  await expect(openPostgresLedger(optionsFor(store, true))).rejects.toMatchObject({ code: 'foreign' });
  expect(
    await store.query('SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace'),
  ).toEqual([{ relname: 'other' }]);
});

it('a ledger of a newer leadsync is not opened', async () => {
  const store = new PostgresStore();
  await (await openPostgresLedger(optionsFor(store, true))).close();
  await store.query('UPDATE _ledger SET shape = 1000');
  for (const create of [true, false])
    await expect(openPostgresLedger(optionsFor(store, create))).rejects.toMatchObject({ code: 'newer' });
});

it('a process that is running when a newer leadsync upgrades the ledger reads and writes nothing more', async () => {
  const store = new PostgresStore();
  const ledger = await openPostgresLedger(optionsFor(store, true));
  await ledger.startPoll('main');
  await store.query(
    'ALTER TABLE _ledger DROP COLUMN clock_at, DROP COLUMN set_back_ms; UPDATE _ledger SET shape = 1000',
  );
  await expect(ledger.startPoll('main')).rejects.toMatchObject({ code: 'newer' });
  await expect(ledger.status()).rejects.toMatchObject({ code: 'newer' });
  await ledger.close();
});

it('a server that cannot be reached is a failure that may pass', async () => {
  const store = new PostgresStore();
  const url = `postgresql://leadsync@127.0.0.1:${await freePort()}/postgres`;
  await expect(openPostgresLedger({ ...optionsFor(store, true), url })).rejects.toMatchObject({
    code: 'away',
    isTransient: true,
  });
});
