import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { ASKING } from '../../src/ledger-postgres/database/settings.ts';
import { statementTexts } from '../../src/ledger-postgres/database/statement.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { PostgresStore } from './postgres-store.ts';

interface Plan {
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

const allOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(allOf)];

/** Number of rows of `_attempts` that a plan has read. */
function rowsRead(plan: Plan): number {
  const reads = allOf(plan).filter((node) => node['Relation Name'] === '_attempts');
  const rows = reads.map(
    (node) =>
      node['Actual Loops'] *
      (node['Actual Rows'] +
        (node['Rows Removed by Index Recheck'] ?? 0) +
        (node['Rows Removed by Filter'] ?? 0)),
  );
  return rows.reduce((sum, some) => sum + some, 0);
}

async function connect(store: PostgresStore): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: requireDatabaseUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`SET search_path = ${store.schema}, pg_catalog`);
  return client;
}

/** Commits transactions that add attempts of the first delivery, 60 each. */
async function commitBeside(client: pg.Client, transactions: number): Promise<void> {
  await client.query('SET synchronous_commit = off');
  await client.query(`DO $$ BEGIN FOR n IN 1..${transactions} LOOP
    INSERT INTO _attempts (delivery_no, batch_no, started_at, duration_ms, outcome)
      SELECT (SELECT min(delivery_no) FROM _deliveries), 1, 1, 1, 'delivered' FROM generate_series(1, 60);
    COMMIT;
  END LOOP; END $$`);
}

it('the feed reads rows only once, even if they were committed during another long transaction', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1]);
  const [long, client] = [await connect(store), await connect(store)];
  await long.query('BEGIN; SELECT pg_current_xact_id()');
  await commitBeside(client, 2_000);
  await client.query("SELECT brin_summarize_new_values('_attempts_by_xact')");
  const end = await on.ledger.feedCursor();
  await commitBeside(client, 2);
  const page = await on.ledger.feed(end, false);
  expect(page.entries.filter(({ kind }) => kind === 'attempt')).toHaveLength(120);

  for (const [name, value] of Object.entries(ASKING)) await client.query(`SET ${name} = ${value}`);
  const { rows } = await client.query(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${statementTexts.get('attempts-unseen')?.replaceAll('$1', `'${end.seen}'`).replaceAll('$2', 'pg_current_snapshot()::text').replace('$3', '0').replace('$4', '500')}`,
  );
  const plan = rows[0]['QUERY PLAN'][0].Plan as Plan;
  const indexes = allOf(plan).flatMap((node) => node['Index Name'] ?? []);
  expect(indexes.filter((index) => index === '_attempts_by_xact')).toHaveLength(2);
  // The index tells ranges of 128 pages apart, which hold some 10,000 of the 120,000 attempts.
  expect(rowsRead(plan)).toBeLessThan(30_000);
});
