import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { delivered, HOUR, ids } from '../ledger/ledger-under-test.ts';
import { TwoStores } from './two-stores.ts';

const READ = ['leads', 'lead_answers', 'lead_versions', 'polls', 'deliveries', 'attempts'];

it('an analyst’s transaction that stays open in PostgreSQL stops neither deliveries nor the mirror', async () => {
  const stores = await TwoStores.open();
  await stores.list(ids(1, 10));
  await stores.bring();
  const reader = await openReader(stores);
  const before = await reader.counts();
  stores.on.clock.jump(HOUR);
  await stores.list(ids(1, 12));
  await stores.attempt(5, delivered);
  await stores.bring();
  expect(await reader.counts()).toEqual(before);
  expect(stores.events.filter(({ type }) => type === 'mirror-failed')).toEqual([]);
  for (const table of ['leads', 'lead_versions', 'polls', 'deliveries', 'attempts']) {
    const count = `SELECT count(*) AS n FROM ${table}`;
    expect([table, ...(await stores.inPostgres(count))]).toEqual([table, ...stores.inLedger(count)]);
  }
});

/** A transaction that sees one state, and has read every table. */
async function openReader({ postgres }: TwoStores) {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  const countOf = async (table: string) =>
    Number((await client.query(`SELECT count(*) AS n FROM ${postgres.schema}.${table}`)).rows[0].n);
  const counts = async () => {
    const found: number[] = [];
    for (const table of READ) found.push(await countOf(table));
    return found;
  };
  await counts();
  return { counts };
}
