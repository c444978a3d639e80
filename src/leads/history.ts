/** A value of the store as text, whatever its type. */
export type StoredValue = string | null;

/** A row of a mirrored table. */
export interface HistoryRow {
  /** Number of the row in the ledger. */
  readonly no: number;
  /** The values, in the order of the columns in the catalog. */
  readonly values: readonly StoredValue[];
}

/** Rows of a mirrored table as JSON, `[[no, [value, …]], …]`: one text between threads costs far less than an object for each row. */
export type HistoryText = string;

/** Returns the rows in a text from the ledger. */
export function rowsOf(text: HistoryText): HistoryRow[] {
  const rows: [no: number, values: StoredValue[]][] = JSON.parse(text);
  return rows.map(([no, values]) => ({ no, values }));
}

/** The present state of sinks and sources: rows of `v_sink_health` and `v_freshness`. */
export interface Overview {
  readonly sinks: readonly (readonly StoredValue[])[];
  readonly sources: readonly (readonly StoredValue[])[];
  /** Number of the first valid client key; earlier ones are no longer valid. Undefined if there is none. */
  readonly firstClientKey: number | undefined;
  /** Renamed sinks. The ids of their deliveries contain their first names. */
  readonly renamed: readonly RenamedSink[];
}

/** A renamed sink. */
export interface RenamedSink {
  /** The present name. */
  readonly sink: string;
  /** The first name, which the ids of its deliveries contain. */
  readonly named: string;
}

/** A sink, and a former name under which a destination still has it. */
export interface FormerName {
  readonly sink: string;
  readonly former: string;
}
