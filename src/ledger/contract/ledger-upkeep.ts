import type { LedgerError } from './ledger-error.ts';

/** The size of the write-ahead log after a checkpoint. */
export interface CheckpointResult {
  /** The size of the pages in the log, in bytes. SQLite reuses the log once no connection reads an older state. */
  readonly logBytes: number;
  /**
   * How many of these bytes cannot be copied into the database file yet, because an open query reads an older state. Grows with every write
   * until that query ends.
   */
  readonly pinnedBytes: number;
}

/** The copy of the ledger from before an upgrade: its path, or why no copy was made. */
export type UpgradeCopy = { readonly path: string } | { readonly skipped: string };

/** An upgrade of the schema: the old and the new schema number, and the copy of the ledger from before the upgrade. */
export interface Upgrade {
  readonly from: number;
  readonly to: number;
  readonly copy: UpgradeCopy;
}

/** What opening the ledger found and changed. */
export interface Opening {
  /** The upgrade to this version's schema; undefined if none was necessary. */
  readonly upgraded: Upgrade | undefined;
  /** Whether the file is a copy or was restored from one. The ledger then has a new id. */
  readonly isCopy: boolean;
}

/** Whether overwritten content was removed from the disk, or whether a server will do so. */
export type Scrubbed = boolean | 'left-to-server';

/** The methods that concern the database: its identity, damage, other writers, and the write-ahead log. */
export interface LedgerUpkeep {
  /** The unique id of this ledger, which never changes while it is open. Consists of letters and digits. */
  readonly id: string;
  readonly opening: Opening;
  /**
   * Returns the error that may keep the ledger from recording: the damage to the file or, if there is none, the last transient error of a write.
   * `startPoll` or `settle` clears that error when it next succeeds. Undefined if there is neither.
   */
  failing(): LedgerError | undefined;
  /**
   * Returns how many transactions this process has run again because of a deadlock, or because another transaction had changed what was to be locked.
   * Absent if the ledger is in a file, where one transaction writes at a time.
   */
  repeatedTransactions?(): number;
  /** Records damage that the caller found in the file; `failing` returns it from then on. */
  reportDamage(damage: LedgerError): void;
  /**
   * Checks the file for damage in a separate process. Returns the damage, which `failing` also returns from then on, or an error with a code other
   * than `damaged` if the file could not be checked. Returns undefined if there is no damage, or if the signal aborts the check.
   */
  inspect(signal: AbortSignal): Promise<LedgerError | undefined>;
  /**
   * Whether the open file or its write-ahead log was removed, replaced by another file with the same name, or overwritten with another
   * ledger.
   */
  isReplaced(): Promise<boolean>;
  /** Whether another process has written to the ledger since the previous call. */
  changedElsewhere(): Promise<boolean>;
  /**
   * Resolves when any process may have written to the ledger, or after `atMostMs`, or when the signal aborts. A write between the call and
   * the `await` counts.
   */
  nextWrite(atMostMs: number, signal: AbortSignal): Promise<void>;
  /** Copies the write-ahead log into the database file, up to the oldest state that a connection still reads. */
  checkpointLog(): Promise<CheckpointResult>;
  /** Frees cached memory. If the ledger runs in a thread, also frees that thread's memory. */
  releaseMemory(): Promise<void>;
  /**
   * Stores the number of the last poll in a file beside the ledger. If an older copy takes the ledger's place, the next opening recognises
   * the copy by that number. Ignores disk errors.
   */
  recordProgress(): Promise<void>;
  /**
   * Removes overwritten content from the disk: empties the write-ahead log and deletes the copies that upgrades left. Returns false if another
   * connection reads an older state or writes, because the log then still contains the content. A ledger on a server returns `left-to-server`: the
   * space is marked as free, and the server overwrites it when necessary.
   */
  scrub(): Promise<Scrubbed>;
  /**
   * Deletes the copies that upgrades made before the given time. These copies contain content that has since been removed from the ledger.
   */
  removeUpgradeCopies(before: Date): Promise<void>;
}
