/** A column's heading; numbers stand at the right. */
export interface Column {
  readonly head: string;
  readonly align?: 'right';
}

/** Rows as aligned text, a line each, under their headings. The last column is as wide as it likes. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const lines = [columns.map(({ head }) => head), ...rows];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => width(line[at] ?? ''))));
  const cell = (text: string, at: number) => {
    const room = ' '.repeat(Math.max(0, (widths[at] ?? 0) - width(text)));
    return columns[at]?.align === 'right' ? room + text : text + room;
  };
  return lines.map((line) => `${line.map(cell).join('  ').trimEnd()}\n`).join('');
}

function width(text: string): number {
  return [...text].length;
}
