import { expect, it, onTestFinished, vi } from 'vitest';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import { PostgresAccess } from '../../src/ledger-postgres/database/postgres-access.ts';
import { statement } from '../../src/ledger-postgres/database/statement.ts';
import type { Transaction } from '../../src/ledger-postgres/database/transaction.ts';
import { openPostgresLedger } from '../../src/ledger-postgres/postgres-ledger.ts';
import type * as schema from '../../src/ledger-postgres/schema/schema.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';
import { startTransactionPooler } from './transaction-pooler.ts';

// The last migration stores the limits that it runs with.
vi.mock('../../src/ledger-postgres/schema/schema.ts', async (original) => ({
  migrations: [
    ...(await original<typeof schema>()).migrations,
    "CREATE TABLE _limits AS SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock",
  ],
}));

it.each([1, 3])(
  'a pooler that shares %i sessions between transactions is refused in one sentence',
  async (sessions) => {
    const store = new PostgresStore();
    const url = await startTransactionPooler(sessions);
    const judge = () => ({ health: HEALTHY, verdicts: [], reviveSince: undefined });
    const options = { ...store.place(), url, clock: systemClock, random: Math.random, judge, create: true };
    await expect(openPostgresLedger(options)).rejects.toMatchObject({
      code: 'pooled',
      isTransient: false,
      message: expect.stringMatching(/ cannot be used through a connection pooler that [^.]+ sessions\.$/),
      hint: expect.stringContaining('pool_mode = session'),
    });
    // Nothing was created in another schema.
    expect(
      await store.query(
        "SELECT 1 FROM pg_class WHERE relname = '_limits' AND relnamespace <> to_regnamespace(current_schema())",
      ),
    ).toEqual([]);
  },
);

it('migrations take as long as they take, but do not wait long for the locks of others', async () => {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open, 'crm');
  expect(await store.query('SELECT * FROM _limits')).toEqual([{ statement: '0', lock: '10s' }]);
});

const NAMES = [
  'synchronous_commit',
  'client_connection_check_interval',
  'statement_timeout',
  'lock_timeout',
  'timezone',
];
const SETTINGS = statement<{ name: string; setting: string }>(
  'settings-in-test',
  `SELECT name, current_setting(name) AS setting FROM unnest(string_to_array('${NAMES}', ',')) AS n (name)`,
);

it('each connection has the settings that the ledger relies on, whatever the role has', async () => {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open, 'crm');
  const url = new URL(store.place().url);
  url.searchParams.set('options', '-c synchronous_commit=off -c statement_timeout=1h -c timezone=Asia/Tokyo');
  const access = await PostgresAccess.open({ ...store.place(), url: url.href });
  onTestFinished(() => access.close());
  const shown = async (tx: Transaction) =>
    Object.fromEntries((await tx.rows(SETTINGS)).map(({ name, setting }) => [name, setting]));
  const expected = {
    synchronous_commit: 'on',
    client_connection_check_interval: '5s',
    statement_timeout: '30s',
    lock_timeout: '10s',
    timezone: 'UTC',
  };
  for (const settings of [await access.write(shown), await access.read(shown), await access.ask(shown)])
    expect(settings).toEqual(expected);
});
