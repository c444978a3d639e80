import { Option } from 'commander';
import { csvLine } from '../../platform/text/csv-line.ts';
import { csvRecord } from '../../platform/text/csv-record.ts';

/** Returns the option that prints a list as CSV. `what` names its rows. */
export function csvOption(what: string): Option {
  return new Option('--csv', `print the ${what} as CSV, with the same columns as the download on the page`);
}

/** Returns rows as CSV with a header. Text is written so that no spreadsheet evaluates it as a formula. */
export function csvOf<Row extends object>(
  rows: readonly Row[],
  columns: readonly (keyof Row & string)[],
): string {
  return [csvLine(columns), ...rows.map((row) => csvRecord(row, columns))].join('');
}
