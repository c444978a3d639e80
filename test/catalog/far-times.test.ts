import { expect, it } from 'vitest';
import { aListedLead } from '../support/scene/a-lead.ts';
import { TwoStores } from './two-stores.ts';

/** Valid times far from today that programs write by mistake: `created_at`, and the time in both stores. */
const FAR: readonly [created: string, stored: string][] = [
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['0001-01-01T00:00:00+10:00', '0000-12-31T14:00:00.000Z'],
  ['0000-03-15T12:00:00Z', '0000-03-15T12:00:00.000Z'],
  ['2026-11-20T10:00:00+23:59', '2026-11-19T10:01:00.000Z'],
  ['2026-11-20 10:00:00.25-1600', '2026-11-21T02:00:00.250Z'],
  ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
];

it('both stores accept times at the ends of the calendar and offsets that no zone has, even with the client keys', async () => {
  const stores = await TwoStores.open();
  await stores.list(FAR.map(([created_at], at) => aListedLead({ id: at + 1, created_at }, at)));
  await stores.computeClientKeys('a secret of some length');
  await stores.bring();
  expect(stores.events).toEqual([]);
  const stored = FAR.map(([, created_at], at) => ({ id: String(at + 1), created_at }));
  for (const table of ['v_leads', '_client_keys'])
    expect(await stores.inPostgres(`SELECT id, created_at FROM ${table} ORDER BY id`)).toEqual(stored);
  expect(stores.inLedger('SELECT id, created_at FROM v_leads ORDER BY id')).toEqual(stored);
  const derived =
    'SELECT id, created_weekday, created_hour, created_hour_number FROM v_leads_no_pii ORDER BY id';
  expect(await stores.inPostgres(derived)).toEqual(stores.inLedger(derived));
});

it('the time of a client’s first lead equals that of the lead in PostgreSQL to the microsecond', async () => {
  const stores = await TwoStores.open();
  await stores.list([aListedLead({ id: 1, created_at: '2026-11-20T10:00:00.123456Z' }, 0)]);
  await stores.computeClientKeys('a secret of some length');
  await stores.bring();
  const same =
    'SELECT c.first_created_at = l.created_at AS same, extract(microseconds FROM c.first_created_at)::int AS micros FROM v_clients c, leads l';
  expect(await stores.inPostgres(same)).toEqual([{ same: '1', micros: '123456' }]);
});
