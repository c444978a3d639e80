import type { DutyWork, HeldDuty } from '../../ledger/contract/machines.ts';

/** A piece of work for the whole installation, done by one process at a time. The part after the colon is the name of a source or a sink. */
export type Duty =
  /** Reads the listings of a source and records them. */
  | `poll:${string}`
  /** Claims the deliveries of a sink and offers them to the carrier. */
  | `dispatch:${string}`
  /** Owes a sink its backfill. */
  | `backfill:${string}`
  /** Updates the mirror of a sink. */
  | `mirror:${string}`
  /** Makes exports and backups when they are due. */
  | 'exports'
  /** Evaluates the alert conditions, and sends notices and heartbeats. */
  | 'alerts'
  /** Reclaims leases of dead processes, finishes replays, applies retention, and does the other work on the ledger as a whole. */
  | 'upkeep';

/** The duties that this process may hold. */
export interface Duties {
  /**
   * Runs `work` whenever this process holds the duty, until `work` returns while the duty is held and not retiring. `ending` ends the wait for the
   * duty, and nothing else: work that runs must end by itself. Several works may have the same duty. Ignores an error that `work` throws after the
   * duty was lost. @throws any other error of `work`
   */
  whileHeld(duty: Duty, work: DutyWork, ending: AbortSignal): Promise<void>;
}

const never = new AbortController().signal;

/** A duty that no other process can hold. */
const OWN: HeldDuty = {
  token: undefined,
  isTrusted: () => true,
  retiring: never,
  preferOthers: () => undefined,
};

/** Every duty, held for as long as the process runs. For a process that shares its ledger with no other machine. */
export const everyDuty: Duties = {
  whileHeld: async (_, work, ending) => {
    await Promise.resolve(); // the caller may stop again in the same turn
    if (!ending.aborted) await work(OWN, never);
  },
};
