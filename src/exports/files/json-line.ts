import type { Column, ColumnType } from '../../catalog/relation.ts';
import type { Cell } from '../../ledger/extraction/run-sql.ts';

/** A row as a line of JSON: integers to the last digit, answers as JSON in its place, and a lead's own JSON as the text it is. */
export function jsonLine(columns: readonly Column[], row: readonly Cell[]): string {
  const members = columns.map(
    ({ name, type }, at) => `${JSON.stringify(name)}:${jsonOf(row[at] ?? null, type)}`,
  );
  return `{${members.join(',')}}\n`;
}

function jsonOf(cell: Cell, type: ColumnType): string {
  if (cell === null) return 'null';
  if (type === 'boolean') return String(Number(cell) !== 0);
  // A line break outside of a string is white space; inside of one JSON has none.
  if (type === 'jsonb') return String(cell).replaceAll(/[\r\n]/g, ' ');
  return typeof cell === 'bigint' || typeof cell === 'number'
    ? String(cell)
    : JSON.stringify(cell.toString());
}
