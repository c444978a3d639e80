import { expect, it } from 'vitest';
import { aSink, delivered, HOUR, refused } from '../ledger/ledger-under-test.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { TwoStores } from './two-stores.ts';

const ALL =
  'SELECT sink, lead_id, state, is_backfill, age_seconds, delivered_at, owed_at FROM v_speed_to_lead_all ORDER BY sink, lead_id';
const ARRIVED =
  'SELECT sink, lead_id, is_backfill, created_to_delivered_seconds AS seconds, owed_at FROM v_speed_to_lead ORDER BY sink, lead_id';

/** Two leads of a first sync, then one delivered, one refused and one waiting; then a gone one, and a sink with a backfill. */
async function aBusyDay(): Promise<TwoStores> {
  const stores = await TwoStores.open();
  const { on } = stores;
  const old = [1, 2].map((id) => aListedLead({ id, created_at: '2026-11-01T00:00:00Z' }));
  await stores.list(old);
  await stores.attempt(2, delivered);
  on.clock.jump(HOUR);
  const createdAt = on.clock.now().toISOString();
  const fresh = [3, 4, 5].map((id) => aListedLead({ id, created_at: createdAt }));
  on.clock.jump(30_000);
  await stores.list([...old, ...fresh]);
  await stores.attempt(1, delivered);
  await stores.attempt(1, refused);
  on.clock.jump(HOUR);
  await stores.list([...old.slice(1), ...fresh]);
  await on.declare(
    aSink('warehouse', { events: ['created', 'updated'] }),
    aSink('crm', { events: ['created', 'updated'] }),
    aSink('late', { backfill: true }),
  );
  while (!(await on.ledger.backfill('late')).done);
  await stores.bring();
  expect(stores.events).toEqual([]);
  return stores;
}

it('both stores count open and dead leads with their present age, and distinguish a backfill from a new lead', async () => {
  const stores = await aBusyDay();
  const age = (Date.now() - Date.parse('2026-11-20T11:00:00.000Z')) / 1000;
  for (const rows of [stores.inLedger(ALL), await stores.inPostgres(ALL)]) {
    const found = rows.map(({ sink, lead_id, state, is_backfill, delivered_at, age_seconds }) => {
      const seconds = Number(age_seconds);
      const isPresent = delivered_at === null && lead_id !== '1' && lead_id !== '2';
      if (isPresent) expect(Math.abs(seconds - age)).toBeLessThan(60);
      return `${sink} ${lead_id} ${state} ${is_backfill}${isPresent || is_backfill === '1' ? '' : ` ${seconds}`}`;
    });
    expect(found.filter((row) => !row.startsWith('late'))).toEqual([
      'crm 1 delivered 1',
      'crm 2 delivered 1',
      'crm 3 delivered 0 30',
      'crm 4 dead 0',
      'crm 5 pending 0',
      'warehouse 1 delivered 1',
      'warehouse 2 delivered 1',
      'warehouse 3 delivered 0 30',
      'warehouse 4 delivered 0 30',
      'warehouse 5 delivered 0 30',
    ]);
    const late = rows.filter(({ sink }) => sink === 'late');
    expect(late.map(({ is_backfill }) => is_backfill)).toEqual(['1', '1', '1', '1', '1']);
  }
  expect(await stores.inPostgres(ARRIVED)).toEqual(stores.inLedger(ARRIVED));
});

it('both stores show a gone lead until it comes back, and an erased one as erased', async () => {
  const stores = await aBusyDay();
  const gone = 'SELECT lead_id, last_listed_at, gone_at FROM v_gone_leads';
  const ledger = stores.inLedger(gone);
  expect(ledger).toEqual([
    { lead_id: '1', last_listed_at: '2026-11-20T11:00:30.000Z', gone_at: '2026-11-20T12:00:30.000Z' },
  ]);
  expect(await stores.inPostgres(gone)).toEqual(ledger);
  const all = [1, 2, 3, 4, 5].map((id) => aListedLead({ id, created_at: '2026-11-01T00:00:00Z' }));
  await stores.list(all);
  await stores.bring();
  expect(stores.inLedger(gone)).toEqual([]);
  expect(await stores.inPostgres(gone)).toEqual([]);

  const lead = { source: 'main', leadId: 2n };
  await stores.on.ledger.erase({ leads: [lead], rejected: [] }, []);
  await stores.bring();
  const erased = 'SELECT source, lead_id, erased_at FROM v_erased_leads';
  expect(stores.inLedger(erased)).toEqual([
    { source: 'main', lead_id: '2', erased_at: stores.on.clock.now().toISOString() },
  ]);
  expect(await stores.inPostgres(erased)).toEqual(stores.inLedger(erased));
});

it('both stores treat a contact of any whitespace as missing', async () => {
  const stores = await TwoStores.open();
  const given = { client_email: '\t\u00a0', client_phone_number: '\u3000', client_address: null };
  await stores.list([aListedLead({ id: 1, ...given }), aListedLead({ id: 2, client_email: '\u00a0a@b.c' })]);
  await stores.bring();
  const sql = 'SELECT id, has_email, has_phone FROM v_leads_no_pii ORDER BY id';
  expect(stores.inLedger(sql)).toEqual([
    { id: '1', has_email: '0', has_phone: '0' },
    { id: '2', has_email: '1', has_phone: '1' },
  ]);
  expect(await stores.inPostgres(sql)).toEqual(stores.inLedger(sql));
});

it('no public view needs more than SQLite 3.40, which Debian 12 has', async () => {
  const { disk, on } = await TwoStores.open();
  await on.list([aListedLead({ id: 1 })]);
  const views = disk.other((db) =>
    db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'view'").all(),
  ) as { name: string; sql: string }[];
  // Functions and modifiers since 3.41: https://www.sqlite.org/changes.html
  const newer =
    /subsec|timediff\(|octet_length\(|jsonb|concat(_ws)?\(|string_agg\(|json_pretty\(|unistr\(|median\(|percentile/i;
  expect(views.filter(({ sql }) => newer.test(sql)).map(({ name }) => name)).toEqual([]);
  expect(disk.other((db) => db.prepare('SELECT age_seconds > 0 AS late FROM v_freshness').get())).toEqual({
    late: 1,
  });
});
