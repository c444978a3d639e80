import type { Batch } from '../../leads/delivery.ts';
import type { MappedColumn } from '../../leads/mapped-fields.ts';
import { staleComments } from '../../postgres/comments.ts';
import type { MissingPart } from '../destination-parts.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { canHold, type Field, type FieldColumns, fieldsOf, fieldsOfColumns } from '../table/table-fields.ts';
import type { Database } from './connection/database.ts';
import { addColumns, missingColumns } from './leads/field-columns.ts';
import { allComments } from './schema/comments.ts';
import { writeComments } from './schema/refresh-comments.ts';
import { existingTables, isOutdated, migrate, missingSchema } from './schema/schema.ts';

/** Timeout of the transaction that upgrades the schema, in ms. An upgrade rewrites ten million deliveries in a few minutes. */
const UPGRADE_MS = 3_600_000;

interface PreparationOptions {
  readonly schema: string;
  readonly userAgent: string;
  /** Whether the mirror is on: it needs more rights. */
  readonly mirrors: boolean;
}

/** Prepares the schema and the columns for fields. Prepares each only once, unless something fails. */
export class Preparation {
  readonly #database: Database;
  readonly #options: PreparationOptions;
  #schema: Promise<void> | undefined;
  /** The columns for fields that are known to exist. */
  #columns: FieldColumns = new Map();
  readonly #closing = new AbortController();

  constructor(database: Database, options: PreparationOptions) {
    this.#database = database;
    this.#options = options;
  }

  /** Creates or upgrades the schema. @throws SinkUnavailable */
  prepareSchema(signal: AbortSignal): Promise<void> {
    this.#schema ??= this.#bringUpToDate(signal);
    return this.#schema;
  }

  /** Prepares the schema and the columns of the fields, and returns these columns. @throws SinkUnavailable, marked as unsent */
  async prepare(batch: Batch, signal: AbortSignal): Promise<FieldColumns> {
    try {
      await this.prepareSchema(signal);
      return await this.#prepareColumns(batch, signal);
    } catch (error) {
      throw error instanceof SinkUnavailable ? error.beforeSending() : error;
    }
  }

  /** Forgets what was prepared, because it may have been changed or dropped. */
  repeat(): void {
    this.#schema = undefined;
    this.#columns = new Map();
  }

  /** Returns the parts that the database lacks for deliveries with these fields. @throws SinkUnavailable */
  async missingParts(
    signal: AbortSignal,
    columns: readonly MappedColumn[] = [],
  ): Promise<readonly MissingPart[]> {
    const { schema, userAgent: appliedBy, mirrors } = this.#options;
    return this.#database.read(signal, async (client) => {
      const tables = await missingSchema(client, schema, { mirrors, appliedBy });
      const [leads] = await existingTables(client, schema, ['leads']);
      const missing = await missingColumns(client, schema, fieldsOfColumns(columns), leads !== undefined);
      return [
        ...(tables ? [{ ...tables, make: (stop: AbortSignal) => this.prepareSchema(stop) }] : []),
        ...missing.map(({ field, ...part }) => ({
          ...part,
          make: (stop: AbortSignal) => this.#addColumn(field, stop),
        })),
      ];
    });
  }

  /** Ends an upgrade that is running. */
  close(): void {
    this.#closing.abort();
  }

  async #bringUpToDate(signal: AbortSignal): Promise<void> {
    const { schema, userAgent } = this.#options;
    if (await this.#database.read(signal, (client) => isOutdated(client, schema))) await this.#upgrade();
    let stale: readonly string[] = [];
    await this.#database.runOrThrow('READ WRITE', signal, async (client) => {
      await migrate(client, schema, userAgent);
      stale = await staleComments(client, schema, allComments);
    });
    if (stale.length === 0) return;
    await this.#database
      .runOrThrow('READ WRITE', signal, (client) => writeComments(client, schema, stale))
      .catch(() => undefined); // outdated comments do not prevent deliveries
  }

  /**
   * Upgrades the schema. The caller's signal does not end the upgrade: a caller that gives up tries again later and joins the same upgrade.
   */
  #upgrade(): Promise<void> {
    const { schema, userAgent } = this.#options;
    return this.#database.runOrThrow(
      'READ WRITE',
      this.#closing.signal,
      (client) => migrate(client, schema, userAgent),
      UPGRADE_MS,
    );
  }

  /** Adds missing columns for the fields of a batch. Does not ask the database if the known columns can hold every value. */
  async #prepareColumns(batch: Batch, signal: AbortSignal): Promise<FieldColumns> {
    if (!canHold(this.#columns, batch))
      await this.#database.runOrThrow('READ WRITE', signal, async (client) => {
        const added = await addColumns(client, this.#options.schema, fieldsOf(batch));
        this.#columns = new Map([...this.#columns, ...added]);
      });
    return this.#columns;
  }

  /** Adds the column of a field, if it is missing. */
  #addColumn(field: Field, signal: AbortSignal): Promise<void> {
    return this.#database.runOrThrow('READ WRITE', signal, async (client) => {
      await addColumns(client, this.#options.schema, [field]);
    });
  }
}
