import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it, onTestFinished } from 'vitest';
import { relations } from '../../src/catalog/catalog.ts';
import { exportTables } from '../../src/exports/files/export-tables.ts';
import { migrations } from '../../src/sinks/postgres/schema/migrations.ts';
import { openPostgres, startDatabase } from '../sinks/postgres/database.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aBatch, aDelivery } from '../support/scene/a-delivery.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { eventful } from './eventful-store.ts';
import { oddLeads } from './odd-leads.ts';

const NEVER = new AbortController().signal;

/** Reads a field of every JSON text as received: one that cannot be read makes the whole question fail. */
const NAMES = {
  leads: "SELECT DISTINCT _leadsync_raw ->> 'client_name' AS name FROM leads",
  lead_versions: "SELECT DISTINCT raw ->> 'client_name' AS name FROM lead_versions",
};

it.each(Object.entries(NAMES))('a lead with NUL makes no query over the JSON of %s fail', async (_, sql) => {
  const stores = await eventful();
  const names = (rows: readonly Record<string, unknown>[]) => rows.map(({ name }) => String(name)).sort();
  const known = names(stores.inLedger(sql));
  expect(known).toContain('a\ufffdb');
  expect(names(await stores.inPostgres(sql))).toEqual(known);
  expect(names(await inDuckDB(stores.disk.file, sql))).toEqual(known);
});

it('each store keeps the text as received beside the JSON, only if the two differ', async () => {
  const stores = await eventful();
  const received = new Map(oddLeads().map(({ id, raw }) => [String(id), raw]));
  const sql =
    'SELECT lead_id, coalesce(_leadsync_original, CAST(raw AS text)) AS original, _leadsync_replaced AS replaced, _leadsync_original IS NOT NULL AS kept FROM lead_versions WHERE version = 1';
  const rows = await Promise.all([
    stores.inLedger(sql),
    // As text: the test's reader of rows writes JSON anew.
    stores.postgres.query(
      `SELECT lead_id, to_json(original)::text AS quoted, replaced::int, kept::int FROM (${sql}) t`,
    ),
  ]);
  for (const { lead_id, original, quoted, replaced, kept } of rows.flat()) {
    const raw = received.get(String(lead_id)) ?? '';
    if (quoted === undefined) expect(JSON.parse(String(original))).toEqual(JSON.parse(raw));
    else expect(JSON.parse(String(quoted))).toBe(raw);
    const differs = ['2', '3', '8', '10', '9007199254740993'].includes(String(lead_id));
    expect([String(replaced), String(kept)], String(lead_id)).toEqual(Array(2).fill(differs ? '1' : '0'));
  }
});

it('an upgrade makes rows of an older leadsync readable, and keeps their text', async () => {
  const { url, schema, query, close } = startDatabase();
  const sink = openPostgres({ url, schema });
  onTestFinished(async () => {
    await sink.close();
    await close();
  });
  const raws = [
    String.raw`{"client_name":"a\u0000b\\u0000\\\ud800c\udc00\ud83d\ude00", "id":1}`,
    String.raw`{"client_name":"\ud800\ud83d\ude00\ude00","id":2}`,
    String.raw`{"client_name":"\\u0000 \ud83d\ude00","id":3}`,
  ];
  await query(`CREATE SCHEMA ${schema}`);
  for (const step of migrations.slice(0, 4)) await query(step);
  await query(
    'CREATE TABLE _leadsync_migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL, applied_by text NOT NULL)',
  );
  await query(`INSERT INTO _leadsync_migrations SELECT n, now(), '' FROM generate_series(1, 4) n`);
  for (const [at, raw] of raws.entries()) {
    await query(`INSERT INTO leads SELECT 'main', ${at + 1}, '', '', now(), '', '', '', NULL, '', '[]', '{}', now(), now(), now(), now(), 1, '',
      '${raw}', ${at < 2}`);
    await query(
      `INSERT INTO lead_versions SELECT 'main', ${at + 1}, 1, now(), NULL, true, NULL, 1, '', '${raw}', ${at + 1}, 'a-ledger'`,
    );
  }
  expect(await sink.deliver(aBatch([aDelivery({ leadId: 9n, raw: aLead({ id: 9 }) })]), NEVER)).toEqual([
    { kind: 'delivered' },
  ]);
  const expected = [
    ['a\ufffdb\\u0000\\\ufffdc\ufffd😀', raws[0], true],
    ['\ufffd😀\ufffd', raws[1], true],
    ['\\u0000 😀', null, false],
  ];
  for (const [raw, table] of [
    ['raw', 'lead_versions'],
    ['_leadsync_raw', 'leads WHERE id < 9'],
  ]) {
    const rows = await query(
      `SELECT ${raw} ->> 'client_name' AS name, _leadsync_original AS original, _leadsync_replaced AS replaced FROM ${table} ORDER BY 1 DESC, 2`,
    );
    const inOrder = (a: readonly unknown[], b: readonly unknown[]) => (String(a[0]) < String(b[0]) ? -1 : 1);
    expect(rows.map(Object.values).sort(inOrder)).toEqual(expected.toSorted(inOrder));
  }
});

async function inDuckDB(ledgerFile: string, sql: string): Promise<Record<string, unknown>[]> {
  const output = join(tempDir(), 'all');
  await exportTables(
    {
      ledger: { kind: 'file', file: ledgerFile },
      output,
      format: 'parquet',
      relations,
      layout: 'folder',
      since: undefined,
      exportedAt: new Date(0),
    },
    () => undefined,
    NEVER,
  );
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const duck = await instance.connect();
  onTestFinished(() => {
    duck.closeSync();
    instance.closeSync();
  });
  const [, table = ''] = /FROM (\w+)/.exec(sql) ?? [];
  await duck.run(`CREATE VIEW ${table} AS SELECT * FROM read_parquet('${join(output, `${table}.parquet`)}')`);
  return (await duck.runAndReadAll(sql)).getRowObjects();
}
