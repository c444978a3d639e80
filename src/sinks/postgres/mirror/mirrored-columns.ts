import { mirroredTable } from '../../../catalog/mirrored.ts';
import type { Column, ColumnType } from '../../../catalog/relation.ts';
import { storable } from '../../../leads/content-facts.ts';
import type { HistoryRow, StoredValue } from '../../../leads/history.ts';
import { arrayParameter } from '../sql/array-parameter.ts';

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

/**
 * Values of one column as a parameter for `$1::type[]`. Text that PostgreSQL cannot store is replaced; JSON as received holds NUL
 * as an escape, which the type json takes.
 */
export function parameter(type: ColumnType, values: readonly StoredValue[]) {
  const isText = type === 'text';
  return arrayParameter(
    TYPES[type],
    values.map((value) => (value !== null && isText ? storable(value) : value)),
  );
}

/** What a column's array is given as, in SQL: a time that is told in ms as a number. */
export function parameterType(type: string): string {
  return type === TYPES.time ? 'double precision' : type;
}

/** A given value as what its column holds, in SQL; see `parameterType`. */
export function columnValue(type: string, value: string): string {
  return type === TYPES.time ? `to_timestamp(${value} / 1000)` : value;
}

/** The values of these columns of the rows: an array parameter for each column. @throws Error for a column that is not there */
export function valuesOf(table: string, names: readonly string[], rows: readonly HistoryRow[]) {
  const { columns, timesInMs = false } = mirroredTable(table);
  return names.map((name) => {
    const at = placeOf(table, name);
    const { type } = columns[at] as Column;
    const values = rows.map((row) => row.values[at] ?? null);
    return type === 'time' && timesInMs
      ? arrayParameter(parameterType(TYPES.time), values)
      : parameter(type, values);
  });
}

/** Where a column's value stands in a row. @throws Error for a column that is not there */
export function placeOf(table: string, name: string): number {
  const at = mirroredTable(table).columns.findIndex((column) => column.name === name);
  if (at === -1) throw new Error(`the mirrored table ${table} has no column ${name}`);
  return at;
}
