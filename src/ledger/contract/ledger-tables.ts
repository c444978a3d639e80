import type { Relation } from '../../catalog/relation.ts';

/** A value of a row. Integers are bigint, so that ids are exact. */
export type Cell = string | bigint | number | Buffer | null;

/** Rows of a relation, with their values in the order of the columns in the catalog. */
export type Rows = readonly (readonly Cell[])[];

/**
 * A range of a relation's rows in key order: the rows after the key `after`, up to and including the key `through`. An empty key leaves
 * that end of the range open.
 */
export interface Stretch {
  readonly after: readonly Cell[];
  readonly through: readonly Cell[];
}

/**
 * Where the tables of a ledger are, as a value that can be sent to another thread or process. A server's address contains a password, so it must be
 * neither stored nor shown.
 */
export type TablesPlace =
  | { readonly kind: 'file'; readonly file: string }
  | {
      readonly kind: 'server';
      readonly url: string;
      readonly schema: string;
      /** The snapshot to read, which exists as long as the `LedgerTables` that began it is open. Absent: the present state. */
      readonly snapshot?: string | undefined;
    };

/** Reads whole tables of a ledger for exports. Every method may fail with a `LedgerError`. */
export interface LedgerTables {
  /** The place from which other threads read the same tables, in the same state if they are on a server. */
  readonly shared: TablesPlace;
  /**
   * Yields the rows of a relation in parts that fit in memory. With `since`, leaves out rows that were neither added nor changed from then
   * on, if the relation records this. Without `stretch`, reads the whole relation.
   */
  parts(relation: Relation, since: Date | undefined, stretch?: Stretch): AsyncIterableIterator<Rows>;
  /**
   * Yields consecutive stretches that cover a relation, each about as long as a part. Finds each stretch only when the caller requests it.
   */
  stretches(relation: Relation, since: Date | undefined): AsyncIterableIterator<Stretch>;
  /**
   * Returns the earliest timestamp that a row written since `since` may have, which is before `since` if the clock was set back. Also considers clock
   * steps recorded for times up to a day before `since`, because a step is recorded some time after it happens.
   */
  reachedBack(since: Date): Promise<Date>;
  /** Returns the present time by the server's clock, which the rows go by; undefined for a ledger in a file, which goes by the clock of its machine. */
  serverNow(): Promise<Date | undefined>;
  /** Returns the ledger's id and its schema number. */
  origin(): Promise<{ readonly ledger: string; readonly schema: number }>;
  /** Closes the connection. No other method may be called afterwards. */
  close(): Promise<void>;
}

/** A value to bind to a parameter of a query: an integer as bigint, a decimal as number. */
export type QueryValue = string | bigint | number;

/** Values by parameter name. */
export type QueryValues = Readonly<Record<string, QueryValue>>;

/** A query that a person typed. */
export interface TypedQuery {
  readonly sql: string;
  /** The values of the parameters `:name`. */
  readonly values: QueryValues;
  readonly timeoutMs: number;
}

/** The result of a query. The rows are read as the caller iterates over them. */
export interface QueryResult {
  readonly columns: readonly string[];
  readonly rows: Iterable<readonly Cell[]> | AsyncIterable<readonly Cell[]>;
}

/** Runs a query that a person typed, and passes the result to `use`. @throws QueryRefused, LedgerError */
export type RunSql = (query: TypedQuery, use: (result: QueryResult) => Promise<void>) => Promise<void>;

/** The query cannot be run. The message may repeat the SQL of the query, but contains no data from the ledger. */
export class QueryRefused extends Error {
  override readonly name = 'QueryRefused';
}
