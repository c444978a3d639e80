import { expect } from 'vitest';
import type { Parameter, Query } from '../../src/catalog/query.ts';
import type { ColumnType, Relation } from '../../src/catalog/relation.ts';
import type { ListedItem } from '../../src/leads/listed-lead.ts';
import type { Outcome } from '../../src/leads/outcome.ts';
import {
  aSink,
  delivered,
  HOUR,
  LedgerUnderTest,
  type OpenLedger,
  refused,
  unavailable,
} from '../ledger/ledger-under-test.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { oddLeads } from './odd-leads.ts';
import { type Row, TwoStores } from './two-stores.ts';

const SECRET = 'a secret of some length';
/** The lead that `eventfulLedger` erases. */
const ERASED = 9n;

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
  await happen(stores);
  await stores.bring();
  expect(stores.events).toEqual([]);
  return stores;
}

/** A store of leads in which the events of `happen` can happen. */
interface Eventful {
  readonly on: LedgerUnderTest;
  /** Lists leads, and delivers them to the sink `warehouse`. */
  list(items: readonly ListedItem[]): Promise<void>;
  attempt(limit: number, outcome: Outcome): Promise<void>;
  computeClientKeys(secret: string): Promise<void>;
}

async function happen(store: Eventful): Promise<void> {
  await store.list(oddLeads());
  await store.attempt(2, {
    ...delivered,
    ref: { object: 'deal', id: '17', url: 'https://crm.example.com/17' },
  });
  await store.attempt(2, refused);
  await store.attempt(1, unavailable);
  store.on.clock.jump(HOUR);
  const rest = oddLeads().filter(({ id }) => id !== 10n);
  await store.list(rest.map((item) => (item.id === 7n ? changed() : item)));
  await store.computeClientKeys(SECRET);
}

/** A ledger in which the same happened, and in the end a lead was erased. Its sink `warehouse` accepts everything. */
export async function eventfulLedger(open: OpenLedger): Promise<LedgerUnderTest> {
  const events = ['created', 'updated'] as const;
  const on = await LedgerUnderTest.with(open, aSink('warehouse', { events }), aSink('crm', { events }));
  await happen({
    on,
    list: async (items) => {
      await on.list(items);
      await on.attemptAll('warehouse', delivered);
    },
    attempt: (limit, outcome) => on.attemptSome('crm', limit, outcome),
    computeClientKeys: async (secret) => {
      while (!(await on.ledger.computeClientKeys(secret)));
    },
  });
  await on.ledger.erase({ leads: [{ source: 'main', leadId: ERASED }], rejected: [] }, []);
  return on;
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

/** The types that columns of the catalog have in PostgreSQL. */
export const POSTGRES_TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  bigint: 'bigint',
  integer: 'integer',
  double: 'double precision',
  boolean: 'boolean',
  time: 'timestamp with time zone',
  day: 'date',
  json: 'json',
  jsonb: 'jsonb',
};

/** Returns SQL for the columns of a relation that are not in `left`, in a form that is the same in both engines. */
export function selectOf({ name, columns }: Relation, left: readonly string[]): string {
  const shown = columns
    .filter((column) => !left.includes(column.name))
    .map((column) =>
      column.type === 'json' ? `CAST(${column.name} AS text) AS ${column.name}` : column.name,
    );
  return `SELECT ${shown.join(', ')} FROM ${name}`;
}

export function postgresValue({ type }: Parameter, value: string): string {
  return type === 'id' ? value : type === 'time' ? `'${value}'::timestamptz` : `'${value}'`;
}
