import { expect, it } from 'vitest';
import { type Difference, reconcile } from '../../src/operations/reconcile.ts';
import { SinkUnavailable } from '../../src/sinks/sink-unavailable.ts';
import { ids } from '../ledger/ledger-under-test.ts';
import { openPostgres } from '../sinks/postgres/database.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { TwoStores } from './two-stores.ts';

const NEVER = new AbortController().signal;

async function compared(stores: TwoStores, repair = false) {
  const differences: string[] = [];
  const onDifference = ({ kind, leadId }: Difference) => void differences.push(`${kind} ${leadId}`);
  const held = stores.sink.storedLeads?.(NEVER);
  if (!held) throw new Error('it cannot tell');
  const { ledger, clock } = stores.on;
  const found = await reconcile(held, { sink: 'warehouse', ledger, clock, repair, onDifference });
  return { found, differences };
}

it('finds rows that PostgreSQL lost, has in an older version, or got from elsewhere, and repairs them', async () => {
  const stores = await TwoStores.open();
  await stores.list(ids(1, 2_500));
  await stores.list([...ids(1, 9), aListedLead({ id: 10, client_name: 'New' }), ...ids(11, 2_500)]);
  expect(await compared(stores)).toEqual({
    found: { delivered: 2_500, held: 2_500, missing: 0, foreign: 0, duplicates: 0 },
    differences: [],
  });
  await stores.postgres.query('DELETE FROM leads WHERE id IN (1, 2100)');
  await stores.postgres.query('UPDATE leads SET _leadsync_version = 1 WHERE id = 10');
  await stores.postgres.query("UPDATE leads SET source = 'elsewhere' WHERE id = 3");
  await stores.postgres.query('UPDATE leads SET id = 9000000000000000000 WHERE id = 4');
  const differences = [
    'foreign 3',
    'foreign 9000000000000000000',
    ...[1, 3, 4, 10, 2100].map((id) => `missing ${id}`),
  ];
  expect((await compared(stores, true)).differences).toEqual(differences);
  stores.on.clock.jump(1000);
  await stores.deliver();
  expect((await compared(stores)).found).toMatchObject({ missing: 0, foreign: 2 });
});

it('leaves out leads that are delivered meanwhile, and pending ones', async () => {
  const stores = await TwoStores.open();
  await stores.on.list(ids(1, 3));
  expect((await compared(stores)).found).toMatchObject({ delivered: 0, missing: 0, foreign: 0 });
  await stores.deliver();
  expect((await compared(stores)).found).toMatchObject({ delivered: 3, missing: 0 });
});

it('reports that PostgreSQL cannot be reached, and reports no missing lead', async () => {
  const sink = openPostgres({ url: 'postgresql://nobody@127.0.0.1:9/none' });
  await expect(async () => {
    for await (const _ of sink.storedLeads?.(NEVER) ?? []);
  }).rejects.toThrow(SinkUnavailable);
  await sink.close();
});

it('reading creates nothing: a missing schema contains no person', async () => {
  const stores = await TwoStores.open();
  await stores.list(ids(1, 3));
  const schema = `${stores.postgres.schema}_misspelt`;
  const sink = openPostgres({ url: stores.postgres.url, schema });
  for await (const lead of sink.storedLeads?.(NEVER) ?? []) expect(lead).toBeUndefined();
  expect(await sink.findPerson?.({ kind: 'email', contact: 'ada@example.com' }, NEVER)).toEqual({
    leads: [],
    rejected: [],
  });
  expect(await stores.inPostgres(`SELECT to_regnamespace('${schema}') AS found`)).toEqual([{ found: null }]);
  await sink.close();
});
