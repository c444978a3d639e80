import type { ReloadAnswer } from '../../ledger/contract/status-rows.ts';
import type { ReloadResult } from './reloader.ts';

/** Maximum length of a line, in characters, and maximum number of lines of an answer: each beat carries it. */
const MAX_LENGTH = 300;
const MAX_LINES = 20;

/** Returns what a process shows the others of a reload that they were all asked for. */
export function reloadAnswer(request: string, result: ReloadResult): ReloadAnswer {
  const short = (lines: readonly string[]) =>
    lines.slice(0, MAX_LINES).map((line) => line.slice(0, MAX_LENGTH));
  if (!result.applied) {
    const { failure, faults } = result;
    return { request, result: 'refused', lines: short(failure === null ? faults : [failure]) };
  }
  const { changes, restart } = result;
  const later = restart.length > 0 ? [`A restart is needed to apply ${restart.join(', ')}.`] : [];
  const isChanged = changes.length + restart.length > 0;
  return { request, result: isChanged ? 'applied' : 'unchanged', lines: short([...changes, ...later]) };
}
