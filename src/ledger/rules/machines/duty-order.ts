import { createHash } from 'node:crypto';
import type { KnownProcess } from '../../contract/machines.ts';

/**
 * Returns the processes that would take a duty, in the order in which they should. Processes that are not reluctant come first; within each group, a
 * hash of duty and process decides. So the duties spread over the processes, and a process that starts or ends does not change the order of the
 * others.
 */
export function dutyOrder(duty: string, processes: readonly KnownProcess[]): readonly string[] {
  const rank = ({ holder, reluctant }: KnownProcess) =>
    `${reluctant.includes(duty) ? 1 : 0}${createHash('sha256').update(`${duty}\n${holder}`).digest('hex')}`;
  return processes
    .filter(({ wants }) => wants.includes(duty))
    .map((process) => ({ holder: process.holder, rank: rank(process) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ holder }) => holder);
}
