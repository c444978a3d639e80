import type { Aim, Figure, Machine, Report, Row } from './report.ts';
import { spread } from './statistics.ts';
import { verdicts } from './verdict.ts';

/** One line of the table: the cells, in the order of `COLUMNS`. */
export type Line = readonly string[];

export const COLUMNS: Line = [
  '#',
  'figure',
  'median',
  'min … max',
  'reference',
  'its median',
  'ratio',
  'aim',
  'met',
];

/** The lines of a row: one for each figure and each thing that it is held against. */
export function linesOf(row: Row): Line[] {
  return row.figures.flatMap((figure) => {
    const { median, min, max } = spread(figure.values);
    return verdicts(figure).map(({ reference, ratio, aim, met }, index) => [
      String(row.number),
      index === 0 ? figure.name : '',
      index === 0 ? quantity(median, figure.unit) : '',
      index === 0 ? `${number(min)} … ${number(max)}` : '',
      reference?.name ?? '',
      reference === undefined ? '' : medianOrWhyNot(reference, figure),
      ratio === undefined ? '' : number(ratio),
      aim === undefined ? '' : aimText(aim, figure),
      met === undefined ? '' : met ? 'yes' : 'NO',
    ]);
  });
}

/** What the figures were measured on, in a sentence. */
export function machineText({ cpu, cores, memoryGb, system, node, postgres, redis, disk }: Machine): string {
  return `${cpu}, ${cores} cores, ${memoryGb} GB of memory, ${system}; Node ${node}, ${postgres}, ${redis}; files on ${disk}.`;
}

/** How a run was made, in a sentence. */
export function runText({ at, version, seconds, quick, runs }: Report): string {
  const kind = quick ? 'A QUICK run, with fewer leads than the full one' : 'A full run';
  return `${kind}: leadsync ${version}, ${at.slice(0, 10)}, ${plural(runs, 'time')} each, ${Math.round(seconds)} s in all.`;
}

/** With three significant digits, and thousands set apart. */
export function number(value: number): string {
  if (value !== 0 && Math.abs(value) < 100) return String(Number(value.toPrecision(3)));
  return Math.round(value).toLocaleString('en');
}

function quantity(value: number, unit: Figure['unit']): string {
  return unit === '' ? number(value) : `${number(value)} ${unit}`;
}

function medianOrWhyNot(reference: Figure['references'][number], { unit }: Figure): string {
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
