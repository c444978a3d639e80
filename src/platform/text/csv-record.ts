import { csvLine } from './csv-line.ts';
import { neutraliseCell } from './formula-injection.ts';

/** A value of a row: text, a number, a truth value, an object or a list, or null. */
type Value = string | number | boolean | object | null;

/**
 * Returns a row of a list as a record of a CSV file, with the given fields in order. Text is written so that no spreadsheet evaluates it as a formula;
 * an object or a list is written as JSON.
 */
export function csvRecord<Row extends object>(row: Row, columns: readonly (keyof Row & string)[]): string {
  return csvLine(columns.map((column) => cellOf(row[column] as Value)));
}

function cellOf(value: Value): string | null {
  if (value === null) return null;
  if (typeof value === 'string') return neutraliseCell(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
