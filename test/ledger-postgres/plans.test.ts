import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { WRITING } from '../../src/ledger-postgres/database/postgres-access.ts';
import { statementTexts } from '../../src/ledger-postgres/database/statement.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { PostgresStore } from './postgres-store.ts';

/** Tables that grow with leads, deliveries or time. The others have a few rows; batches are only those being attempted or failed. */
const LARGE: ReadonlySet<string> = new Set([
  '_leads',
  '_versions',
  '_deliveries',
  '_attempts',
  '_polls',
  '_rejected_leads',
  '_presence',
  '_sink_activity',
]);

/** Statements that may read many rows of a large table, by name, with the reason. */
const MAY_READ_MANY: Readonly<Record<string, string>> = {
  'newest-deliveries': 'is read over connections that read, whose plans go by the filter that is given',
  'delivery-numbers': 'is read over connections that read, whose plans go by the filter that is given',
  'newest-contents': 'reads the newest versions by number',
  'recent-attempts': 'reads the last attempts by number',
  'last-polls': 'reads the last polls by number',
  'recent-speeds': 'reads the last deliveries by number',
};

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

/** Returns the reads of large tables that have no key: those of the whole table, and those of a whole index. */
function readsWithoutKey(plan: Plan): string[] {
  const { 'Node Type': node, 'Relation Name': table = '', 'Index Name': index } = plan;
  const isScan = /Seq Scan|Index Scan|Index Only Scan/.test(node) && node !== 'Bitmap Index Scan';
  const bad = isScan && LARGE.has(table) && plan['Index Cond'] === undefined;
  return [...(bad ? [`${node} ${index ?? table}`] : []), ...(plan.Plans ?? []).flatMap(readsWithoutKey)];
}

/** Returns the plans of statements by name, as the ledger's connections that write would have them. */
async function plansOf(store: PostgresStore, names: Iterable<string>): Promise<Map<string, Plan>> {
  const client = new pg.Client({ connectionString: requireDatabaseUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`SET search_path = ${store.schema}`);
  for (const [name, value] of Object.entries(WRITING)) await client.query(`SET ${name} = ${value}`);
  const plans = new Map<string, Plan>();
  for (const name of names) {
    await client.query(`PREPARE "explained" AS ${statementTexts.get(name)}`);
    const { rows } = await client.query(
      "SELECT cardinality(parameter_types) AS n FROM pg_prepared_statements WHERE name = 'explained'",
    );
    const nulls = Array.from({ length: rows[0].n }, () => 'NULL');
    const values = nulls.length > 0 ? `(${nulls.join(', ')})` : '';
    const explained = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE "explained"${values}`);
    plans.set(name, explained.rows[0]['QUERY PLAN'][0].Plan);
    await client.query('DEALLOCATE "explained"');
  }
  return plans;
}

/** Returns by what a plan finds rows in an index. */
function keysOf(plan: Plan, index: string): string[] {
  const own = plan['Index Name'] === index ? [plan['Index Cond'] ?? 'nothing'] : [];
  return [...own, ...(plan.Plans ?? []).flatMap((part) => keysOf(part, index))];
}

it('every statement finds rows of large tables by their keys', async () => {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open, 'crm');
  expect(statementTexts.size).toBeGreaterThan(150);
  const plans = await plansOf(store, statementTexts.keys());
  const faulty = [...plans].filter(([, plan]) => readsWithoutKey(plan).length > 0).map(([name]) => name);
  expect(faulty.sort()).toEqual(Object.keys(MAY_READ_MANY).sort());
});

it.each(['due', 'next-due', 'any-due'])(
  'the statement %s reads nothing of the index before its floor',
  async (name) => {
    const store = new PostgresStore();
    await LedgerUnderTest.with(store.open, 'crm');
    const plan = (await plansOf(store, [name])).get(name) as Plan;
    const keys = keysOf(plan, '_deliveries_due');
    expect(keys).toHaveLength(1);
    expect(keys[0]).toMatch(/ROW\(.*next_attempt_at, .*delivery_no\) > ROW\(/);
  },
);
