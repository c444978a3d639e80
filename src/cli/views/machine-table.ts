import { workOf } from '../../leads/duty-words.ts';
import type { MachinesStatus } from '../../ledger/contract/status-rows.ts';
import { printAge, printMomentAndAge } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { table } from '../shell/table.ts';

/** Returns the table of the processes on a ledger that several machines may use; an empty string for any other ledger. */
export function machineTable(machines: MachinesStatus | undefined, now: Date, width?: number): string {
  if (!machines || machines.processes.length === 0) return '';
  const columns = [
    { head: 'MACHINE' },
    { head: 'ROLE' },
    { head: 'STATE' },
    { head: 'VERSION', dropOrder: 2 },
    { head: 'CONFIG', dropOrder: 1 },
    { head: 'STARTED', dropOrder: 3 },
    { head: 'LAST SEEN', dropOrder: 4 },
    { head: 'WORK' },
  ] as const;
  const rows = machines.processes.map((one) => [
    printable(one.machine),
    one.role,
    one.isMissing ? 'missing' : 'works',
    one.facts?.version ?? '-',
    one.facts?.config ?? '-',
    printMomentAndAge(one.startedAt, now),
    printAge(one.seenAt, now),
    printable(one.duties.map(workOf).join(', ')) || '-',
  ]);
  return `${table(columns, rows, width)}\n`;
}
