import type { Overview } from '../../contract/overview.ts';

/** Returns the HTML id of a problem's row on the overview. The state line on every other page links to it. */
export function problemId({ code, about }: Pick<Overview['problems'][number], 'code' | 'about'>): string {
  return `problem-${code}${about === null ? '' : `-${about}`}`;
}
