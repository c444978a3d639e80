import type { Aim, Figure, Machine, Report, Row } from './report.ts';
import { spread } from './statistics.ts';
import { verdicts } from './verdict.ts';

/** A line of the table: its cells, in the order of `COLUMNS`. */
export type Line = readonly string[];

/** The headings of the columns. */
export const COLUMNS: Line = [
  '#',
  'figure',
  'median',
  'min … max',
  'reference',
  'reference median',
  'ratio',
  'aim',
  'met',
];

/** Returns the lines of a row: one for each figure and each of its references and aims. */
export function linesOf(row: Row): Line[] {
  return row.figures.flatMap((figure) => {
    const { median, min, max } = spread(figure.values);
    return verdicts(figure).map(({ reference, ratio, aim, met }, index) => [
      String(row.number),
      index === 0 ? figure.name : '',
      index === 0 ? quantity(median, figure.unit) : '',
      index === 0 ? `${number(min)} … ${number(max)}` : '',
      reference?.name ?? '',
      reference === undefined ? '' : medianOrReason(reference, figure),
      ratio === undefined ? '' : number(ratio),
      aim === undefined ? '' : aimText(aim, figure),
      met === undefined ? '' : met ? 'yes' : 'NO',
    ]);
  });
}

/** Returns the machine and the servers of the measurement, as a sentence. */
export function machineText({ cpu, cores, memoryGb, system, node, postgres, redis, disk }: Machine): string {
  return `${cpu}, ${cores} cores, ${memoryGb} GB of memory, ${system}; Node ${node}, ${postgres}, ${redis}; files on ${disk}.`;
}

/** Returns version, date and duration of a run, as a sentence. */
export function runText({ at, version, seconds, quick, runs }: Report): string {
  const kind = quick ? 'A QUICK run, with fewer leads than a full run' : 'A full run';
  return `${kind}: leadsync ${version}, ${at.slice(0, 10)}, each program ${plural(runs, 'time')}, ${Math.round(seconds)} s in total.`;
}

/** Returns a number below 100 with three significant digits, and others as integers with separators for thousands. */
export function number(value: number): string {
  if (value !== 0 && Math.abs(value) < 100) return String(Number(value.toPrecision(3)));
  return Math.round(value).toLocaleString('en');
}

function quantity(value: number, unit: Figure['unit']): string {
  return unit === '' ? number(value) : `${number(value)} ${unit}`;
}

function medianOrReason(reference: Figure['references'][number], { unit }: Figure): string {
  return reference.values.length === 0
    ? (reference.cannot ?? 'not measured')
    : quantity(spread(reference.values).median, unit);
}

function aimText({ is, limit, of }: Aim, { unit }: Figure): string {
  return of === undefined ? `${is} ${quantity(limit, unit)}` : `${is} ${number(limit)} ×`;
}

function plural(count: number, word: string): string {
  return count === 1 ? `1 ${word}` : `${count} ${word}s`;
}
