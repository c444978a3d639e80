import type { LedgerError } from './ledger-error.ts';

/** The size of the write-ahead log after a checkpoint. */
export interface CheckpointResult {
  /** The pages in the log, in bytes. SQLite reuses the log once no connection reads an older state. */
  readonly logBytes: number;
  /** Of these, what an open query keeps from the database file because it began earlier. Grows with every write until that query ends. */
  readonly pinnedBytes: number;
}

/** The copy of the ledger from before an upgrade: its path, or why there is none. */
export type UpgradeCopy = { readonly path: string } | { readonly skipped: string };

/** An upgrade of the schema: the old and the new schema number, and the copy of the ledger from before. */
export interface Upgrade {
  readonly from: number;
  readonly to: number;
  readonly copy: UpgradeCopy;
}

/** What opening the ledger found and changed. */
export interface Opening {
  /** The upgrade to this version's schema; undefined if none was necessary. */
  readonly upgraded: Upgrade | undefined;
  /** Whether the file is a copy or was restored from one; it then has a new id. */
  readonly isCopy: boolean;
}

/** The methods about the database file: its identity, damage, other writers, and the write-ahead log. */
export interface LedgerUpkeep {
  /** The id of this ledger, which never changes and no other ledger has. Letters and digits. */
  readonly id: string;
  readonly opening: Opening;
  /** Returns why the ledger records nothing: the file is damaged, or the last write failed. Undefined if neither is the case. */
  failing(): LedgerError | undefined;
  /** Records damage that the caller found in the file; `failing` returns it from then on. */
  reportDamage(damage: LedgerError): void;
  /**
   * Checks the file for damage in a process of its own; `failing` returns the damage from then on. Returns the damage, or undefined if
   * there is none or the signal aborts first.
   */
  inspect(signal: AbortSignal): Promise<LedgerError | undefined>;
  /** Whether the opened file or its write-ahead log was removed, or replaced by another file of that name. */
  isReplaced(): Promise<boolean>;
  /** Whether another process has written to the ledger since the previous call. */
  changedElsewhere(): Promise<boolean>;
  /** Copies the write-ahead log into the database file, as far as no connection reads an older state. */
  checkpointLog(): Promise<CheckpointResult>;
  /** Frees cached memory, for a ledger in a thread also the memory of that thread. */
  releaseMemory(): Promise<void>;
  /**
   * Stores the number of the last poll in a file beside the ledger, by which the next opening recognises an older copy in the
   * ledger's place. Ignores a failing disk.
   */
  recordProgress(): Promise<void>;
  /**
   * Removes overwritten content from the disk: empties the write-ahead log and deletes the copies that upgrades left. Returns false
   * while a connection reads an older state, because the log then still holds the content.
   */
  scrub(): Promise<boolean>;
  /** Deletes the copies that upgrades left before this time: they hold content that was removed from the ledger since. */
  removeUpgradeCopies(before: Date): Promise<void>;
}
