import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { statementTexts } from '../../src/ledger-postgres/database/statement.ts';
import { aSink, changedLead, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { PostgresStore } from './postgres-store.ts';

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: requireDatabaseUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

it('a lead that changes again while the newest leads are searched does not overtake its earlier version', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, aSink('crm', { events: ['created', 'updated'] }));
  await on.list([1]);
  await on.take('crm');
  await on.list([changedLead(1, 'B')]);
  const [holder, client] = [await connected(), await connected()];
  await client.query(`SET search_path = ${store.schema}; SET application_name = '${store.schema}';
    CREATE FUNCTION _wait() RETURNS boolean LANGUAGE plpgsql AS
      $$ BEGIN PERFORM 1 FROM pg_advisory_xact_lock_shared('_sinks'::regclass::oid::bigint); RETURN true; END $$`);
  await holder.query(`SELECT pg_advisory_lock('${store.schema}._sinks'::regclass::oid::bigint)`);
  // Stops the statement after it began, and before it locks a row.
  const text = statementTexts.get('due-newest')?.replace('d.next_attempt_at <= $2', '$& AND _wait()') ?? '';
  expect(text).toContain('_wait()');
  const found = client.query({ text, values: [1, on.clock.now().getTime(), 100, 100, 0] });
  await until('the statement waits', () => store.isWaiting());
  await on.list([changedLead(1, 'C')]);
  expect(await on.owed('crm')).toEqual(['1 v1 pending', '1 v3 pending']);
  await holder.query('SELECT pg_advisory_unlock_all()');
  expect((await found).rows).toEqual([]);
});
