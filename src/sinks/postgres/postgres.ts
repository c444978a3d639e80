import type { z } from 'zod';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import type { MappedColumn } from '../../leads/mapped-fields.ts';
import type { Delivered, Outcome, Refused } from '../../leads/outcome.ts';
import type { LeadKey, Person, RejectedKey, Subject } from '../../leads/person.ts';
import { quoted } from '../../postgres/identifier.ts';
import { attemptParts } from '../attempt-parts.ts';
import type { DestinationField, MissingPart } from '../destination-parts.ts';
import type { Mirror } from '../mirror.ts';
import {
  type AttemptUnderWay,
  type Preview,
  type Sink,
  type StoredLead,
  type TestResult,
  WITHOUT_LEASE,
} from '../sink.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { cellsOf, DoesNotFit } from '../table/field-cells.ts';
import { rowOf } from '../table/lead-row.ts';
import { partsOf } from '../table/split-for-statements.ts';
import { type FieldColumns, fieldsOf, fieldsOfColumns } from '../table/table-fields.ts';
import { Database } from './connection/database.ts';
import { eraseLeads, eraseRejected } from './leads/erase.ts';
import { addColumns, checkColumns, columnsOfLeads } from './leads/field-columns.ts';
import { findInTable, receivedTables } from './leads/find-person.ts';
import { storedLeadsAfter } from './leads/stored-leads.ts';
import { type MappedRow, upsert } from './leads/upsert.ts';
import { PostgresMirror } from './mirror/postgres-mirror.ts';
import type { postgresOptions } from './options.ts';
import { Preparation } from './preparation.ts';
import { checkSchema, existingTables, migrate } from './schema/schema.ts';

/** Upserts each batch in one or more transactions. The timeout applies to each transaction. */
export class PostgresSink implements Sink {
  readonly #schema: string;
  readonly #parts: SinkParts;
  readonly #database: Database;
  readonly #keepsRaw: boolean;
  readonly mirror: Mirror | undefined;
  readonly #preparation: Preparation;

  constructor({ url, schema, mirror, raw }: z.output<ReturnType<typeof postgresOptions>>, parts: SinkParts) {
    this.#schema = schema;
    this.#keepsRaw = raw;
    this.#parts = parts;
    this.#database = new Database(url.reveal(), parts.concurrency, parts);
    const { userAgent } = parts;
    this.#preparation = new Preparation(this.#database, { schema, userAgent, mirrors: mirror !== false });
    if (mirror !== false)
      this.mirror = new PostgresMirror(schema, mirror, new Database(url.reveal(), 1, parts), (signal) =>
        this.#preparation.prepareSchema(signal),
      );
  }

