/** PostgreSQL took rows and reported no error, and some of them are not in the table: something there swallowed them. */
export class NotWritten extends Error {
  override readonly name = 'NotWritten';
  /** As it is spelled in SQL. */
  readonly table: string;

  constructor(table: string) {
    super(`Rows were not written to ${table}.`);
    this.table = table;
  }
}
