import type { Column, ColumnType } from '../../catalog/relation.ts';
import type { Cell } from '../../ledger/contract/ledger-tables.ts';

/** Returns a row as a line of JSON: integers with all digits, `jsonb` cells as nested JSON, and a lead's own JSON as a string. */
export function jsonLine(columns: readonly Column[], row: readonly Cell[]): string {
  const members = columns.map(
    ({ name, type }, at) => `${JSON.stringify(name)}:${jsonOf(row[at] ?? null, type)}`,
  );
  return `{${members.join(',')}}\n`;
}

function jsonOf(cell: Cell, type: ColumnType): string {
  if (cell === null) return 'null';
  if (type === 'boolean') return String(Number(cell) !== 0);
  // A line break in JSON is always white space between tokens, because strings cannot contain one.
  if (type === 'jsonb') return String(cell).replaceAll(/[\r\n]/g, ' ');
  return typeof cell === 'bigint' || typeof cell === 'number'
    ? String(cell)
    : JSON.stringify(cell.toString());
}
