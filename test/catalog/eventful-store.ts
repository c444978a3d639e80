import { expect } from 'vitest';
import type { Parameter, Query } from '../../src/catalog/query.ts';
import { delivered, HOUR, refused, unavailable } from '../ledger/ledger-under-test.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { oddLeads } from './odd-leads.ts';
import { type Row, TwoStores } from './two-stores.ts';

const SECRET = 'a secret of some length';

type Values = Readonly<Record<string, string>>;

/** What the documented queries are asked with. */
export const VALUES: Values = {
  since: '2026-11-01T00:00:00.000Z',
  source: 'main',
  lead: '7',
  at: '2026-11-20T10:00:00.000Z',
};

/** Leads of all kinds, delivered, refused, held up and pending; one that changed, one that is gone, two that were rejected. */
export async function eventful(): Promise<TwoStores> {
  const stores = await TwoStores.open({ raw: true });
  await stores.list(oddLeads());
  await stores.attempt(2, {
    ...delivered,
    ref: { object: 'deal', id: '17', url: 'https://crm.example.com/17' },
  });
  await stores.attempt(2, refused);
  await stores.attempt(1, unavailable);
  stores.on.clock.jump(HOUR);
  const rest = oddLeads().filter(({ id }) => id !== 10n);
  await stores.list(rest.map((item) => (item.id === 7n ? changed() : item)));
  await stores.computeClientKeys(SECRET);
  await stores.bring();
  expect(stores.events).toEqual([]);
  return stores;
}

function changed() {
  return aListedLead({
    id: 7,
    created_at: '2026-11-16T13:00:00Z',
    client_name: 'Changed',
    client_email: '',
    client_phone_number: '+612123',
  });
}

export function sorted(rows: readonly Row[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

/** Answers without the ages of leads that have not arrived: those grow from one question to the next. */
export function withoutAges<R extends Readonly<Record<string, unknown>>>(rows: readonly R[]): R[] {
  return rows.map((row) =>
    Number(row['not_delivered'] ?? 0) === 0 ? row : { ...row, p50_seconds: null, p90_seconds: null },
  );
}

export function filled(
  { sql, parameters }: Query,
  values: Values,
  write: (parameter: Parameter, value: string) => string,
): string {
  return parameters.reduce(
    (text, one) => text.replaceAll(`:${one.name}`, write(one, values[one.name] ?? '')),
    sql,
  );
}

export function ledgerValue({ type }: Parameter, value: string): string {
  return type === 'id' ? value : `'${value}'`;
}
