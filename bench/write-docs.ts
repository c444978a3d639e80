import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { chartOf, charts } from './report/chart.ts';
import { withMeasurements } from './report/document.ts';
import type { Report } from './report/report.ts';

const DOCUMENT = new URL('../docs/performance.md', import.meta.url);
const CHARTS = new URL('../docs/performance/', import.meta.url);

/** Writes the figures of a report into docs/performance.md, and its charts into docs/performance/. */
export async function writeDocs(report: Report): Promise<void> {
  await writeFile(DOCUMENT, withMeasurements(await readFile(DOCUMENT, 'utf8'), report));
  await mkdir(CHARTS, { recursive: true });
  const series = report.rows.flatMap((row) => row.series);
  for (const name of ['throughput', 'memory'] as const) {
    const own = series.filter(({ chart }) => chart === name);
    if (own.length > 0) await writeFile(new URL(`${name}.svg`, CHARTS), chartOf(own, charts[name]));
  }
}
