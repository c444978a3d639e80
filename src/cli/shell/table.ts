/** A column's heading; numbers stand at the right. */
export interface Column {
  readonly head: string;
  readonly align?: 'right';
  /** Where there is no room, columns that can be spared are left out, the lowest number first. */
  readonly spare?: number;
}

type Row = readonly string[];

const GAP = '  ';
/** A last column narrower than this is no pleasure to read. */
const NARROWEST_LAST = 24;

/**
 * Rows as aligned text, a line each, under their headings. The last column is as wide as it likes. Where lines may only
 * be `room` characters long, columns that can be spared are left out and the last one is folded between words; when that
 * is not enough, each row stands as lines of its own. Only a word that is longer than `room` makes a longer line.
 */
export function table(columns: readonly Column[], rows: readonly Row[], room?: number): string {
  const lines = [columns.map(({ head }) => head), ...rows];
  const widths = columns.map((_, at) =>
    lines.reduce((widest, line) => Math.max(widest, width(line[at] ?? '')), 0),
  );
  if (room === undefined || sum(widths) <= room) return aligned(columns, lines, widths);
  const last = widths.at(-1) ?? 0;
  const beforeLast = sum(widths) - last;
  if (beforeLast + Math.min(last, NARROWEST_LAST) <= room) return folded(columns, lines, widths, room);
  const spared = firstToSpare(columns);
  if (spared < 0) return records(columns, rows, room);
  const without = <T>(list: readonly T[]) => list.filter((_, at) => at !== spared);
  return table(without(columns), rows.map(without), room);
}

/** The place of the column to leave out first; -1 when none can be spared. */
function firstToSpare(columns: readonly Column[]): number {
  const lowest = Math.min(...columns.map(({ spare }) => spare ?? Number.POSITIVE_INFINITY));
  return columns.findIndex(({ spare }) => spare === lowest);
}

function aligned(columns: readonly Column[], lines: readonly Row[], widths: readonly number[]): string {
  const cell = (text: string, at: number) => {
    const blanks = ' '.repeat(Math.max(0, (widths[at] ?? 0) - width(text)));
    return columns[at]?.align === 'right' ? blanks + text : text + blanks;
  };
  return lines.map((line) => `${line.map(cell).join(GAP).trimEnd()}\n`).join('');
}

function folded(
  columns: readonly Column[],
  lines: readonly Row[],
  widths: readonly number[],
  room: number,
): string {
  const last = columns.length - 1;
  const lastRoom = room - (sum(widths) - (widths[last] ?? 0));
  const all = lines.flatMap((line) =>
    fold(line[last] ?? '', lastRoom).map((part, at) => [
      ...line.slice(0, last).map((text) => (at === 0 ? text : '')),
      part,
    ]),
  );
  return aligned(columns, all, widths);
}

function records(columns: readonly Column[], rows: readonly Row[], room: number): string {
  const indent = GAP.length;
  const record = (row: Row) =>
    columns.flatMap(({ head }, at) =>
      row[at]
        ? fold(`${head}: ${row[at]}`, room - indent).map((part, n) => (n === 0 ? part : GAP + part))
        : [],
    );
  return rows.map((row) => `${record(row).join('\n')}\n`).join('\n');
}

/** A text as lines of at most `room` characters, divided between words. A longer word has a longer line. */
export function fold(text: string, room: number): string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && width(line) + 1 + width(word) > room) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

/** How long a line with these columns is. */
function sum(widths: readonly number[]): number {
  return widths.reduce((all, each) => all + each, 0) + GAP.length * (widths.length - 1);
}

function width(text: string): number {
  return [...text].length;
}
