import type { MachinesStatus, ProcessRow } from '../../src/ledger/contract/status-rows.ts';
import { ago, NOW } from './an-observation.ts';

/** A process that works, but for what is given. */
export function aProcess(more: Partial<ProcessRow> = {}): ProcessRow {
  return {
    holder: `holder of ${more.machine ?? 'a-1'}`,
    machine: 'a-1',
    role: 'run',
    startedAt: ago(3_600_000),
    seenAt: NOW,
    isMissing: false,
    sinks: ['crm'],
    duties: [],
    facts: { version: '1.2.3', config: '0123456789ab', clockAheadMs: 20, reload: undefined },
    ...more,
  };
}

/** Two machines that share the work, but for what is given. */
export function theMachines(more: Partial<MachinesStatus> = {}): MachinesStatus {
  return {
    processes: [
      aProcess({ duties: ['alerts', 'exports', 'poll:main'] }),
      aProcess({ machine: 'b-2', duties: ['dispatch:crm', 'upkeep'] }),
    ],
    free: [],
    ...more,
  };
}
