import { hash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { storable } from '../../leads/storable-text.ts';
import type {
  CopiedRow,
  CopiedTable,
  CopiedValue,
  TableDigest,
  TableProgress,
} from '../contract/ledger-copy.ts';

/** Columns that are not stored as they are copied: how SQLite reads them, and how it stores `?`. */
const DIFFERENT: Readonly<Record<string, { readonly read: string; readonly store: string }>> = {
  // 0 stands for an unknown time, for which PostgreSQL has no NULL.
  '_client_keys.keyed_at': { read: 'coalesce(keyed_at, 0)', store: 'nullif(?, 0)' },
};

/** Yields the rows of a table after a key, in the order of the key, as they are copied: without NUL and lone surrogates, which a server cannot store. */
export function* copiedRows(
  db: Database.Database,
  table: CopiedTable,
  after: TableProgress['after'],
): Generator<CopiedRow> {
  const columns = table.columns.map(([name]) => DIFFERENT[`${table.name}.${name}`]?.read ?? `"${name}"`);
  const key = table.key.join(', ');
  const places = table.key.map((name) => (isText(table, name) ? '?' : 'CAST(? AS INTEGER)')).join(', ');
  const where = after ? ` WHERE (${key}) > (${places})` : '';
  const sql = `SELECT ${columns.join(', ')} FROM ${table.inSqlite}${where} ORDER BY ${key}`;
  const rows = db
    .prepare<unknown[], CopiedValue[]>(sql)
    .safeIntegers()
    .raw()
    .iterate(...(after ?? []));
  for (const row of rows)
    yield row.map((value, index) => asCopied(value, table.columns[index]?.[1] === 'time'));
}

function asCopied(value: CopiedValue, isTime: boolean): CopiedValue {
  if (typeof value !== 'string') return value;
  return isTime ? BigInt(Date.parse(value)) : storable(value);
}

/** Returns a function that stores a copied row. */
export function storingRows(db: Database.Database, table: CopiedTable): (row: CopiedRow) => void {
  const names = table.columns.map(([name]) => `"${name}"`);
  const values = table.columns.map(([name]) => DIFFERENT[`${table.name}.${name}`]?.store ?? '?');
  const insert = db.prepare(
    `INSERT INTO ${table.inSqlite} (${names.join(', ')}) VALUES (${values.join(', ')})`,
  );
  const isTime = table.columns.map(([, kind]) => kind === 'time');
  return (row) => {
    insert.run(
      row.map((value, index) =>
        isTime[index] && value !== null ? new Date(Number(value)).toISOString() : value,
      ),
    );
  };
}

/**
 * Returns the digest of a table: the sum of a hash of each row. The hash covers each value as its length in bytes and its text. PostgreSQL computes the
 * same from its own tables in SQL, so that neither what was read for copying nor what was sent is trusted.
 */
export function digestOf(db: Database.Database, table: CopiedTable): TableDigest {
  let rows = 0;
  let sum = 0n;
  for (const row of copiedRows(db, table, undefined)) {
    rows += 1;
    sum += hash('sha256', row.map(canonical).join(''), 'buffer').readBigInt64BE();
  }
  return { rows, sum: String(sum) };
}

function canonical(value: CopiedValue): string {
  if (value === null) return '-';
  const text = String(value);
  return `${Buffer.byteLength(text)}:${text}`;
}

function isText(table: CopiedTable, name: string): boolean {
  return table.columns.some(([column, kind]) => column === name && kind === 'text');
}
