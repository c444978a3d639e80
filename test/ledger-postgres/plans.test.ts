import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { markMoved } from '../../src/ledger-postgres/database/copy-marks.ts';
import { WRITING } from '../../src/ledger-postgres/database/settings.ts';
import { statementTexts } from '../../src/ledger-postgres/database/statement.ts';
import '../../src/ledger-postgres/installation-stores.ts'; // its statements
import '../../src/ledger-postgres/postgres-pages.ts'; // its statements
import { ids, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
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
  '_client_keys',
  '_audit',
]);

/** Statements that may read many rows of a large table, by name, with the reason. */
const MAY_READ_MANY: Readonly<Record<string, string>> = {
  'newest-contents': 'reads the newest versions by number',
  'recent-attempts': 'reads the last attempts by number',
  'failed-attempts-of-sink': 'reads the last failed attempts by number',
  'remove-client-keys': 'removes all of them in parts',
  'rejected-faults': 'reads the last 50,000 rejected leads by number',
  'rejected-beyond': 'reads the numbers of the last 50,000 rejected leads',
  'several-sums': 'reads a row for each ten minutes of a week and each sink',
  'sent-last': 'reads the last attempts by number',
  'last-audit-line': 'reads the numbers of the last 20,000 lines',
  'last-polls': 'reads the last polls by number',
  'recent-speeds': 'reads the last deliveries by number',
};

/** Statements that read a BRIN index, on connections or in transactions that allow it. */
const BY_BITMAP: ReadonlySet<string> = new Set(['attempts-unseen', 'clear-batch-mates']);

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

/** Returns the indexes that a plan reads. */
function indexesOf({ 'Index Name': index, Plans = [] }: Plan): string[] {
  return [...(index === undefined ? [] : [index]), ...Plans.flatMap(indexesOf)];
}

/** Returns the plan of each statement, by its name, as the ledger's connections that write would make it. */
async function plansIn(store: PostgresStore): Promise<Map<string, Plan>> {
  const client = new pg.Client({ connectionString: requireDatabaseUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`SET search_path = ${store.schema}`);
  for (const [name, value] of Object.entries(WRITING)) await client.query(`SET ${name} = ${value}`);
  // One statement reads a table that only a ledger has that was moved. The transaction is never committed.
  await client.query('BEGIN');
  await markMoved(client, store.schema, { to: 'another place', at: 1 });
  const plans = new Map<string, Plan>();
  for (const [name, text] of statementTexts) {
    await client.query(`SET enable_bitmapscan = ${BY_BITMAP.has(name) ? 'on' : 'off'}`);
    await client.query(`PREPARE "explained" AS ${text}`);
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

it('every statement finds rows of large tables by their keys', async () => {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open, 'crm');
  expect(statementTexts.size).toBeGreaterThan(150);
  const faults = [...(await plansIn(store))].filter(([, plan]) => readsWithoutKey(plan).length > 0);
  expect(faults.map(([name]) => name).sort()).toEqual(Object.keys(MAY_READ_MANY).sort());
});

/** Statements that read every delivery in a batch: few of a backlog are. */
const READ_BATCHED = ['lock-batches-of-deliveries'];

it('every statement finds leads and deliveries by their keys, by statistics from before the first claim', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 20_000));
  await store.query('ANALYZE');
  const faults = [...(await plansIn(store))].filter(([, plan]) =>
    readsWithoutKey(plan).some((read) => / _(leads|versions|deliveries)/.test(read)),
  );
  const unexpected = faults.map(([name]) => name).filter((name) => !MAY_READ_MANY[name]);
  expect(unexpected.sort()).toEqual(READ_BATCHED);
});

/** Statements whose work must not grow with the backlog of a sink or with its history, and the index that each reads in order. */
const INDEXES: Readonly<Record<string, string>> = {
  'deliveries-of-lead': '_versions_by_lead',
  'next-retry': '_deliveries_retrying',
  retrying: '_deliveries_retrying',
  'left-out-since': '_deliveries_skipped',
  'dead-reason': '_deliveries_dead',
  'dead-times': '_deliveries_dead',
  'oldest-owed': '_deliveries_pending',
  'due-since': '_deliveries_due',
  'dead-reasons': '_deliveries_given_up',
  'failed-reasons': '_deliveries_retrying',
  'pending-of-age': '_deliveries_pending',
  'versions-since': '_versions_first',
  'count-first-versions': '_versions_first',
  'every-nth-first-version': '_versions_first',
  'first-import': '_versions_first',
};

/** Returns the reads of all deliveries of a sink in a state: those by an index of which only the sink is given. */
function readsOfSink(plan: Plan): string[] {
  const { 'Relation Name': table, 'Index Name': index = '', 'Index Cond': key } = plan;
  const bad = table === '_deliveries' && key !== undefined && /^\(sink_no = [^)]*\)$/.test(key);
  return [...(bad ? [index] : []), ...(plan.Plans ?? []).flatMap(readsOfSink)];
}

/** Statements that may read deliveries of a sink by its number alone, with the reason. */
const MAY_READ_SINK: Readonly<Record<string, string>> = {
  'count-idle': 'counts what forgetting a sink would skip',
  revive: 'changes what a sink that recovers has refused',
  'sent-pending': 'counts what a new mapping would not apply to',
  'pending-replays': 'counts the pending replays of a sink',
  retrying: 'counts what a sink has failed and pending',
  'idle-deliveries': 'reads the first entries of an index',
  'oldest-owed': 'reads the first entry of an index',
  'due-since': 'reads the first entry of an index',
  'next-retry': 'reads the first entry of an index',
  'dead-reason': 'reads the last entries of an index',
  'dead-times': 'reads the first and the last entry of an index',
  'dead-reasons': 'reads the last entries of an index',
  'failed-reasons': 'reads the first entries of an index',
};

it('no statement reads all deliveries of a sink to find those of a lead', async () => {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open, 'crm');
  const faults = [...(await plansIn(store))].filter(([, plan]) => readsOfSink(plan).length > 0);
  expect(faults.map(([name]) => name).sort()).toEqual(Object.keys(MAY_READ_SINK).sort());
});

it('status and lists read the index of what they show', async () => {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open, 'crm');
  const plans = await plansIn(store);
  const read = Object.entries(INDEXES).filter(([name, index]) =>
    indexesOf(plans.get(name) as Plan).includes(index),
  );
  expect(Object.fromEntries(read)).toEqual(INDEXES);
});
