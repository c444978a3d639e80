import { readFileSync } from 'node:fs';

/** The first cells of the table under a heading of a sink's page: what a test has to be there for. */
export function linesOfPage(sink: string, heading: string): string[] {
  const page = readFileSync(new URL(`../../src/sinks/${sink}/README.md`, import.meta.url), 'utf8');
  const section = page.split(`### ${heading}\n`)[1]?.split(/^#/m)[0] ?? '';
  const [, , ...rows] = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.map((row) => row.split(' | ')[0]?.slice(2) ?? '');
}
