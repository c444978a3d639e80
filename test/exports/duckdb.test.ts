import { join } from 'node:path';
import {
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBInstance,
  DuckDBTimestampTZValue,
} from '@duckdb/node-api';
import { describe, expect, it, onTestFinished } from 'vitest';
import { queries, relations } from '../../src/catalog/catalog.ts';
import { exportTables } from '../../src/exports/files/export-tables.ts';
import { eventful, filled, ledgerValue, sorted, VALUES, withoutAges } from '../catalog/eventful-store.ts';
import { comparable, type Row } from '../catalog/two-stores.ts';
import { tempDir } from '../support/files/temp-dir.ts';

/** Reckoned at the moment that it is asked. */
const OWN = ['age_seconds'];

describe('the Parquet export in DuckDB', () => {
  it('holds what the ledger holds, in the described types, and answers every documented query alike', async () => {
    const stores = await eventful();
    const duck = await openExport(stores.disk.file);
    for (const { name, columns } of relations) {
      const shown = columns.filter((one) => !OWN.includes(one.name)).map((one) => `"${one.name}"`);
      const sql = `SELECT ${shown.join(', ')} FROM ${name}`;
      expect(sorted(await ask(duck, sql)), name).toEqual(sorted(stores.inLedger(sql)));
      expect(await typesOf(duck, name)).toEqual([
        ...columns.map((one) => [one.name, TYPES[one.type]]),
        ['_exported_at', TYPES.time],
      ]);
    }
    for (const query of queries) {
      const sql = filled(query, VALUES, ledgerValue);
      const known = stores.inLedger(sql);
      expect(known.length).toBeGreaterThan(0);
      expect(sorted(withoutAges(await ask(duck, sql))), query.name).toEqual(sorted(withoutAges(known)));
    }
  });
});

const TYPES = {
  text: 'VARCHAR',
  json: 'VARCHAR',
  jsonb: 'VARCHAR',
  bigint: 'BIGINT',
  integer: 'INTEGER',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMP WITH TIME ZONE',
  day: 'DATE',
} as const;

/** Exports everything, and opens it as one who reads docs/exporting.md would. */
async function openExport(ledgerFile: string): Promise<DuckDBConnection> {
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
    new AbortController().signal,
  );
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const duck = await instance.connect();
  onTestFinished(() => {
    duck.closeSync();
    instance.closeSync();
  });
  for (const { name } of relations)
    await duck.run(`CREATE VIEW ${name} AS SELECT * FROM read_parquet('${join(output, `${name}.parquet`)}')`);
  return duck;
}

async function ask(duck: DuckDBConnection, sql: string): Promise<Row[]> {
  const reader = await duck.runAndReadAll(sql);
  return reader.getRowObjects().map((row) => {
    const cells = Object.entries(row).map(([name, value]) => [name, inJavaScript(value)] as const);
    return comparable(Object.fromEntries(cells));
  });
}

function inJavaScript(value: unknown): unknown {
  if (value instanceof DuckDBTimestampTZValue) return new Date(Number(value.micros / 1000n));
  return value instanceof DuckDBDateValue ? value.toString() : value;
}

async function typesOf(duck: DuckDBConnection, name: string): Promise<unknown[][]> {
  const reader = await duck.runAndReadAll(`DESCRIBE ${name}`);
  return reader.getRowObjects().map((row) => [row['column_name'], row['column_type']]);
}
