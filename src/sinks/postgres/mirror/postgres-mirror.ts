import type { FormerName, HistoryRow, Overview, RenamedSink } from '../../../leads/mirrored-history.ts';
import { quoted } from '../../../postgres/identifier.ts';
import type { Mirror } from '../../mirror.ts';
import type { Database } from '../connection/database.ts';
import { registerLedger } from './ledgers.ts';
import {
  formerNames,
  hasRow,
  lastNumber,
  markRowsLost,
  unsettledNumbers,
  writeOverview,
  writeRows,
} from './stored-rows.ts';
import { missingContents } from './write-versions.ts';

/** Writes the history of a ledger to the sink's schema, over a separate connection. */
export class PostgresMirror implements Mirror {
  readonly everyMs: number;
  readonly #schema: string;
  readonly #database: Database;
  readonly #prepare: (signal: AbortSignal) => Promise<void>;
  #registered: string | undefined;

  constructor(
    schema: string,
    everyMs: number,
    database: Database,
    prepare: (signal: AbortSignal) => Promise<void>,
  ) {
    this.#schema = schema;
    this.everyMs = everyMs;
    this.#database = database;
    this.#prepare = prepare;
  }

  async lastNumber(ledger: string, table: string, signal: AbortSignal): Promise<number> {
    await this.#prepare(signal);
    if (this.#registered !== ledger)
      await this.#database.runOrThrow('READ WRITE', signal, (client) =>
        registerLedger(client, this.#schema, ledger),
      );
    this.#registered = ledger;
    return this.#database.read(signal, (client) => lastNumber(client, this.#schema, table, ledger));
  }

  has(ledger: string, table: string, row: HistoryRow, signal: AbortSignal): Promise<boolean> {
    return this.#database.read(signal, (client) => hasRow(client, this.#schema, table, ledger, row));
  }

  async markLost(ledger: string, table: string, count: number, signal: AbortSignal): Promise<void> {
    await this.#database.runOrThrow('READ WRITE', signal, (client) =>
      markRowsLost(client, this.#schema, table, ledger, count),
    );
  }

  unsettled(
    table: string,
    part: { ledger: string; after: number; limit: number },
    signal: AbortSignal,
  ): Promise<number[]> {
    return this.#database.read(signal, (client) => unsettledNumbers(client, this.#schema, table, part));
  }

  missingContents(versions: readonly HistoryRow[], signal: AbortSignal): Promise<readonly number[]> {
    return this.#database.read(signal, async (client) => {
      await client.query(`SET LOCAL search_path = ${quoted(this.#schema)}`);
      return missingContents(client, versions);
    });
  }

  /** Writes rows, and returns the number of rows that PostgreSQL refused. Finds these by halving. */
  async write(
    ledger: string,
    table: string,
    rows: readonly HistoryRow[],
    signal: AbortSignal,
  ): Promise<number> {
    if (rows.length === 0) return 0;
    const refused = await this.#database.run('READ WRITE', signal, (client) =>
      writeRows(client, this.#schema, table, ledger, rows),
    );
    if (!refused) return 0;
    if (rows.length === 1) return 1;
    const middle = Math.ceil(rows.length / 2);
    const first = await this.write(ledger, table, rows.slice(0, middle), signal);
    return first + (await this.write(ledger, table, rows.slice(middle), signal));
  }

  async formerNames(
    ledger: string,
    renamed: readonly RenamedSink[],
    signal: AbortSignal,
  ): Promise<readonly FormerName[]> {
    if (renamed.length === 0) return [];
    await this.#prepare(signal);
    return this.#database.read(signal, (client) => formerNames(client, this.#schema, ledger, renamed));
  }

  async writeOverview(
    ledger: string,
    overview: Overview,
    former: readonly FormerName[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.#database.runOrThrow('READ WRITE', signal, (client) =>
      writeOverview(client, this.#schema, ledger, overview, former),
    );
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
