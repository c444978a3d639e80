import type { CustomTypesConfig, PoolClient, QueryArrayResult } from 'pg';
import { type Cell, QueryRefused, type QueryValues } from '../ledger/contract/ledger-tables.ts';
import { quoted } from '../postgres/identifier.ts';
import { hostOf, openPool } from '../postgres/open-pool.ts';
import { isOfServer } from '../postgres/server-error.ts';
import { toLedgerFailure } from './database/ledger-failure.ts';
import type { PostgresPlace } from './database/postgres-access.ts';
import { numberParameters } from './query-values.ts';

/** Number of rows that are read and in memory at a time. */
const PART = 200;
const CONNECT_MS = 10_000;

/** The keywords that a query may begin with. */
const QUERY = /^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/|\()*(SELECT|WITH|VALUES|EXPLAIN)\b/i;
const EXPLAIN = /^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)*EXPLAIN\b/i;

/** A query that a person typed. */
interface TypedQuery {
  readonly sql: string;
  /** The values of the parameters `:name`. */
  readonly values: QueryValues;
  /** Maximum time for each part of the result, in ms. */
  readonly timeoutMs: number;
}

/** The result of a query. The rows are read as the caller iterates over them. */
interface StreamedResult {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<readonly Cell[]>;
}

/**
 * Runs one query on a ledger in PostgreSQL, and passes the result to `use`. The query sees one snapshot and cannot write.
 * @throws QueryRefused, LedgerError
 */
export async function runSql(
  { url, schema, applicationName }: Pick<PostgresPlace, 'url' | 'schema' | 'applicationName'>,
  query: TypedQuery,
  use: (result: StreamedResult) => Promise<void>,
): Promise<void> {
  if (!QUERY.test(query.sql))
    throw new QueryRefused('This is not a query. A query begins with SELECT, WITH, VALUES or EXPLAIN.');
  const pool = await openPool({ address: url, connections: 1, connectMs: CONNECT_MS, applicationName });
  const where = `PostgreSQL at ${hostOf(url)}`;
  try {
    const client = await explaining(where, () => pool.connect());
    try {
      const reading = new Reading(client, where);
      await reading.begin(schema, query.timeoutMs);
      await use(await reading.result(query));
    } finally {
      client.release(true); // The server rolls back.
    }
  } finally {
    await pool.end();
  }
}

/** A transaction on a connection of its own, which can no longer become one that writes. */
class Reading {
  readonly #client: PoolClient;
  readonly #where: string;

  constructor(client: PoolClient, where: string) {
    this.#client = client;
    this.#where = where;
  }

  async begin(schema: string, timeoutMs: number): Promise<void> {
    await this.#ask({ text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' });
    const values = [String(timeoutMs), `${quoted(schema)}, pg_catalog`];
    await this.#ask({ text: SETTINGS, values });
  }

  async result({ sql, values }: TypedQuery): Promise<StreamedResult> {
    const numbered = numberParameters(sql, values);
    const given = numbered.names.map((name) => String(values[name]));
    // A statement with a name is sent by the protocol that accepts only one statement.
    const typed = (text: string) => this.#ask({ name: 'typed', text, values: given });
    if (EXPLAIN.test(sql)) {
      const { fields, rows } = await typed(numbered.sql);
      return { columns: namesOf(fields), rows: each(rows) };
    }
    await typed(`DECLARE typed NO SCROLL CURSOR FOR ${numbered.sql}`);
    const { fields, rows } = await this.#ask({ text: FETCH });
    return { columns: namesOf(fields), rows: this.#rowsFrom(rows) };
  }

  async *#rowsFrom(first: readonly Cell[][]): AsyncGenerator<readonly Cell[]> {
    for (let rows = first; ; rows = (await this.#ask({ text: FETCH })).rows) {
      yield* rows;
      if (rows.length < PART) return;
    }
  }

  #ask(query: { readonly name?: string; readonly text: string; readonly values?: string[] }) {
    return explaining(
      this.#where,
      (): Promise<QueryArrayResult<Cell[]>> =>
        this.#client.query<Cell[]>({ ...query, rowMode: 'array', types: CELLS }),
    );
  }
}

// After a statement, PostgreSQL does not let a transaction that only reads become another one.
const SETTINGS =
  "SELECT set_config('statement_timeout', $1, true), set_config('search_path', $2, true), set_config('timezone', 'UTC', true)";
const FETCH = `FETCH ${PART} FROM typed`;

async function* each(rows: readonly Cell[][]): AsyncGenerator<readonly Cell[]> {
  yield* rows;
}

function namesOf(fields: readonly { readonly name: string }[]): string[] {
  return fields.map(({ name }) => name);
}

/** Types by their OID in pg_type. Values of all other types are text, as the server writes them. */
const PARSERS: Readonly<Record<number, (text: string) => Cell>> = {
  16: (text) => (text === 't' ? 1n : 0n), // boolean, as in SQLite
  17: (text) => Buffer.from(text.slice(2), 'hex'), // bytea
  20: BigInt, // bigint
  21: BigInt, // smallint
  23: BigInt, // integer
  700: Number, // real
  701: Number, // double precision
};
const CELLS: CustomTypesConfig = {
  getTypeParser: (type: number) => PARSERS[type] ?? ((text: string) => text),
};

/** Runs `work`, and converts its error to one that contains no data of the ledger. */
async function explaining<T>(where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explained(error, where);
  }
}

/** The server's messages about the SQL do not quote values of the ledger; those about a value do. */
function explained(error: unknown, where: string): Error {
  const code = isOfServer(error) ? (error.code ?? '') : '';
  if (code === '57014') return new QueryRefused('The query took too long. Narrow it, or allow it more time.');
  // Read only; or the attempt to make this transaction one that writes.
  if (code === '25006' || code === '25001')
    return new QueryRefused('This statement would write, but a query may only read the ledger.');
  if (/^(42|0A)/.test(code)) return new QueryRefused(`PostgreSQL says: ${(error as Error).message}.`);
  if (/^2[12]/.test(code))
    return new QueryRefused(
      `The query fails on a value that it reads (SQLSTATE ${code}). Check its conversions and divisions.`,
    );
  return toLedgerFailure(where, error);
}
