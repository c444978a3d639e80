import type { Clock } from '../../platform/time/clock.ts';

/** What holding a ledger needs. */
export interface HoldOptions {
  readonly clock: Clock;
  /** The name under which the ledger records the leases of this process. */
  readonly holder: string;
  /** Whether a process is known to be dead, by the name under which the ledger records its leases. */
  readonly isDead: (holder: string) => Promise<boolean>;
}

/** A ledger that this process holds: no other one polls or dispatches with it. */
export interface HeldLedger {
  /** Resolves when another process has taken the ledger over, with a description of that process. */
  readonly lost: Promise<string>;
  /** Gives the ledger up. Returns whether it did: if the server does not answer, another process has to wait until the lease ends. */
  release(): Promise<boolean>;
}