  /** Connects and verifies that the schema is up to date or can be migrated, and that this user may write leads. */
  async check(signal: AbortSignal, columns: readonly MappedColumn[] = []): Promise<void> {
    await this.#database.runOrThrow('READ ONLY', signal, async (client) => {
      await checkSchema(client, this.#schema, this.mirror !== undefined);
      const [table] = await existingTables(client, this.#schema, ['leads']);
      if (table !== undefined) await checkColumns(client, this.#schema, fieldsOfColumns(columns));
    });
  }

  missingParts(signal: AbortSignal, columns?: readonly MappedColumn[]): Promise<readonly MissingPart[]> {
    return this.#preparation.missingParts(signal, columns);
  }

  /** Returns the columns of `leads`. */
  async destinationFields(signal: AbortSignal): Promise<readonly DestinationField[]> {
    if ((await this.#made(['leads'], signal)).length === 0)
      throw new SinkUnavailable(`${quoted(this.#schema)} has no table \`leads\` yet.`, {
        hint: `\`leadsync setup ${this.#parts.name}\` creates it, and so does the first delivery.`,
      });
    return this.#database.read(signal, (client) => columnsOfLeads(client, this.#schema));
  }

  async deliver(
    batch: Batch,
    signal: AbortSignal,
    under: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<readonly Outcome[]> {
    const parts = partsOf(batch.deliveries);
    try {
      const columns = await this.#preparation.prepare(batch, signal);
      const store = (part: readonly Delivery[]) => this.#store(part, columns, signal, under);
      return await attemptParts(parts, store, { under, partMs: this.#parts.timeoutMs });
    } catch (error) {
      // The cause may be a changed or dropped schema.
      this.#preparation.repeat();
      throw error;
    }
  }

  /** Creates missing tables and writes the rows in one transaction, then rolls it back. */
  async test(batch: Batch, signal: AbortSignal): Promise<TestResult> {
    const refused = await this.#database.run('TRY', signal, async (client) => {
      await migrate(client, this.#schema, this.#parts.userAgent);
      const columns = await addColumns(client, this.#schema, fieldsOf(batch));
      await upsert(client, this.#schema, this.#rowsOf(batch.deliveries, columns), columns);
    });
    if (refused) return { arrived: false, what: refused.reason };
    const what = `${this.#database.where} wrote it to ${quoted(this.#schema)}.leads, and leadsync rolled the transaction back.`;
    return { arrived: true, what };
  }

  preview(batch: Batch): readonly Preview[] {
    const schema = quoted(this.#schema);
    const columns = new Map(fieldsOf(batch).map(({ name, type = 'text' }) => [name, type] as const));
    return this.#rowsOf(batch.deliveries, columns).map((row) => ({
      target: `row of ${schema}.leads`,
      fields: { ...row.columns, ...Object.fromEntries(row.fields) },
    }));
  }

  /**
   * Returns the rows to store. Unless the option `raw` is on, omits the lead's JSON if the other columns hold everything in it.
   * @throws DoesNotFit if a field does not fit its column
   */
  #rowsOf(deliveries: readonly Delivery[], columns: FieldColumns): MappedRow[] {
    return deliveries.map((delivery) => {
      const row = { ...rowOf(delivery), fields: cellsOf(delivery.fields, columns) };
      if (this.#keepsRaw || !row.isWhole) return row;
      return { ...row, columns: { ...row.columns, _leadsync_raw: null } };
    });
  }

  async *storedLeads(signal: AbortSignal): AsyncIterable<StoredLead> {
    if ((await this.#made(['leads'], signal)).length === 0) return;
    for (let last: StoredLead | undefined; ; ) {
      const rows = await this.#database.read(signal, (client) =>
        storedLeadsAfter(client, this.#schema, last),
      );
      yield* rows;
      last = rows.at(-1);
      if (!last) return;
    }
  }

  async findPerson(subject: Subject, signal: AbortSignal): Promise<Person> {
    const made = await this.#made(
      receivedTables.map(({ table }) => table),
      signal,
    );
    const leads: LeadKey[] = [];
    const rejected: RejectedKey[] = [];
    for (const table of receivedTables.filter((one) => made.includes(one.table)))
      for (let after: readonly string[] | undefined; ; ) {
        const { found, next } = await this.#database.read(signal, (client) =>
          findInTable(client, this.#schema, table, subject, after),
        );
        leads.push(...found.leads);
        rejected.push(...found.rejected);
        after = next;
        if (after === undefined) break;
      }
    return { leads, rejected };
  }

  /** Erases a person from `leads` and from the tables of the mirror, even if the mirror is off. */
  async erase({ leads, rejected }: Person, signal: AbortSignal): Promise<number> {
    await this.#preparation.prepareSchema(signal);
    let rows = 0;
    await this.#database.runOrThrow('READ WRITE', signal, async (client) => {
      const keys = leads.map(({ source, leadId }) => ({ source, id: String(leadId) }));
      rows = await eraseLeads(client, this.#schema, keys);
      rows += await eraseRejected(client, this.#schema, rejected);
    });
    return rows;
  }

  async close(): Promise<void> {
    this.#preparation.close();
    await Promise.all([this.#database.close(), this.mirror?.close()]);
  }

  /**
   * Returns those of the tables that exist. Does not prepare the schema, because that would create a new schema if `schema` is misspelt.
   */
  #made(tables: readonly string[], signal: AbortSignal): Promise<string[]> {
    return this.#database.read(signal, (client) => existingTables(client, this.#schema, tables));
  }

  async #store(
    part: readonly Delivery[],
    columns: FieldColumns,
    signal: AbortSignal,
    { confirmLease }: AttemptUnderWay,
  ): Promise<Delivered | Refused> {
    let rows: readonly MappedRow[];
    try {
      rows = this.#rowsOf(part, columns);
    } catch (error) {
      if (error instanceof DoesNotFit) return { kind: 'refused', reason: error.message, unsent: true };
      throw error;
    }
    let isCommitting = false;
    try {
      const refused = await this.#database.run('READ WRITE', signal, async (client) => {
        isCommitting = false;
        await upsert(client, this.#schema, rows, columns);
        confirmLease(); // only the commit follows
        isCommitting = true;
      });
      return refused ?? { kind: 'delivered' };
    } catch (error) {
      // Without the commit, the server rolls the transaction back.
      throw error instanceof SinkUnavailable && !isCommitting ? error.beforeSending() : error;
    }
  }
}
