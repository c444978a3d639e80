import { stripVTControlCharacters } from 'node:util';

/** A column of a table. `align` is `right` for numbers. */
export interface Column {
  readonly head: string;
  readonly align?: 'right';
  /** The order in which optional columns are left out of a narrow table, lowest first; undefined if never. */
  readonly dropOrder?: number;
}

type Row = readonly string[];

const GAP = '  ';
/** Minimum width of a folded last column, for readability. */
const NARROWEST_LAST = 24;

/**
 * Returns rows as aligned lines of text under their headings. To keep lines to at most `room` characters, folds the last column between
 * words and leaves out optional columns. If that is not enough, prints each row as a record with a line per column. Only a word longer than
 * `room` exceeds the limit.
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
  const dropped = firstToDrop(columns);
  if (dropped < 0) return records(columns, rows, room);
  const without = <T>(list: readonly T[]) => list.filter((_, at) => at !== dropped);
  return table(without(columns), rows.map(without), room);
}

/** Returns the index of the column to leave out first, or -1 if none is optional. */
function firstToDrop(columns: readonly Column[]): number {
  const lowest = Math.min(...columns.map(({ dropOrder }) => dropOrder ?? Number.POSITIVE_INFINITY));
  return columns.findIndex(({ dropOrder }) => dropOrder === lowest);
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

/** Splits the text between words into lines of at most `room` characters. Only a word longer than `room` exceeds the limit. */
export function fold(text: string, room: number): string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && width(line) + 1 + width(word) > room) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

/** Returns the length of a line with columns of these widths. */
function sum(widths: readonly number[]): number {
  return widths.reduce((all, each) => all + each, 0) + GAP.length * (widths.length - 1);
}

/** Returns the number of characters that a terminal shows for a cell. Ignores colour codes. */
function width(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}
