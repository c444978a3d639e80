import type { Overview } from '../../contract/overview.ts';

/** Returns the HTML id of the row of a problem on the overview, to which the line on every other page links. */
export function problemId({ code, about }: Pick<Overview['problems'][number], 'code' | 'about'>): string {
  return `problem-${code}${about === null ? '' : `-${about}`}`;
}
