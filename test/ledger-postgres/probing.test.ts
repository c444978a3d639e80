import { expect, it } from 'vitest';
import { ids, LedgerUnderTest, MINUTE, unavailable } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

/** Opens a ledger whose sink is held, with many pending deliveries, and records the statements of each transaction. */
async function held(leads: number) {
  const transactions: string[][] = [];
  let beforeBegin: (() => Promise<void>) | undefined;
  const beforeStatement = async (name: string) => {
    if (name !== 'begin') return void transactions.at(-1)?.push(name);
    const act = beforeBegin;
    beforeBegin = undefined;
    await act?.();
    transactions.push([]);
  };
  const store = new PostgresStore({ beforeStatement });
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, leads));
  await on.attemptAll('crm', { ...unavailable, retryAfterMs: 10 * MINUTE }, { window: 1 });
  const once = (act: () => Promise<void>) => {
    beforeBegin = act;
  };
  return { store, on, transactions, once };
}

/** Makes all deliveries but the last one poor probes. */
const makePoor = (store: PostgresStore) =>
  store.query(
    'UPDATE _deliveries SET retried_at = 1 WHERE delivery_no < (SELECT max(delivery_no) FROM _deliveries)',
  );

it('a probe is found behind thousands that would be poor ones, in parts and without a lock', async () => {
  const { store, on, transactions } = await held(2_500);
  await makePoor(store);
  on.clock.jump(11 * MINUTE);
  transactions.length = 0;
  const { batch } = await on.take('crm');
  expect(batch.deliveries.map(({ leadId }) => leadId)).toEqual([2_500n]);
  const searching = transactions.filter((names) => names.includes('deliveries-to-probe'));
  expect(searching.length).toBe(3);
  expect(searching.flat()).not.toContain('lock-sink');
});

it('a probe is not claimed twice if another process claims it during the search', async () => {
  const { on, transactions } = await held(3);
  const other = on.again();
  on.clock.jump(11 * MINUTE);
  transactions.length = 0;
  const claims = await Promise.all([on, other, on.again()].map((one) => one.claim('crm')));
  expect(claims.flatMap(({ refs }) => refs)).toHaveLength(1);
});

it('what waits for the probe of a sink becomes due in parts, and a claim in between takes nothing', async () => {
  const { store, on, transactions, once } = await held(2_500);
  await store.query(`UPDATE _deliveries SET next_attempt_at = next_attempt_at + ${5 * MINUTE}
    WHERE batch_no IS NULL AND next_attempt_at <= ${on.clock.now().getTime()}`);
  const other = on.again();
  await other.claim('crm');
  transactions.length = 0;
  let between: unknown;
  once(async () => {
    once(async () => {
      between = (await other.claim('crm')).refs;
    });
  });
  expect(await on.ledger.resume('crm')).toBe(true);
  expect(between).toEqual([]);
  expect(transactions.filter((names) => names.includes('hurry-deliveries'))).toHaveLength(3);
  const late = await store.query(
    `SELECT 1 AS late FROM _deliveries WHERE next_attempt_at > ${on.clock.now().getTime()}`,
  );
  expect(late).toEqual([]);
  expect((await on.claim('crm')).refs).toHaveLength(1);
});
