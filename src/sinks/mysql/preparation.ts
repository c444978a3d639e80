import type { Batch } from '../../leads/delivery.ts';
import type { MappedColumn } from '../../leads/mapped-fields.ts';
import type { MissingPart } from '../destination-parts.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { canHold, type FieldColumns, fieldsOf, fieldsOfColumns } from '../table/table-fields.ts';
import type { Database } from './connection/database.ts';
import { addColumns, missingColumns } from './leads/field-columns.ts';
import { createStatement, type OwnTable, type OwnTables } from './schema/own-tables.ts';
import { createTables, missingTables } from './schema/tables.ts';

/** The rights that a user needs once the tables exist. */
const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE';

/** Prepares the tables and the columns for fields. Prepares each only once, unless something fails. */
export class Preparation {
  readonly #database: Database;
  readonly #tables: OwnTables;
  #isPrepared = false;
  /** The columns for fields that are known to exist. */
  #columns: FieldColumns = new Map();

  constructor(database: Database, tables: OwnTables) {
    this.#database = database;
    this.#tables = tables;
  }

  /** Prepares the tables and the columns of the fields, and returns these columns. @throws SinkUnavailable, marked as unsent */
  async prepare(batch: Batch, signal: AbortSignal): Promise<FieldColumns> {
    try {
      await this.prepareTables(signal);
      if (!canHold(this.#columns, batch))
        await this.#database.runOrThrow('READ WRITE', signal, async (session) => {
          const added = await addColumns(session, this.#tables.leads, fieldsOf(batch));
          this.#columns = new Map([...this.#columns, ...added]);
        });
      return this.#columns;
    } catch (error) {
      throw error instanceof SinkUnavailable ? error.beforeSending() : error;
    }
  }

  /** Creates the tables that are missing. @throws SinkUnavailable */
  async prepareTables(signal: AbortSignal): Promise<void> {
    if (this.#isPrepared) return;
    await this.#database.runOrThrow('READ WRITE', signal, (session) => createTables(session, this.#tables));
    this.#isPrepared = true;
  }

  /** Forgets what was prepared, because it may have been changed or dropped. */
  repeat(): void {
    this.#isPrepared = false;
    this.#columns = new Map();
  }

  /** Returns the parts that the database lacks for deliveries with these fields. @throws SinkUnavailable */
  async missingParts(
    signal: AbortSignal,
    columns: readonly MappedColumn[] = [],
  ): Promise<readonly MissingPart[]> {
    return this.#database.read(signal, async (session) => {
      const tables = await missingTables(session, this.#tables);
      const missing = await missingColumns(session, this.#tables.leads, fieldsOfColumns(columns));
      return [
        ...tables.map((table) => this.#tablePart(table)),
        ...missing.map(({ field, ...part }) => ({
          ...part,
          make: (stop: AbortSignal) =>
            this.#database.runOrThrow('READ WRITE', stop, async (session) => {
              await addColumns(session, this.#tables.leads, [field]);
            }),
        })),
      ];
    });
  }

  #tablePart(table: OwnTable): MissingPart {
    const grant = `GRANT ${RIGHTS} ON ${table.sql} TO ${this.#database.account}`;
    return {
      what: `table ${table.sql}`,
      how: `${createStatement(table)};\n${grant};\n`,
      make: (stop) => this.prepareTables(stop),
    };
  }
}
