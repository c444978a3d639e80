import { charts } from './chart.ts';
import type { Report, Row } from './report.ts';
import { verdicts } from './verdict.ts';
import { COLUMNS, type Line, linesOf, machineText, runText } from './wording.ts';

const BEGIN = '<!-- measured: begin (npm run bench -- --write-docs writes the text between these marks) -->';
const END = '<!-- measured: end -->';

/** Returns a document with the tables of a report between its marks. @throws Error if the marks are missing */
export function withMeasurements(document: string, report: Report): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END);
  if (begin < 0 || end < begin)
    throw new Error(`The document lacks the marks for the figures: ${BEGIN} … ${END}`);
  return `${document.slice(0, begin + BEGIN.length)}\n\n${markdownOf(report)}\n${document.slice(end)}`;
}

function markdownOf(report: Report): string {
  const overview = [['#', 'work', 'aims met'], ['---', '---', '---'], ...report.rows.map(overviewOf)];
  const rows = report.rows.map(sectionOf).join('\n');
  return `${runText(report)}\n${machineText(report.machine)}\n\n${overview.map(tableLine).join('\n')}\n\n${rows}`;
}

function overviewOf(row: Row): Line {
  const judged = row.figures.flatMap(verdicts).filter(({ met }) => met !== undefined);
  const met = judged.filter((verdict) => verdict.met);
  return [String(row.number), row.title, `${met.length} of ${judged.length}`];
}

function sectionOf(row: Row): string {
  // Without the first column, which repeats the number in the heading.
  const lines = [COLUMNS, COLUMNS.map(() => '---'), ...linesOf(row)].map((line) => tableLine(line.slice(1)));
  const notes = row.notes.length === 0 ? '' : `\n${row.notes.join(' ')}\n`;
  return `### ${row.number}. ${row.title}\n\n${lines.join('\n')}\n${notes}${chartsOf(row)}`;
}

function chartsOf({ series }: Row): string {
  const names = [...new Set(series.map(({ chart }) => chart))];
  return names.map((name) => `\n![${charts[name].title}](performance/${name}.svg)\n`).join('');
}

function tableLine(line: Line): string {
  return `| ${line.map(cell).join(' | ')} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replace(/^NO$/, '**no**');
}
