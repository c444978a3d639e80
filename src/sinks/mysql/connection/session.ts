import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2';

/** A row of a result. BIGINT and DECIMAL values are strings, and so are times and JSON. */
export type Row = Readonly<Record<string, string | number | null>>;

/** A value of a statement. Whole numbers are text, so that the server reads every digit. */
export type Value = string | number | null;

/** A connection inside a transaction. */
export interface Session {
  /** Maximum size of a statement with its values, in bytes (`max_allowed_packet`). */
  readonly maxPacketBytes: number;
  readonly isMariaDb: boolean;
  /** Runs a prepared statement and returns its rows. */
  rows(sql: string, values?: readonly Value[]): Promise<readonly Row[]>;
  /** Runs a prepared statement and returns the number of rows that it changed. */
  run(sql: string, values: readonly Value[]): Promise<number>;
  /** Runs a statement that takes no values. */
  define(sql: string): Promise<void>;
  /** Asks the server to prepare a statement, which verifies the rights that it needs, and does not run it. */
  prepare(sql: string): Promise<void>;
}

/** What a server says about itself and the user when a transaction begins. */
export interface Greeting {
  readonly maxPacketBytes: number;
  readonly isMariaDb: boolean;
  /** The account as `GRANT` names it: `'leadsync'@'%'`. */
  readonly account: string;
}

/** Runs a statement without values, and returns its rows. @throws the error from the server or the connection */
export async function query(connection: Connection, sql: string): Promise<readonly Row[]> {
  const [rows] = await connection.promise().query<RowDataPacket[]>(sql);
  return rows;
}

/** Returns a session over a connection on which a transaction has begun. */
export function sessionOver(connection: Connection, { maxPacketBytes, isMariaDb }: Greeting): Session {
  const promised = connection.promise();
  return {
    maxPacketBytes,
    isMariaDb,
    rows: async (sql, values = []) => (await promised.execute<RowDataPacket[]>(sql, [...values]))[0],
    run: async (sql, values) => (await promised.execute<ResultSetHeader>(sql, [...values]))[0].affectedRows,
    define: async (sql) => void (await promised.query(sql)),
    prepare: async (sql) => {
      const statement = await promised.prepare(sql);
      await statement.close();
    },
  };
}
