/** A value of the store as text, whatever its type; null for none. */
export type StoredValue = string | null;

/** A row of a table that is mirrored, its values in the order of the table's described columns. */
export interface HistoryRow {
  readonly no: number;
  readonly values: readonly StoredValue[];
}

/** Rows of a mirrored table as JSON, `[[no, [value, …]], …]`: between threads one text costs far less than as many objects. */
export type HistoryText = string;

/** Reads the rows of a text that the ledger made. */
export function rowsOf(text: HistoryText): HistoryRow[] {
  const rows: [no: number, values: StoredValue[]][] = JSON.parse(text);
  return rows.map(([no, values]) => ({ no, values }));
}

/** How sinks and sources are at present: rows of `v_sink_health` and of `v_freshness`. */
export interface Overview {
  readonly sinks: readonly (readonly StoredValue[])[];
  readonly sources: readonly (readonly StoredValue[])[];
  /** The number of the first client key that there is; those before it no longer hold. Undefined: there is none. */
  readonly firstClientKey: number | undefined;
  /** Sinks whose deliveries have another name in their ids: the one that they had first. */
  readonly renamed: readonly RenamedSink[];
}

/** A sink by its present name, and the name in its deliveries' ids. */
export interface RenamedSink {
  readonly sink: string;
  readonly named: string;
}

/** A sink, and a name that it is known under elsewhere. */
export interface FormerName {
  readonly sink: string;
  readonly former: string;
}
