import type { Connection, PoolClient } from 'pg';
import type { CopiedRow, CopiedValue } from '../../ledger/contract/ledger-copy.ts';

/** Size of the messages in which rows are sent, in UTF-16 units, unless a single row is longer. */
const MESSAGE = 64 * 1024;

/** Adds rows to a table by COPY, in the transaction that is open on the connection. `columns` are names in SQL. */
export function copyIn(
  client: PoolClient,
  table: string,
  columns: readonly string[],
  rows: readonly CopiedRow[],
): Promise<void> {
  const done = Promise.withResolvers<void>();
  client.query(new CopyIn(`COPY ${table} (${columns.join(', ')}) FROM STDIN`, rows, done));
  return done.promise;
}

/** A statement that sends rows. The driver calls its methods for the messages of the server. */
class CopyIn {
  readonly #sql: string;
  readonly #rows: readonly CopiedRow[];
  readonly #done: PromiseWithResolvers<void>;
  #error: unknown;

  constructor(sql: string, rows: readonly CopiedRow[], done: PromiseWithResolvers<void>) {
    this.#sql = sql;
    this.#rows = rows;
    this.#done = done;
  }

  submit(connection: Connection): void {
    connection.query(this.#sql);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    let lines = '';
    for (const row of this.#rows) {
      lines += `${row.map(asField).join('\t')}\n`;
      if (lines.length < MESSAGE) continue;
      connection.sendCopyFromChunk(Buffer.from(lines));
      lines = '';
    }
    if (lines !== '') connection.sendCopyFromChunk(Buffer.from(lines));
    connection.endCopyFrom();
  }

  handleCommandComplete(): void {
    // The server reports next that it is ready.
  }

  handleError(error: unknown): void {
    this.#error ??= error;
    this.#done.reject(this.#error);
  }

  handleReadyForQuery(): void {
    this.#done.resolve();
  }
}

/** What the driver's connection has for COPY, and its types lack. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

const ESCAPED: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Returns a value in the text format of COPY (PostgreSQL manual, "COPY"). */
function asField(value: CopiedValue): string {
  if (value === null) return '\\N';
  return typeof value === 'string'
    ? value.replace(/[\\\n\r\t]/g, (found) => ESCAPED[found] as string)
    : String(value);
}
