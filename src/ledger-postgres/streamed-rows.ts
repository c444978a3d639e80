import type { Connection, CustomTypesConfig, FieldDef, PoolClient, Query, QueryArrayConfig } from 'pg';
import type { Cell } from '../ledger/contract/ledger-tables.ts';

/** The result of a query. The rows are read as the caller iterates over them. */
export interface StreamedResult {
  readonly columns: readonly string[];
  /** Each row is the caller's own. */
  readonly rows: AsyncIterable<Cell[]>;
}

/** Size of the rows that wait for the caller, in characters, from which on nothing more is read from the connection. */
const MAX_WAITING = 4 * 1024 ** 2;
/** What a row adds to that size, apart from its text. */
const ROW_SIZE = 100;

/** How to read the text of values, by the OID of their type in pg_type. Values of all other types are text, as the server writes them. */
export type Parsers = Readonly<Record<number, (text: string) => Cell>>;

const PARSERS: Parsers = {
  16: (text) => (text === 't' ? 1n : 0n), // boolean, as in SQLite
  17: (text) => Buffer.from(text.slice(2), 'hex'), // bytea
  20: BigInt, // bigint
  21: BigInt, // smallint
  23: BigInt, // integer
  700: Number, // real
  701: Number, // double precision
  1700: (text) => (/^-?\d+$/.test(text) ? BigInt(text) : Number(text)), // numeric: sums and averages are numbers, as in SQLite
};

/**
 * Runs a query on a connection, and returns its columns when the first row has arrived. The server waits while the caller does not iterate, so that
 * memory does not depend on the size of the result. The connection can run nothing else until the caller has read all rows, and must be closed if the caller
 * stops before that. @throws the error of the server or of the connection
 */
export async function streamRows(
  client: PoolClient,
  query: { readonly name?: string; readonly text: string; readonly values: string[] },
  parsers = PARSERS,
): Promise<StreamedResult> {
  const { default: pg } = await import('pg');
  const rows = new WaitingRows(parsers);
  const config: QueryArrayConfig = { ...query, rowMode: 'array', types: rows.types };
  rows.listen(new pg.Query(config), client);
  const columns = await rows.columns;
  return { columns, rows: rows.each() };
}

/** Rows that have arrived, and that the caller has not taken. */
class WaitingRows {
  readonly #columns = Promise.withResolvers<readonly string[]>();
  readonly columns = this.#columns.promise;
  readonly types: CustomTypesConfig;
  #rows: Cell[][] = [];
  #size = 0;
  #ended: { readonly error?: unknown } | undefined;
  #connection: Connection | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(parsers: Parsers) {
    this.types = {
      getTypeParser: (type: number) => {
        const parse = parsers[type];
        return (text: string) => {
          this.#size += text.length;
          return parse ? parse(text) : text;
        };
      },
    };
  }

  listen(query: Query, client: PoolClient): void {
    const submit = query.submit;
    query.submit = (connection) => {
      this.#connection = connection;
      return submit.call(query, connection);
    };
    query.on('row', (row, result) => this.#add(row, (result as Described).fields));
    query.on('end', (result) => this.#end({}, (result as Described).fields));
    query.on('error', (error) => {
      this.#columns.reject(error);
      this.#end({ error });
    });
    client.query(query);
  }

  /** Yields each row once. @throws the error of the query */
  async *each(): AsyncGenerator<Cell[]> {
    for (;;) {
      const rows = this.#rows;
      this.#rows = [];
      this.#size = 0;
      this.#connection?.stream.resume();
      yield* rows;
      if (this.#rows.length > 0) continue;
      if (this.#ended && 'error' in this.#ended) throw this.#ended.error;
      if (this.#ended) return;
      await this.#changed.promise;
    }
  }

  #add(row: Cell[], fields: readonly FieldDef[]): void {
    this.#columns.resolve(namesOf(fields));
    this.#rows.push(row);
    this.#size += ROW_SIZE;
    if (this.#size > MAX_WAITING) this.#connection?.stream.pause();
    this.#tell();
  }

  #end(ended: { readonly error?: unknown }, fields: readonly FieldDef[] = []): void {
    this.#ended = ended;
    this.#columns.resolve(namesOf(fields));
    this.#tell();
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

interface Described {
  readonly fields: readonly FieldDef[];
}

function namesOf(fields: readonly FieldDef[]): string[] {
  return fields.map(({ name }) => name);
}
