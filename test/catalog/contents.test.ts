import { expect, it } from 'vitest';
import { HOUR, ids } from '../ledger/ledger-under-test.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { uniqueName } from '../support/servers/services.ts';
import { TwoStores } from './two-stores.ts';

const NEVER = new AbortController().signal;
const VERSIONS =
  'SELECT source, lead_id, version, CAST(raw AS text) AS raw, _leadsync_replaced, _leadsync_original FROM lead_versions ORDER BY 1, 2, 3';
const KEPT = 'SELECT lead_id, count(*) AS n FROM _contents GROUP BY 1 ORDER BY 1';

async function expectSame(stores: TwoStores): Promise<void> {
  const inLedger = stores.inLedger(VERSIONS);
  expect(inLedger.length).toBeGreaterThan(0);
  expect(await stores.inPostgres(VERSIONS)).toEqual(inLedger);
}

it('the content of a lead that never changed is stored once in PostgreSQL', async () => {
  const stores = await TwoStores.open();
  await stores.list([...ids(1, 5), aListedLead({ id: 6, client_name: 'be\0fore' })]);
  await stores.bring();
  await expectSame(stores);
  expect(await stores.inPostgres(KEPT)).toEqual([]);
});

it('an overwritten content stays, whether it is overwritten before or after the mirror copies it', async () => {
  const stores = await TwoStores.open();
  await stores.list([1, 2]);
  await stores.bring();
  for (const [id, client_name] of [
    [1, 'Second'],
    [1, 'Th\0ird'],
    [2, 'Second'],
    [3, 'First'],
    [3, 'Second'],
  ] as const) {
    stores.on.clock.jump(HOUR);
    await stores.list([aListedLead({ id, client_name })]);
  }
  await stores.bring();
  await expectSame(stores);
  expect(await stores.inPostgres(KEPT)).toEqual([
    { lead_id: '1', n: '2' },
    { lead_id: '2', n: '1' },
    { lead_id: '3', n: '1' },
  ]);
  stores.on.clock.jump(HOUR);
  await stores.list([aListedLead({ id: 1, client_name: 'Second' }), 2]);
  await stores.bring();
  await expectSame(stores);
});

it('the mirror copies a content from the ledger if the sink did not get it', async () => {
  const stores = await TwoStores.open();
  await stores.on.list([1, 2, aListedLead({ id: 3, note: 'x'.repeat(3_000_000) })]);
  stores.on.clock.jump(HOUR);
  await stores.on.list([1, aListedLead({ id: 2, client_name: 'Second' })]);
  await stores.bring();
  await expectSame(stores);
  await stores.deliver();
  await stores.bring();
  await expectSame(stores);
});

it('a role that may only write leads overwrites them, and their former content stays', async () => {
  const stores = await TwoStores.open();
  await stores.list([1]);
  await stores.bring();
  const role = uniqueName('writer');
  const { schema, query } = stores.postgres;
  await query(
    `CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT, UPDATE ON leads TO ${role}`,
  );
  await query(`BEGIN; SET LOCAL ROLE ${role}; UPDATE leads SET _leadsync_hash = 'another'; COMMIT`);
  await query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await expectSame(stores);
});

it('an erasure removes former contents, including those that leadsync kept when it overwrote them', async () => {
  const stores = await TwoStores.open();
  await stores.list([aListedLead({ id: 1, client_name: 'Ada Secret' }), 2]);
  await stores.bring();
  stores.on.clock.jump(HOUR);
  await stores.list([
    aListedLead({ id: 1, client_name: 'Ada Late' }),
    aListedLead({ id: 2, client_name: 'New' }),
  ]);
  await stores.bring();
  const person = { leads: [{ source: 'main', leadId: 1n }], rejected: [] };
  expect(await stores.sink.erase?.(person, NEVER)).toBeGreaterThanOrEqual(2);
  expect(await stores.inPostgres(KEPT)).toEqual([{ lead_id: '2', n: '1' }]);
  expect(
    await stores.inPostgres('SELECT version, raw FROM lead_versions WHERE lead_id = 1 ORDER BY 1'),
  ).toEqual([
    { version: '1', raw: '{"id":1}' },
    { version: '2', raw: '{"id":1}' },
  ]);
});
