type Cell = string | number | bigint | Buffer | null;

/** Returns a record of a CSV file (RFC 4180). Null becomes an empty cell, and an empty string becomes `""`, so that readers can distinguish them. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(cell: Cell): string {
  if (cell === null) return '';
  const text = String(cell);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
