import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { storeReference } from '../../scripts/generate/store-reference.ts';
import { queries, relations } from '../../src/catalog/catalog.ts';
import { extractionOf } from '../../src/catalog/extraction.ts';
import type { Query } from '../../src/catalog/query.ts';
import type { Relation } from '../../src/catalog/relation.ts';
import {
  eventful,
  filled,
  ledgerValue,
  POSTGRES_TYPES,
  postgresValue,
  selectOf,
  sorted,
  VALUES,
  withoutAges,
} from './eventful-store.ts';
import { type Row, TwoStores } from './two-stores.ts';

// A day is a day, and not a moment in whatever zone the test runs in.
pg.types.setTypeParser(pg.types.builtins.DATE, String);

/** What each store knows better, or reckons at the moment that it is asked. */
const OWN = ['_leadsync_synced_at', '_leadsync_last_listed_at', 'age_seconds'];

/** Relations that stay empty until a person is erased, which another test does. */
const EMPTY = ['v_erased_leads'];

describe.each(relations)('$name', (relation) => {
  it('has the described columns in the ledger', async () => {
    const { disk } = await TwoStores.open();
    const columns = disk.other((db) =>
      db
        .prepare(`SELECT * FROM ${relation.name}`)
        .columns()
        .map(({ name }) => name),
    );
    const described = relation.columns.map(({ name }) => name);
    expect(columns.filter((name) => described.includes(name)).sort()).toEqual([...described].sort());
  });

  it('has the described columns, types and comments in PostgreSQL', async () => {
    const stores = await TwoStores.open();
    await stores.bring();
    const columns = await stores.postgres.query(
      `SELECT attname AS name, format_type(atttypid, NULL) AS type, col_description(attrelid, attnum) AS means
      FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND attname <> '_leadsync_ledger' ORDER BY attnum`,
      [`${stores.postgres.schema}.${relation.name}`],
    );
    expect(columns).toEqual(
      relation.columns.map(({ name, type, means }) => ({ name, type: POSTGRES_TYPES[type], means })),
    );
  });

  it('has the same rows in both stores, for any leads', async () => {
    const stores = await eventful();
    const [ledger, postgres] = [
      stores.inLedger(selectOf(relation, OWN)),
      await stores.inPostgres(selectOf(relation, OWN)),
    ];
    expect(postgres.length > 0).toBe(!EMPTY.includes(relation.name));
    expect(sorted(postgres)).toEqual(sorted(ledger));
    expect(required(relation, ledger)).toEqual([]);
  });
});

it.each(['polls', 'rejected_leads'])(
  'the comment on the source in %s does not call it that of a lead',
  (name) => {
    const columns = relations.find((one) => one.name === name)?.columns ?? [];
    expect(columns.find((column) => column.name === 'source')?.means).not.toContain('lead.');
  },
);

describe.each(queries)('the query $name', (query) => {
  it('returns the same rows from both stores', async () => {
    const stores = await eventful();
    const ledger = stores.inLedger(filled(query, VALUES, ledgerValue));
    const postgres = await stores.inPostgres(filled(query, VALUES, postgresValue));
    expect(ledger.length).toBeGreaterThan(0);
    expect(sorted(withoutAges(postgres))).toEqual(sorted(withoutAges(ledger)));
  });
});

describe('joining v_speed_to_lead with v_leads_no_pii', () => {
  it('works in both stores as docs/store.md shows it', async () => {
    const stores = await eventful();
    const [, join = ''] = /```sql\n([^`]*JOIN v_speed_to_lead[^`]*)```/.exec(storeReference()) ?? [];
    const ledger = stores.inLedger(join);
    expect(ledger.length).toBeGreaterThan(0);
    expect(sorted(await stores.inPostgres(join))).toEqual(sorted(ledger));
  });

  it('is ambiguous only in the columns that the notes of the view name', () => {
    const of = (view: string) => relations.find(({ name }) => name === view) as Relation;
    const [speed, leads] = [of('v_speed_to_lead'), of('v_leads_no_pii')];
    const both = leads.columns.filter(({ name }) => speed.columns.some((one) => one.name === name));
    const named = both
      .map(({ name }) => `\`${name}\``)
      .join(', ')
      .replace(/, (`\w+`)$/, ' and $1');
    expect(speed.notes).toContain(`qualify ${named}, which both views have.`);
  });
});

describe('the answers', () => {
  it('are right', async () => {
    const stores = await eventful();
    const ask = (name: string, values: Record<string, string> = {}) => {
      const query = queries.find((one) => one.name === name) as Query;
      return stores.inLedger(
        filled(query, { since: '2026-11-01T00:00:00.000Z', source: 'main', ...values }, ledgerValue),
      );
    };
    expect(ask('repeat-clients')).toEqual([
      { leads_per_client: '2', clients: '1' },
      { leads_per_client: '6', clients: '1' },
    ]);
    expect(ask('rejects')).toEqual([
      { source: 'main', reason: 'is missing', path: 'created_at', rejected: '2', open: '2', gone: '0' },
    ]);
    expect(ask('stuck').map(({ state, deliveries }) => [state, deliveries])).toEqual([
      ['pending', '5'],
      ['dead', '2'],
      ['pending', '1'],
    ]);
    expect(ask('missing').map(({ sink, id }) => `${sink} ${id}`)).toEqual(
      ['3', '4', '7', '9', '9007199254740993', '9223372036854775807'].map((id) => `crm ${id}`),
    );
    expect(
      ask('speed-to-lead').map(({ sink, leads, not_delivered }) => [sink, leads, not_delivered]),
    ).toEqual([
      ['crm', '1', '1'],
      ['warehouse', '1', '0'],
    ]);
    const then = (at: string) =>
      ask('lead-as-of', { lead: '7', at }).map(({ version, raw }) => [
        version,
        JSON.parse(raw ?? '').client_name,
      ]);
    expect(then('2026-11-20T10:30:00.000Z')).toEqual([['1', 'Anna Müller']]);
    expect(then('2026-11-20T11:00:00.000Z')).toEqual([['2', 'Changed']]);
    expect(then('2026-11-20T09:00:00.000Z')).toEqual([]);
  });
});

/** Columns that are described as never null, and are. */
function required({ columns }: Relation, rows: readonly Row[]): string[] {
  return columns
    .filter((column) => column.required && !OWN.includes(column.name))
    .map(({ name }) => name)
    .filter((name) => rows.some((row) => row[name] === null));
}

it('the rows that an export may divide between parts are those that the catalog describes so', async () => {
  const { disk } = await eventful();
  const inOrder = relations.filter(({ name }) => extractionOf(name).order.length > 0);
  const agreeing = inOrder.filter(({ name }) => {
    const { order } = extractionOf(name);
    const sql = `SELECT EXISTS (SELECT 1 FROM ${name} GROUP BY ${order.join(', ')} HAVING count(*) > 1)`;
    return disk.other((db) => db.prepare(sql).pluck().get()) === 1;
  });
  expect(agreeing.map(({ name }) => name)).toEqual(
    inOrder.filter(({ name }) => extractionOf(name).ties).map(({ name }) => name),
  );
});
