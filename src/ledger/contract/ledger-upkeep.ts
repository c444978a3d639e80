import type { LedgerError } from './ledger-error.ts';

/** How much disk the ledger takes for what is written and not yet in its final place. */
export interface CheckpointResult {
  /** All of it that is on disk; used again for what is written next, once nobody reads an older state. */
  readonly logBytes: number;
  /** What somebody's open query, begun before it was written, keeps out. Grows with every write until that query ends. */
  readonly pinnedBytes: number;
}

/** What became of the copy that is made before an upgrade: its path, or why there is none. */
export type UpgradeCopy = { readonly path: string } | { readonly skipped: string };

/** An upgrade that was made: the numbers of the schemas, and the copy of the ledger as it was. */
export interface Upgrade {
  readonly from: number;
  readonly to: number;
  readonly copy: UpgradeCopy;
}

/** What opening the ledger found and changed. */
export interface Opening {
  /** It was upgraded to this version's schema. */
  readonly upgraded: Upgrade | undefined;
  /** It is a copy, or was restored from one, and now has another id. */
  readonly isCopy: boolean;
}

/** What concerns the file itself: which one it is, who else writes to it, and what of it is in its final place. */
export interface LedgerUpkeep {
  /** Names this ledger among others, for ever. Letters and digits. */
  readonly id: string;
  readonly opening: Opening;
  /** Why nothing can be recorded: that the file is damaged, or what the last write failed of, until something is recorded again. */
  failing(): LedgerError | undefined;
  /** Notes damage that somebody else has met in the file; `failing` tells of it from then on. */
  reportDamage(damage: LedgerError): void;
  /**
   * Looks once for damage, beside everything else; `failing` tells of it from then on. Returns what was found, if anything was before
   * the signal aborts.
   */
  inspect(signal: AbortSignal): Promise<LedgerError | undefined>;
  /** Whether the file that was opened, or its write-ahead log, is no longer the one under its name: it was removed, or another was put there. */
  isReplaced(): Promise<boolean>;
  /** True once after another process has written to the ledger. */
  changedElsewhere(): Promise<boolean>;
  /** Brings what was written to its final place, as far as nobody still reads an older state of the ledger. */
  checkpointLog(): Promise<CheckpointResult>;
  /** Gives back the memory that the ledger keeps for later. For a ledger with a thread of its own: of this thread as well. */
  releaseMemory(): Promise<void>;
  /** Notes beside the file how far the ledger has come, so that `opening` tells of an older copy that is written over it. Does nothing where the disk refuses. */
  recordProgress(): Promise<void>;
  /**
   * Brings what was overwritten to the disk, and removes the copies that upgrades have left. False while somebody reads an older state of the ledger: then its log still holds it.
   */
  scrub(): Promise<boolean>;
  /** Removes the copies that upgrades left before this moment: they hold what was removed from the ledger since. */
  removeUpgradeCopies(before: Date): Promise<void>;
}
