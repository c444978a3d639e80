type Cell = string | number | bigint | Buffer | null;

/** A record of a CSV file (RFC 4180). Null is nothing at all, and an empty text two quotes, so that readers can tell them apart. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(cell: Cell): string {
  if (cell === null) return '';
  const text = String(cell);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
