/** A CRM of a run: a sink of leadsync, and the account behind it. */
export interface Crm {
  readonly sink: string;
  /** The sink gets one lead in this many. */
  readonly oneIn: number;
  /** The options of the sink, without `where` and those that all CRMs share. */
  readonly options: Readonly<Record<string, unknown>>;
  /** A field of the mapping that takes any text. */
  readonly textField: string;
  /** Does one of the troubles to every request until `behave`. */
  misbehave(trouble: string): void;
  behave(): void;
  /** Returns the records of enquiries, and those of persons. */
  held(): HeldRecords;
  close(): Promise<void>;
}

/** What an account holds. */
export interface HeldRecords {
  /** The keys of the records of enquiries: `main:4711`. */
  readonly keys: readonly string[];
  /** What is wrong with the persons, in words: two of one email address, an enquiry without a person. */
  readonly faults: readonly string[];
}

/** Returns the values that occur more than once. */
export function repeated(values: readonly string[]): string[] {
  const seen = new Set<string>();
  return [...new Set(values.filter((value) => seen.size === seen.add(value).size))];
}
