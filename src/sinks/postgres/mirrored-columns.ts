import { storable } from '../../leads/content-facts.ts';
import type { HistoryRow, StoredValue } from '../../leads/history.ts';
import { leadContents, type Mirrored, mirrored } from '../../store/mirrored.ts';
import type { Column, ColumnType } from '../../store/relation.ts';
import { arrayParameter } from './array-parameter.ts';

/** PostgreSQL's name of each of the store's types. */
export const TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  bigint: 'bigint',
  integer: 'integer',
  double: 'double precision',
  boolean: 'boolean',
  time: 'timestamptz',
  day: 'date',
  json: 'json',
  jsonb: 'jsonb',
};

/** How a mirrored table is described. @throws Error for a table that is not mirrored */
export function described(table: string): Mirrored {
  const found = [...mirrored, leadContents].find(({ name }) => name === table);
  if (!found) throw new Error(`the table ${table} is not mirrored`);
  return found;
}

/**
 * Values of one column as a parameter for `$1::type[]`. Text that PostgreSQL cannot store is replaced; JSON as received holds NUL
 * as an escape, which the type json takes.
 */
export function parameter({ type }: Column, values: readonly StoredValue[]) {
  const isText = type === 'text';
  return arrayParameter(
    TYPES[type],
    values.map((value) => (value !== null && isText ? storable(value) : value)),
  );
}

/** The values of these columns of the rows: an array parameter for each column. @throws Error for a column that is not there */
export function valuesOf(table: string, names: readonly string[], rows: readonly HistoryRow[]) {
  const { columns } = described(table);
  return names.map((name) => {
    const at = placeOf(table, name);
    return parameter(
      columns[at] as Column,
      rows.map(({ values }) => values[at] ?? null),
    );
  });
}

/** Where a column's value stands in a row. @throws Error for a column that is not there */
export function placeOf(table: string, name: string): number {
  const at = described(table).columns.findIndex((column) => column.name === name);
  if (at === -1) throw new Error(`the mirrored table ${table} has no column ${name}`);
  return at;
}
