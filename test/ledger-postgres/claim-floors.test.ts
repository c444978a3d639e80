import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { WRITING } from '../../src/ledger-postgres/database/settings.ts';
import { statementTexts } from '../../src/ledger-postgres/database/statement.ts';
import { ids, LedgerUnderTest, MINUTE } from '../ledger/ledger-under-test.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { PostgresStore } from './postgres-store.ts';

/** Claims one batch and returns its lead. */
async function claimOne(on: LedgerUnderTest): Promise<bigint | undefined> {
  return (await on.take('crm', { most: 1 })).batch.deliveries[0]?.leadId;
}

/** Makes the delivery of a lead due before the others, as a transaction that committed late would. */
async function makeDueEarlier(store: PostgresStore, lead: number): Promise<void> {
  await store.query(`UPDATE _deliveries d SET next_attempt_at = next_attempt_at - ${MINUTE} FROM _versions v
    WHERE v.version_no = d.version_no AND v.id = ${lead}`);
}

it('the claims of a backlog continue where the last one ended, and check the start once a second', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 10));
  expect(await claimOne(on)).toBe(1n);
  await makeDueEarlier(store, 9);
  expect(await claimOne(on)).toBe(2n);
  on.clock.jump(1_000);
  expect(await claimOne(on)).toBe(9n);
});

it('a claim that finds too little after the floor looks at the start', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 4));
  expect(await claimOne(on)).toBe(1n);
  await makeDueEarlier(store, 4);
  expect((await on.ledger.workOf('crm')).due).toBe(true);
  expect((await on.claim('crm')).refs).toHaveLength(3);
  expect((await on.ledger.workOf('crm')).due).toBe(false);
});

it('after a failed claim, the next claim takes the same deliveries', async () => {
  let isArmed = false;
  const beforeStatement = (name: string) => {
    if (!isArmed || name !== 'commit') return undefined;
    throw new Error('the connection is lost');
  };
  const on = await LedgerUnderTest.with(new PostgresStore({ beforeStatement }).open, 'crm');
  await on.list(ids(1, 4));
  isArmed = true;
  await expect(claimOne(on)).rejects.toThrow();
  isArmed = false;
  on.clock.jump(1_000);
  expect(await claimOne(on)).toBe(1n);
});

it.each(['commit', 'make-batches'])(
  'a claim that fails at %s leaves no trace in the memory of the process',
  async (statement) => {
    let failures = 0;
    const beforeStatement = (name: string) => {
      if (name !== statement || failures === 0) return undefined;
      failures -= 1;
      throw Object.assign(new Error('a deadlock'), { severity: 'ERROR', code: '40P01' });
    };
    const on = await LedgerUnderTest.with(new PostgresStore({ beforeStatement }).open, 'crm');
    await on.list(ids(1, 4));
    failures = 1;
    expect(await claimOne(on)).toBe(1n);
    failures = 3;
    await expect(claimOne(on)).rejects.toThrow();
    expect(await claimOne(on)).toBe(2n);
  },
);

it.each(['due', 'due-at-health', 'next-due', 'any-due'])(
  'the statement %s reads nothing of the index before its floor',
  async (name) => {
    const store = new PostgresStore();
    await LedgerUnderTest.with(store.open, 'crm');
    const client = new pg.Client({ connectionString: requireDatabaseUrl() });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query(`SET search_path = ${store.schema}`);
    for (const [setting, value] of Object.entries(WRITING)) await client.query(`SET ${setting} = ${value}`);
    const text = statementTexts.get(name) ?? '';
    await client.query(`PREPARE "explained" AS ${text}`);
    const values = Array.from(
      { length: Math.max(...[...text.matchAll(/\$(\d)/g)].map(([, no]) => Number(no))) },
      () => 'NULL',
    );
    const { rows } = await client.query(`EXPLAIN EXECUTE "explained"(${values.join(', ')})`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(
      /_deliveries_due on .*\n *Index Cond: .*ROW\(.*next_attempt_at, .*delivery_no\) > ROW\(/,
    );
  },
);
