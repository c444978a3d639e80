import { expect, it } from 'vitest';
import type { ListedItem } from '../../src/leads/listed-lead.ts';
import { ids, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { PostgresStore } from './postgres-store.ts';

/** Opens a store that records the names of the statements of each transaction, as long as one runs at a time. */
function recordingStore() {
  const transactions: string[][] = [];
  const beforeStatement = async (name: string) => {
    if (name === 'begin') transactions.push([]);
    else transactions.at(-1)?.push(name);
  };
  return { store: new PostgresStore({ beforeStatement }), transactions };
}

it('a step of a backfill reads a bounded number of versions, however few of them are to be owed', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 3_500));
  await on.declare('crm', 'late');
  await store.query('UPDATE _leads SET erased_no = 1 WHERE id <= 3400');
  expect(await on.ledger.backfill('late')).toEqual({ owed: 0, skipped: 0, done: false });
  expect(await on.ledger.backfill('late')).toEqual({ owed: 100, skipped: 0, done: true });
});

it('a transaction that forgets a sink skips a bounded number of deliveries, whatever the size of the batches', async () => {
  const { store, transactions } = recordingStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 2_400));
  expect((await on.claim('crm', { window: 5, max: 400 })).refs).toHaveLength(5);
  await on.declare();
  transactions.length = 0;
  expect(await on.ledger.forget('crm')).toBe(2_400);
  const skipped = await store.query<{ skipped: number }>(
    'SELECT skipped FROM _count_changes WHERE skipped > 0',
  );
  // 500 that are in no batch, and batches until they contain 500.
  expect(Math.max(...skipped.map((row) => row.skipped))).toBe(1_200);
  expect(await store.contradictions()).toEqual([]);
});

it('client keys are computed before the lock is taken under which they are stored', async () => {
  const { store, transactions } = recordingStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1, 2]);
  while (!(await on.ledger.computeClientKeys('a secret of some length')));
  const storing = transactions.filter((names) => names.includes('put-client-keys'));
  expect(storing.map((names) => names.includes('versions-to-key'))).toEqual([false]);
  expect(await store.query('SELECT 1 AS key FROM _client_keys')).toHaveLength(2);
});

it('a lead that is erased while its key is computed has no key', async () => {
  let erase: (() => Promise<unknown>) | undefined;
  let begun = 0;
  const beforeStatement = async (name: string) => {
    if (erase === undefined || name !== 'begin') return;
    begun += 1;
    const now = erase;
    if (begun < 2) return;
    erase = undefined;
    await now();
  };
  const store = new PostgresStore({ beforeStatement });
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1, 2]);
  const other = on.again();
  const secret = 'a secret of some length';
  // Removes the keys of no secret.
  await on.ledger.computeClientKeys(secret);
  erase = () => other.ledger.erase({ leads: [{ source: 'main', leadId: 1n }], rejected: [] }, []);
  expect(await on.ledger.computeClientKeys(secret)).toBe(false);
  expect(await store.query('SELECT id FROM _client_keys')).toEqual([{ id: '2' }]);
  expect(await on.ledger.computeClientKeys(secret)).toBe(true);
});

it('rejected contents whose leads are valid again are resolved in parts', async () => {
  const { store, transactions } = recordingStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  const rejected = ids(1, 2_300).map(
    (id): ListedItem => ({
      ...aListedLead({ id }),
      hash: `bad ${id}`,
      kind: 'rejected',
      reason: 'No.',
      path: '',
    }),
  );
  await on.list([...rejected, 2_301]);
  transactions.length = 0;
  await on.list(ids(1, 2_301));
  const open = await store.query('SELECT 1 AS open FROM _rejected_leads WHERE resolved_at IS NULL');
  expect(open).toEqual([]);
  expect(transactions.filter((names) => names.includes('resolve'))).toHaveLength(3);
  expect((await on.ledger.status()).sources[0]).toMatchObject({ rejected: 0, listed: 2_301 });
});
