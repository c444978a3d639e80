/** A stored value of any type, as text. */
export type StoredValue = string | null;

/** A row of a mirrored table. */
export interface HistoryRow {
  /** Number of the row in the ledger. */
  readonly no: number;
  /** The values, in the catalog's column order. */
  readonly values: readonly StoredValue[];
}

/**
 * The rows of a mirrored table as one JSON text: `[[no, [value, …]], …]`. Passing one text between threads costs far less than passing an
 * object for each row.
 */
export type HistoryText = string;

/** Parses the rows in a `HistoryText`. */
export function rowsOf(text: HistoryText): HistoryRow[] {
  const rows: [no: number, values: StoredValue[]][] = JSON.parse(text);
  return rows.map(([no, values]) => ({ no, values }));
}

/** The current state of sinks and sources: the rows of `v_sink_health` and `v_freshness`, and numbers and names that mirrors need. */
export interface Overview {
  readonly sinks: readonly (readonly StoredValue[])[];
  readonly sources: readonly (readonly StoredValue[])[];
  /** Number of the first valid client key. Keys with lower numbers are no longer valid. Undefined if there are no client keys. */
  readonly firstClientKey: number | undefined;
  /** The renamed sinks. */
  readonly renamed: readonly RenamedSink[];
}

/** A renamed sink. */
export interface RenamedSink {
  /** The current name. */
  readonly sink: string;
  /** The sink's first name, which the ids of its deliveries contain. */
  readonly named: string;
}

/** A sink, and a former name under which a destination may still store its rows. */
export interface FormerName {
  readonly sink: string;
  readonly former: string;
}
