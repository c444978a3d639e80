import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { statementTexts } from '../../src/ledger-postgres/database/statement.ts';
import '../../src/ledger-postgres/postgres-pages.ts'; // its statements
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { PostgresStore } from './postgres-store.ts';

/** Number of rows that each large table of these tests gets. */
const ROWS = 20_000;
/** Number of rows that a page reads at once, and the maximum of those that a plan may read for it, of all tables and indexes. */
const PAGE = 26;
const MOST_READ = 40 * PAGE;

/** SQL that fills the tables: leads of two services and two sources, deliveries of two sinks in every state, and so on. */
const FILL = `
  INSERT INTO _versions (version_no, source, id, version, poll_id, valid_from, first_seen_at, hash, raw, service_slug)
    SELECT 100 + n, CASE WHEN n % 2 = 0 THEN 'main' ELSE 'other' END, 100 + n, 1, 1, n, n, 'h', '{}', CASE WHEN n % 3 = 0 THEN 'moving' ELSE 'solar' END
    FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO _leads (source, id, version_no, first_no, version, hash, last_listed_at)
    SELECT source, id, version_no, version_no, 1, 'h', CASE WHEN id % 2 = 0 THEN 5 END FROM _versions WHERE id > 100;
  INSERT INTO _presence (presence_no, source, id, last_listed_at, noted_at)
    SELECT id, source, id, 5, 6 FROM _leads WHERE last_listed_at IS NOT NULL;
  INSERT INTO _deliveries (version_no, sink_no, event, state, owed_at, settled_at, next_attempt_at, discarded, reason)
    SELECT 100 + n, s.sink_no, 'created', (ARRAY['pending', 'delivered', 'dead', 'skipped'])[1 + n % 4], n, n, n, (n % 8 = 3)::int, 'It is down.'
    FROM generate_series(1, ${ROWS}) AS n, _sinks s;
  INSERT INTO _attempts (delivery_no, batch_no, started_at, duration_ms, outcome)
    SELECT delivery_no, 1, 5, 5, 'unavailable' FROM _deliveries;
  INSERT INTO _polls (source, started_at, finished_at, status, leads_listed)
    SELECT CASE WHEN n % 2 = 0 THEN 'main' ELSE 'other' END, n, n, (ARRAY['success', 'unchanged', 'failed'])[1 + n % 3], 5 FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO _rejected_leads (source, poll_id, last_poll_id, position, reason, path, hash, raw)
    SELECT 'main', 1, 2, n, 'r', 'p', n::text, '{}' FROM generate_series(1, ${ROWS}) AS n;`;

const [ANY, MAX] = ['NULL, NULL, NULL, NULL', '9007199254740991'];
const STATES = "'{pending,delivered,dead,skipped}'";
const [MIDDLE, HALF] = [`${ROWS / 2}`, `${ROWS / 2 + 1}`];
/** The statements of pages, by name, with their parameters: in the middle of a list, with filters that match many rows. */
const PAGES: Readonly<Record<string, string>> = {
  'leads-newest': `${ANY}, 0, ${MAX}, ${MIDDLE}, ${MIDDLE}, ${PAGE}, 0, ${MAX}`,
  'leads-oldest': `'main', NULL, 'current', NULL, 0, ${MAX}, ${MIDDLE}, ${MIDDLE}, ${PAGE}, ${HALF}, ${MAX}`,
  'gone-leads-newest': `NULL, NULL, 'gone', NULL, 0, ${MAX}, ${MIDDLE}, ${PAGE}`,
  'gone-leads-oldest': `'main', NULL, 'gone', NULL, 0, ${MAX}, ${MIDDLE}, ${PAGE}`,
  'service-leads-newest': `NULL, 'moving', NULL, NULL, 0, ${MAX}, ${MAX}, ${PAGE}, 0, ${MIDDLE}, 0, ${MAX}`,
  'service-leads-oldest': `NULL, 'moving', 'current', NULL, 0, ${MAX}, 0, ${PAGE}, ${MIDDLE}, ${MAX}, ${MIDDLE}, ${MAX}`,
  'named-leads': `${ANY}, 0, ${MAX}, ${MIDDLE}`,
  'lead-rows': `'{main,other}', '{${MIDDLE},${HALF}}'`,
  'version-came-at': MIDDLE,
  services: '50',
  'listed-newest': `NULL, NULL, 0, ${MAX}, ${STATES}, NULL, NULL, NULL, NULL, ${MIDDLE}, ${MAX}, ${PAGE}`,
  'listed-oldest': `'crm', 'main', ${MIDDLE}, ${MAX}, '{dead,discarded}', 'down', NULL, NULL, NULL, 0, 0, ${PAGE}`,
  'count-listed': `NULL, NULL, 0, ${MAX}, ${STATES}, NULL, NULL, NULL, NULL, ${PAGE}`,
  'count-listed-leads': `NULL, 0, ${MAX}, ${PAGE}`,
  'deliveries-of-lead': `NULL, ${MIDDLE}, ${ANY}, NULL, NULL, 0, ${MAX}, NULL, ${ANY}, ${MAX}, ${MAX}, 1000, NULL`,
  'deliveries-by-number': `'{${MIDDLE},${HALF}}'`,
  'attempts-of-deliveries': `'{${MIDDLE},${HALF}}', 100`,
  'answers-to-deliveries': `'{${MIDDLE},${HALF}}', 20`,
  'versions-of-one': `'main', ${MIDDLE}, 1000`,
  'content-of-version': `'main', ${MIDDLE}, NULL`,
  'polls-newest': `NULL, '{success,unchanged,failed}', ${MIDDLE}, ${PAGE}`,
  'polls-oldest': `'main', '{success}', ${MIDDLE}, ${PAGE}`,
  'count-polls': `NULL, '{success,unchanged,failed}', ${PAGE}`,
  'sizes-of-listings': `'main', ${MIDDLE}, ${PAGE}`,
  'rejected-newest': `${MIDDLE}, ${PAGE}`,
  'rejected-oldest': `${MIDDLE}, ${PAGE}`,
};

interface Measured {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Measured[];
}

/** Returns the number of rows that a plan read from tables and indexes. */
function rowsRead(plan: Measured): number {
  const { 'Actual Rows': rows, 'Actual Loops': loops, Plans = [] } = plan;
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  const own = plan['Relation Name'] === undefined ? 0 : (rows + removed) * loops;
  return own + Plans.reduce((sum, one) => sum + rowsRead(one), 0);
}

/** Returns the statements that read too many rows, with their number. */
async function heavy(client: pg.Client): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  await client.query('BEGIN');
  await client.query(statementTexts.get('begin-page') as string, ['0']);
  for (const [name, values] of Object.entries(PAGES)) {
    await client.query(`PREPARE "explained" AS ${statementTexts.get(name)}`);
    const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE "explained" (${values})`);
    const read = rowsRead(rows[0]['QUERY PLAN'][0].Plan);
    if (read > MOST_READ) found[name] = read;
    await client.query('DEALLOCATE "explained"');
  }
  await client.query('COMMIT');
  return found;
}

it('no page reads more than its own rows, however long the lists are, with and without statistics', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm', 'drop');
  await on.list([1]);
  await on.list([1], 'other');
  const client = new pg.Client({ connectionString: requireDatabaseUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`SET search_path = ${store.schema}; SET plan_cache_mode = force_custom_plan; SET jit = off;
    SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off`);
  await client.query(FILL);
  expect(await heavy(client)).toEqual({});
  await client.query('ANALYZE');
  expect(await heavy(client)).toEqual({});
});
