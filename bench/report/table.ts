import type { Report } from './report.ts';
import { COLUMNS, type Line, linesOf, machineText, runText } from './wording.ts';

/** Returns a report as a table for a terminal. */
export function tableOf(report: Report): string {
  const widths = widthsOf(report.rows.flatMap(linesOf));
  const sections = report.rows.map((row) =>
    [`${row.number}. ${row.title}`, ...linesOf(row).map((line) => aligned(line, widths))].join('\n'),
  );
  const heading = aligned(COLUMNS, widths);
  return `${[heading, ...sections, `${runText(report)}\n${machineText(report.machine)}`].join('\n\n')}\n`;
}

function widthsOf(lines: readonly Line[]): number[] {
  return COLUMNS.map((name, column) =>
    Math.max(name.length, ...lines.map((line) => line[column]?.length ?? 0)),
  );
}

function aligned(line: Line, widths: readonly number[]): string {
  // Without trailing blanks after the last column.
  return line
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd();
}
