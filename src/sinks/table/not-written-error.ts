/** A database reported no error, but rows are missing from the table: a trigger or rule there discarded them. */
export class NotWritten extends Error {
  override readonly name = 'NotWritten';
  /** The table, quoted as in SQL. */
  readonly table: string;

  constructor(table: string) {
    super(`Rows were not written to ${table}.`);
    this.table = table;
  }
}
