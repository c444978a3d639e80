import { readFileSync } from 'node:fs';
import type { RunningLeadsync } from '../support/program/leadsync.ts';

/** Whether a process was stopped by SIGSTOP and has not resumed. */
export function isFrozen({ process: { pid } }: RunningLeadsync): boolean {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').startsWith('T');
}
