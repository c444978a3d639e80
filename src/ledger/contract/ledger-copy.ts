/** A value of a copied row. Numbers and times are bigints: times in ms since 1970, and a flag is 0 or 1. */
export type CopiedValue = string | bigint | null;

/** A row of a table, in the order of the columns of `CopiedTable`. */
export type CopiedRow = readonly CopiedValue[];

/** How the values of a column are stored: `flag` is a boolean in PostgreSQL, and `time` is a text in SQLite. */
export type ColumnKind = 'text' | 'integer' | 'flag' | 'time';

/** A table that a copy of a ledger takes along. */
export interface CopiedTable {
  /** Its name in PostgreSQL, and its name in SQLite. */
  readonly name: string;
  readonly inSqlite: string;
  /** The columns by which its rows are ordered. */
  readonly key: readonly string[];
  readonly columns: readonly (readonly [name: string, kind: ColumnKind])[];
}

/** How far the copying of a table has come: the key of the last copied row, as texts, and the number of copied rows. */
export interface TableProgress {
  readonly after: readonly string[] | undefined;
  readonly rows: number;
}

/** Describes all rows of a table: their number, and the sum of the hashes of their values, in decimal. */
export interface TableDigest {
  readonly rows: number;
  readonly sum: string;
}

/** What a ledger has apart from the rows of its tables. */
export interface LedgerFacts {
  readonly id: string;
  readonly clockAt: bigint;
  readonly restoredAt: bigint | null;
  readonly keyedWith: string | null;
  readonly keyedThrough: bigint;
  /** The last number that was given to a row, by table. Lacks tables whose numbers follow from their rows. */
  readonly numbers: ReadonlyMap<string, bigint>;
  /** When each sink last delivered, if that is not in its health, in ms since 1970. */
  readonly deliveredAt: ReadonlyMap<bigint, bigint>;
}

/** Where a ledger was moved to, and when, in ms since 1970. */
export interface Moved {
  readonly to: string;
  readonly at: number;
}

/** A ledger that is copied. */
export interface CopySource {
  readonly id: string;
  /** Whether a process of another machine might begin to work with it, so that it has to be marked before it is read. */
  readonly isShared: boolean;
  /** Returns the place that the ledger was moved to, and when, in ms since 1970; undefined if it was not moved. */
  movedTo(): Promise<Moved | undefined>;
  count(table: CopiedTable): Promise<number>;
  /** Passes the rows after a key to `use` in parts that fit in memory, in the order of the key. */
  each(
    table: CopiedTable,
    after: TableProgress['after'],
    use: (rows: readonly CopiedRow[]) => Promise<void>,
  ): Promise<void>;
  digest(table: CopiedTable): Promise<TableDigest>;
  facts(): Promise<LedgerFacts>;
  /** Marks the ledger as moved, so that no process delivers with it. @throws LedgerError with the code `held` if one works with it already */
  markMoved(moved: Moved): Promise<void>;
  close(): Promise<void>;
}

/** A ledger that is made by copying. Until `finish`, no process can open it. */
export interface CopyTarget {
  /** Whether an earlier copy was not finished, and this one continues it. */
  readonly isContinued: boolean;
  progress(table: CopiedTable): Promise<TableProgress>;
  /** Adds rows, and records the progress in the same transaction. */
  add(table: CopiedTable, rows: readonly CopiedRow[], from: TableProgress, to: TableProgress): Promise<void>;
  digest(table: CopiedTable): Promise<TableDigest>;
  /** Makes the copy a ledger. */
  finish(facts: LedgerFacts): Promise<void>;
  close(): Promise<void>;
}
