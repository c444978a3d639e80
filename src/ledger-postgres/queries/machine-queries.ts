import type { MachinesStatus, ProcessRow } from '../../ledger/contract/status-rows.ts';
import { DUTY_LEASE_MS, MISSING_MS } from '../../ledger/rules/machines/lease-times.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

type StoredFacts = NonNullable<ProcessRow['facts']>;

/** Returns the processes of the ledger, those that have been missing for less than 10 minutes, and the duties that no process has. */
export async function machinesStatus(tx: Transaction): Promise<MachinesStatus> {
  const duties = await tx.rows(DUTIES);
  const rows = await tx.rows(PROCESSES, [tx.now - MISSING_MS]);
  const isHeld = ({ held_until, holder }: (typeof duties)[number]) => holder !== null && held_until >= tx.now;
  const processes = rows.map((row) => {
    const isMissing = row.is_removed || tx.now - row.seen_at >= DUTY_LEASE_MS;
    const own = duties.filter((duty) => duty.holder === row.holder && isHeld(duty));
    return {
      holder: row.holder,
      machine: row.machine,
      role: row.role,
      startedAt: new Date(row.started_at),
      seenAt: new Date(row.seen_at),
      isMissing,
      sinks: JSON.parse(row.sinks) as string[],
      duties: own.map(({ duty }) => duty),
      facts: (JSON.parse(row.facts) as StoredFacts | null) ?? undefined,
    };
  });
  const wanted = new Set(
    rows.flatMap(({ wants }, at) => (processes[at]?.isMissing ? [] : (JSON.parse(wants) as string[]))),
  );
  return {
    processes: processes.filter((one) => !isReplaced(one, processes)),
    free: duties
      .filter((duty) => !isHeld(duty))
      .map(({ duty, held_until }) => ({ duty, since: new Date(held_until), isWanted: wanted.has(duty) })),
  };
}

/** Whether a process of the same kind has been started on the machine since a missing one was last seen. */
function isReplaced(one: ProcessRow, processes: readonly ProcessRow[]): boolean {
  return (
    one.isMissing &&
    processes.some(
      ({ isMissing, machine, role, startedAt }) =>
        !isMissing && machine === one.machine && role === one.role && startedAt >= one.seenAt,
    )
  );
}

/** A process that was taken for dead and came back is in both tables. */
const PROCESSES = statement<{
  holder: string;
  machine: string;
  role: string;
  sinks: string;
  wants: string;
  facts: string;
  started_at: number;
  seen_at: number;
  is_removed: boolean;
}>(
  'shown-processes',
  `SELECT holder, machine, role, sinks, wants, facts, started_at, seen_at, false AS is_removed FROM _processes WHERE seen_at > $1
   UNION ALL
   SELECT holder, machine, role, sinks, '[]', facts, started_at, seen_at, true FROM _missing_processes m
   WHERE seen_at > $1 AND NOT EXISTS (SELECT 1 FROM _processes p WHERE p.holder = m.holder)
   ORDER BY machine, role, started_at, holder`,
);

const DUTIES = statement<{ duty: string; holder: string | null; held_until: number }>(
  'shown-duties',
  'SELECT duty, holder, held_until FROM _duty_leases ORDER BY duty',
);
