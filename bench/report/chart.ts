import type { Series } from './report.ts';
import { spread } from './statistics.ts';
import { number } from './wording.ts';

const WIDTH = 720;
const HEIGHT = 380;
const PLOT = { left: 76, right: 700, top: 56, bottom: 320 };
/** One colour for each line: distinct on light and dark backgrounds, without red beside green. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7'];

interface ChartText {
  readonly title: string;
  /** The unit of the vertical axis. */
  readonly unit: string;
}

/** The texts of the charts. */
export const charts: Readonly<Record<Series['chart'], ChartText>> = {
  throughput: { title: 'First sync into the ledger: leads per second', unit: 'leads/s' },
  memory: { title: 'First sync into the ledger: peak memory of the process', unit: 'MB' },
};

/** Returns a chart over the number of leads, as SVG: a line through the medians of each series, with bars from minimum to maximum. */
export function chartOf(series: readonly Series[], { title, unit }: ChartText): string {
  const leads = [...new Set(series.flatMap(({ points }) => points.map((point) => point.leads)))].sort(
    (a, b) => a - b,
  );
  const step = niceStep(
    Math.max(1, ...series.flatMap(({ points }) => points.flatMap(({ values }) => values))),
  );
  const x = logScale(leads[0] ?? 1, leads.at(-1) ?? 1);
  const y = (value: number) => PLOT.bottom - (value / (4 * step)) * (PLOT.bottom - PLOT.top);
  const parts = [
    text(PLOT.left, 24, title, 'class="title"'),
    ...[0, 1, 2, 3, 4].flatMap((line) => gridLine(y(line * step), number(line * step))),
    text(PLOT.left - 8, PLOT.top - 12, unit, 'text-anchor="end"'),
    ...leads.map((count) => text(x(count), PLOT.bottom + 20, number(count), 'text-anchor="middle"')),
    text((PLOT.left + PLOT.right) / 2, PLOT.bottom + 40, 'leads in the listing', 'text-anchor="middle"'),
    ...series.flatMap((line, index) => lineOf(line, index, x, y)),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}">
${STYLE}
${parts.join('\n')}
</svg>
`;
}

// Without a background: the page's shows through, and the text colour follows the colour scheme.
const STYLE = `<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .grid { stroke: #1f2328; stroke-opacity: .15 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .grid { stroke: #e6edf3 } }
</style>`;

function lineOf(
  series: Series,
  index: number,
  x: (leads: number) => number,
  y: (value: number) => number,
): string[] {
  const colour = COLOURS[index % COLOURS.length];
  const points = series.points
    .filter(({ values }) => values.length > 0)
    .map(({ leads, values }) => ({ at: x(leads), ...spread(values) }));
  const path = points.map(({ at, median }) => `${round(at)},${round(y(median))}`).join(' ');
  const legendX = PLOT.left + 12 + index * 200;
  return [
    `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...points.flatMap(({ at, median, min, max }) => [
      `<line x1="${round(at)}" x2="${round(at)}" y1="${round(y(min))}" y2="${round(y(max))}" stroke="${colour}"/>`,
      `<circle cx="${round(at)}" cy="${round(y(median))}" r="3.5" fill="${colour}"/>`,
    ]),
    `<line x1="${legendX}" x2="${legendX + 20}" y1="${HEIGHT - 8}" y2="${HEIGHT - 8}" stroke="${colour}" stroke-width="2"/>`,
    text(legendX + 26, HEIGHT - 4, series.name),
  ];
}

function gridLine(y: number, label: string): string[] {
  return [
    `<line class="grid" x1="${PLOT.left}" x2="${PLOT.right}" y1="${round(y)}" y2="${round(y)}"/>`,
    text(PLOT.left - 8, y + 4, label, 'text-anchor="end"'),
  ];
}

function logScale(least: number, greatest: number): (leads: number) => number {
  const span = Math.log(greatest / least) || 1;
  const inner = { left: PLOT.left + 40, right: PLOT.right - 40 };
  return (leads) => inner.left + (Math.log(leads / least) / span) * (inner.right - inner.left);
}

/** Returns the smallest round step of which four reach at least `greatest`. */
function niceStep(greatest: number): number {
  const rough = greatest / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
}

function text(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${round(x)}" y="${round(y)}"${attributes && ` ${attributes}`}>${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
