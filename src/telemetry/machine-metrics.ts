import type { Instruments } from './instruments.ts';

/** What a process knows of the machines on its ledger. */
export interface MachineReaders {
  /** Returns the role of each living process on the ledger, including this one. */
  readonly roles: () => readonly string[];
  /** Returns the duties that this process has. */
  readonly duties: () => readonly string[];
}

/** The roles of processes. */
const ROLES = ['run', 'worker', 'sync'];

/** Adds the metrics about the machines on a ledger in PostgreSQL. Calls the readers at each scrape. */
export function addMachineMetrics(make: Instruments, { roles, duties }: MachineReaders): void {
  make.gauge(
    'leadsync_processes',
    'Living processes on the ledger, as this process sees them. Only with a ledger in PostgreSQL.',
    { role: ROLES },
    (gauge) => {
      const living = roles();
      for (const role of ROLES) gauge.set({ role }, living.filter((one) => one === role).length);
    },
  );
  make.gauge(
    'leadsync_duty_held',
    '1 for each duty that this process has, such as the polls of a source. Only with a ledger in PostgreSQL.',
    { duty: [] },
    (gauge) => {
      gauge.reset();
      for (const duty of duties()) gauge.set({ duty }, 1);
    },
  );
}
