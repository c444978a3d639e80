import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { onTestFinished } from 'vitest';
import { relations } from '../../src/catalog/catalog.ts';
import type { Relation } from '../../src/catalog/relation.ts';
import { exportTables } from '../../src/exports/files/export-tables.ts';
import type { FileFormatName } from '../../src/exports/files/file-formats.ts';
import { tempDir } from '../support/files/temp-dir.ts';

const PAGE = join(import.meta.dirname, '../../docs/exporting.md');
/** Columns that say how things are at the moment of the export, in rows that are exported only when something happens. */
const MOMENTARY = ['age_seconds', '_leadsync_last_listed_at'];

/** A folder of exports of everything, one after another, and what an analyst makes of it. */
export class Lake {
  readonly #ledgerFile: string;
  readonly #format: FileFormatName;
  readonly #folder = tempDir();
  #exports = 0;

  constructor(ledgerFile: string, format: FileFormatName) {
    this.#ledgerFile = ledgerFile;
    this.#format = format;
  }

  /** Exports what came or changed since then; undefined for all. Returns the name of its folder. */
  async add(since: Date | undefined, name = `lake-${this.#exports}`): Promise<string> {
    this.#exports += 1;
    const request = {
      ledger: { kind: 'file' as const, file: this.#ledgerFile },
      output: join(this.#folder, name),
      format: this.#format,
      relations,
      layout: 'folder' as const,
      since,
      exportedAt: new Date(this.#exports),
    };
    await exportTables(request, () => undefined, new AbortController().signal);
    return name;
  }

  /** Every table by its name, as the views of the documentation make it from the folders that match. */
  async together(folders: string): Promise<Map<string, string[]>> {
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
    const duck = await instance.connect();
    onTestFinished(() => {
      duck.closeSync();
      instance.closeSync();
    });
    await this.#makeViews(duck, join(this.#folder, folders));
    const tables = new Map<string, string[]>();
    for (const relation of relations) tables.set(relation.name, await rowsOf(duck, relation));
    return tables;
  }

  async #makeViews(duck: DuckDBConnection, lake: string): Promise<void> {
    const documented = documentedViews().replace(
      /SET VARIABLE lake = '[^']+'/,
      `SET VARIABLE lake = '${lake}'`,
    );
    if (this.#format === 'parquet') {
      await duck.run(documented);
      return;
    }
    for (const { name, columns } of relations) {
      const types = [...columns.map((column) => column.name), '_exported_at'].map(
        (one) => `'${one}': 'VARCHAR'`,
      );
      const files = `${lake}/${name}.${this.#format}`;
      const read =
        this.#format === 'csv'
          ? `read_csv('${files}', header = true, quote = '"', escape = '"', columns = {${types}}, allow_quoted_nulls = false, parallel = false)`
          : `read_json('${files}', format = 'newline_delimited', columns = {${types}})`;
      await duck.run(`CREATE TABLE exported_${name} AS FROM ${read}`);
    }
    const [, views = ''] = documented.split(/union_by_name = true\);/);
    await duck.run(views.replaceAll(/exported\('(\w+)'\)/g, 'exported_$1'));
  }
}

/** The SQL of the page that analysts read. */
function documentedViews(): string {
  const [, sql] =
    /## Putting increments together[\s\S]*?```sql\n([\s\S]*?)```/.exec(readFileSync(PAGE, 'utf8')) ?? [];
  if (!sql) throw new Error('docs/exporting.md no longer says how to put increments together');
  return sql;
}

async function rowsOf(duck: DuckDBConnection, { name, columns }: Relation): Promise<string[]> {
  const names = columns.map((column) => column.name).filter((column) => !MOMENTARY.includes(column));
  const reader = await duck.runAndReadAll(`SELECT ${names.map((one) => `"${one}"`).join(', ')} FROM ${name}`);
  return reader
    .getRowObjectsJson()
    .map((row) => JSON.stringify(row))
    .sort();
}
