import { mirroredTable } from '../../../catalog/mirrored-tables.ts';
import type { Column, ColumnType } from '../../../catalog/relation.ts';
import type { HistoryRow, StoredValue } from '../../../leads/mirrored-history.ts';
import { storable } from '../../../leads/storable-text.ts';
import { arrayParameter } from '../../../postgres/array-parameter.ts';

/** PostgreSQL's name for each type in the catalog. */
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
 * Returns the values of one column as a parameter for `$1::type[]`. Replaces characters that PostgreSQL cannot store. JSON needs no
 * replacement: it contains NUL as an escape, which the type json accepts.
 */
export function parameter(type: ColumnType, values: readonly StoredValue[]) {
  const isText = type === 'text';
  return arrayParameter(
    TYPES[type],
    values.map((value) => (value !== null && isText ? storable(value) : value)),
  );
}

/** Returns the element type of a column's parameter in statements that receive times as numbers (ms). */
export function parameterType(type: string): string {
  return type === TYPES.time ? 'double precision' : type;
}

/** Returns SQL that converts an element of the parameter to the column's type; see `parameterType`. */
export function columnValue(type: string, value: string): string {
  return type === TYPES.time ? `to_timestamp(${value} / 1000)` : value;
}

/** Returns one array parameter for each of the columns. @throws Error for an unknown column */
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

/** Returns the index of a column's value in a row. @throws Error for an unknown column */
export function placeOf(table: string, name: string): number {
  const at = mirroredTable(table).columns.findIndex((column) => column.name === name);
  if (at === -1) throw new Error(`the mirrored table ${table} has no column ${name}`);
  return at;
}
