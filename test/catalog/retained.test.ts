import { expect, it } from 'vitest';
import { queries } from '../../src/catalog/catalog.ts';
import type { Query } from '../../src/catalog/query.ts';
import type { RetainedKind } from '../../src/leads/retention.ts';
import { reconcile } from '../../src/operations/reconcile.ts';
import { HOUR } from '../ledger/ledger-under-test.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { filled, ledgerValue, VALUES } from './eventful-store.ts';
import { TwoStores } from './two-stores.ts';

const NEVER = new AbortController().signal;

/** Lead 1 is past its retention, lead 2 is not; both stores had both. */
async function someRetained(): Promise<TwoStores> {
  const stores = await TwoStores.open();
  await stores.list([aListedLead({ id: 1, client_address: null })]);
  stores.on.clock.jump(HOUR);
  await stores.list([aListedLead({ id: 1, client_address: null }), aListedLead({ id: 2, client_email: '' })]);
  await stores.attempt(2, { kind: 'delivered' });
  await remove(stores, 'leads');
  await stores.bring();
  return stores;
}

async function remove({ on }: TwoStores, kind: RetainedKind): Promise<void> {
  await on.ledger.removeOld(kind, on.clock.in(-HOUR / 2), 0);
}

it('the ledger counts a lead past its retention, without what its text contained; PostgreSQL keeps the text', async () => {
  const stores = await someRetained();
  const sql =
    'SELECT id, service_slug, created_day, has_email, has_phone, has_address FROM v_leads_no_pii ORDER BY id';
  const [service_slug, created_day] = ['house-cleaning', '2026-11-20'];
  const two = { id: '2', service_slug, created_day, has_email: '0', has_phone: '1', has_address: '1' };
  expect(stores.inLedger(sql)).toEqual([
    { id: '1', service_slug, created_day, has_email: null, has_phone: null, has_address: null },
    two,
  ]);
  expect(await stores.inPostgres(sql.replace('created_day', 'created_day::text'))).toEqual([
    { id: '1', service_slug, created_day, has_email: '1', has_phone: '1', has_address: '0' },
    two,
  ]);
});

it('a person does not count as unreachable because retention removed their text', async () => {
  const stores = await someRetained();
  const reachability = queries.find(({ name }) => name === 'reachability') as Query;
  expect(stores.inLedger(filled(reachability, VALUES, ledgerValue))).toMatchObject([
    { leads: '1', with_neither: '0', with_phone: '1' },
  ]);
});

it('the changed fields of a change are unknown if retention removed the content before it', async () => {
  const stores = await someRetained();
  await stores.list([
    aListedLead({ id: 1, client_name: 'New' }),
    aListedLead({ id: 2, client_email: 'b@example.com' }),
  ]);
  await stores.bring();
  const sql =
    'SELECT lead_id, CAST(changed_fields AS text) AS fields FROM lead_versions WHERE version = 2 ORDER BY 1';
  const fields = [
    { lead_id: '1', fields: null },
    { lead_id: '2', fields: '["client_email"]' },
  ];
  expect(stores.inLedger(sql)).toEqual(fields);
  expect(await stores.inPostgres(sql)).toEqual(fields);
});

it('a repair reports that a missing lead without content cannot be delivered again', async () => {
  const stores = await someRetained();
  await stores.postgres.query('DELETE FROM leads');
  const said: string[] = [];
  const { ledger, clock } = stores.on;
  const held = stores.sink.storedLeads?.(NEVER) ?? expect.fail();
  const onDifference = ({ leadId, why, owed }: { leadId: bigint; why: string; owed: boolean }) =>
    void said.push(`${leadId} ${owed} ${why}`);
  await reconcile(held, { sink: 'warehouse', ledger, clock, repair: true, onDifference });
  expect(said).toEqual([
    '1 false Version 1 was delivered. The ledger no longer has its content, so it cannot be delivered again.',
    '2 true Version 1 was delivered.',
  ]);
});
