import { join } from 'node:path';
import { ProcessLocks } from '../../platform/files/process-lock.ts';

/** The processes that work on one ledger, by the names under which the ledger records their leases. */
export interface Processes {
  /** Shows the other processes that this one is alive, until `release`. `name` must never be used again. */
  join(name: string): Promise<{ release(): void }>;
  /** Makes sure that the other processes still see that this one is alive. */
  showAlive(): Promise<void>;
  /** Whether a process is known to be dead. One that never joined, or has left, may be alive. */
  isDead(name: string): Promise<boolean>;
  /** Returns all processes that joined, have not left, and are known to be dead. May leave out those that joined in the last minute. */
  dead(now: Date): Promise<readonly string[]>;
  /**
   * Takes everything from a dead process that shows it as alive, before its leases are reclaimed. Returns false if it has come back. Absent: a dead
   * process never does.
   */
  expel?(name: string): Promise<boolean>;
  /** Forgets a dead process. */
  forget(name: string): Promise<void>;
}

/** Returns the processes that work on the ledger in a data directory. */
export function processesOf(dataDir: string): ProcessLocks & Processes {
  return new ProcessLocks(join(dataDir, 'processes'));
}

/** Whether any process that uses a data directory may be alive, including workers, which do not lock the directory itself. */
export function hasLiveProcess(dataDir: string): boolean {
  return processesOf(dataDir).isAnyAlive();
}
