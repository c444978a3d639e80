import { expect, it } from 'vitest';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import { openPostgresLedger, type PostgresLedgerOptions } from '../../src/ledger-postgres/postgres-ledger.ts';
import { machineTables } from '../../src/ledger-postgres/schema/machines-migration.ts';
import { migrations } from '../../src/ledger-postgres/schema/schema.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { LedgerUnderTest, MINUTE } from '../ledger/ledger-under-test.ts';
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

/** Puts a ledger back to the state before its last tables were added. */
async function makeOlder(store: PostgresStore): Promise<void> {
  const shape = migrations.indexOf(machineTables);
  await store.query(
    `DROP TABLE _processes, _missing_processes, _duty_leases; UPDATE _ledger SET shape = ${shape}`,
  );
}

it('an older ledger is not upgraded while a process delivers with it, unless that process is known to be dead', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1, 2]);
  const [ref] = (await on.claim('crm')).refs;
  if (!ref) throw new Error('nothing was claimed');
  await on.ledger.begin(ref, MINUTE);
  await makeOlder(store);
  const options = optionsFor(store, true);
  await expect(openPostgresLedger(options)).rejects.toMatchObject({
    code: 'held',
    message: expect.stringContaining('is delivering with the ledger'),
    hint: expect.stringContaining('their last lease ends in 60 seconds'),
  });
  const [batch] = await store.query<{ holder: string }>(
    'SELECT holder FROM _batches WHERE holder IS NOT NULL',
  );
  const isDead = async (holder: string) => holder === batch?.holder;
  const ledger = await openPostgresLedger({ ...options, isDead });
  await ledger.close();
});

it('an older ledger is upgraded when the leases of its processes have ended', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1]);
  const [ref] = (await on.claim('crm')).refs;
  if (!ref) throw new Error('nothing was claimed');
  await on.ledger.begin(ref, MINUTE);
  await makeOlder(store);
  await store.query(`UPDATE _test_clock SET ms = ms + ${MINUTE}`);
  const ledger = await openPostgresLedger(optionsFor(store, true));
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
