import type { z } from 'zod';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import type { MappedColumn } from '../../leads/mapped-fields.ts';
import type { Delivered, Outcome, Refused } from '../../leads/outcome.ts';
import type { LeadKey, Person, Subject } from '../../leads/person.ts';
import { attemptParts } from '../attempt-parts.ts';
import type { DestinationField, MissingPart } from '../destination-parts.ts';
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
import { DoesNotFit } from '../table/field-cells.ts';
import { partsOf } from '../table/split-for-statements.ts';
import { type FieldColumns, fieldsOf, fieldsOfColumns } from '../table/table-fields.ts';
import { type Address, readAddress } from './connection/address.ts';
import { Database } from './connection/database.ts';
import { eraseLeads } from './leads/erase.ts';
import { checkColumns, columnsOfLeads } from './leads/field-columns.ts';
import { type LeadValues, valuesOf } from './leads/lead-values.ts';
import { findPersonAfter, storedLeadsAfter } from './leads/read-leads.ts';
import { upsert } from './leads/upsert.ts';
import type { mysqlOptions } from './options.ts';
import { Preparation } from './preparation.ts';
import { type OwnTables, ownTables } from './schema/own-tables.ts';
import { missingTables, tryRights } from './schema/tables.ts';

/** Upserts each batch in one or more transactions. The timeout applies to each transaction. */
export class MysqlSink implements Sink {
  readonly #parts: SinkParts;
  readonly #database: Database;
  readonly #tables: OwnTables;
  readonly #keepsRaw: boolean;
  readonly #preparation: Preparation;

  constructor({ url, prefix, raw }: z.output<ReturnType<typeof mysqlOptions>>, parts: SinkParts) {
    this.#parts = parts;
    this.#keepsRaw = raw;
    this.#database = new Database(readAddress(url.reveal()) as Address, parts);
    this.#tables = ownTables(this.#database.name, prefix);
    this.#preparation = new Preparation(this.#database, this.#tables);
  }

  /** Connects and verifies that the tables are leadsync's or can be created, and that this user may write leads. */
  async check(signal: AbortSignal, columns: readonly MappedColumn[] = []): Promise<void> {
    await this.#database.runOrThrow('TRY', signal, async (session) => {
      await tryRights(session, this.#tables);
      if ((await missingTables(session, this.#tables)).includes(this.#tables.leads)) return;
      await checkColumns(session, this.#tables.leads, fieldsOfColumns(columns));
    });
  }

  missingParts(signal: AbortSignal, columns?: readonly MappedColumn[]): Promise<readonly MissingPart[]> {
    return this.#preparation.missingParts(signal, columns);
  }

  /** Returns the columns of `leads`. */
  async destinationFields(signal: AbortSignal): Promise<readonly DestinationField[]> {
    const fields = await this.#database.read(signal, (session) =>
      columnsOfLeads(session, this.#tables.leads),
    );
    if (fields.length > 0) return fields;
    throw new SinkUnavailable(`${this.#tables.leads.sql} does not exist yet.`, {
      hint: `\`leadsync setup ${this.#parts.name}\` creates it, and so does the first delivery.`,
    });
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
      // The cause may be a changed or dropped table.
      this.#preparation.repeat();
      throw error;
    }
  }

  /** Creates missing tables and columns, which no server rolls back, writes the rows in one transaction, and rolls it back. */
  async test(batch: Batch, signal: AbortSignal): Promise<TestResult> {
    const columns = await this.#preparation.prepare(batch, signal);
    const refused = await this.#database.run('TRY', signal, async (session) => {
      await upsert(session, this.#tables, this.#valuesOf(batch.deliveries, columns));
    });
    if (refused) return { arrived: false, what: refused.reason };
    const what = `${this.#database.where} wrote it to ${this.#tables.leads.sql}, and leadsync rolled the transaction back.`;
    return { arrived: true, what };
  }

  preview(batch: Batch): readonly Preview[] {
    const columns = new Map(fieldsOf(batch).map(({ name, type = 'text' }) => [name, type] as const));
    return this.#valuesOf(batch.deliveries, columns).map((lead) => ({
      target: `row of ${this.#tables.leads.sql}`,
      fields: { ...lead.columns, ...Object.fromEntries(lead.fields) },
    }));
  }

  async *storedLeads(signal: AbortSignal): AsyncIterable<StoredLead> {
    if (!(await this.#hasLeads(signal))) return;
    for (let last: StoredLead | undefined; ; ) {
      const rows = await this.#database.read(signal, (session) =>
        storedLeadsAfter(session, this.#tables.leads, last),
      );
      yield* rows;
      last = rows.at(-1);
      if (!last) return;
    }
  }

  async findPerson(subject: Subject, signal: AbortSignal): Promise<Person> {
    const leads: LeadKey[] = [];
    if (!(await this.#hasLeads(signal))) return { leads, rejected: [] };
    for (let after: LeadKey | undefined; ; ) {
      const { found, last } = await this.#database.read(signal, (session) =>
        findPersonAfter(session, this.#tables.leads, subject, after),
      );
      leads.push(...found);
      after = last;
      if (!after) return { leads, rejected: [] };
    }
  }

  async erase({ leads }: Person, signal: AbortSignal): Promise<number> {
    let rows = 0;
    await this.#database.runOrThrow('READ WRITE', signal, async (session) => {
      if ((await missingTables(session, this.#tables)).length > 0) return;
      const refs = leads.map(({ source, leadId }) => ({ source, id: String(leadId) }));
      rows = await eraseLeads(session, this.#tables, refs);
    });
    return rows;
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** Whether the table exists. Does not create it, because that would create one in the wrong database if `url` is misspelt. */
  async #hasLeads(signal: AbortSignal): Promise<boolean> {
    const missing = await this.#database.read(signal, (session) => missingTables(session, this.#tables));
    return !missing.includes(this.#tables.leads);
  }

  #valuesOf(deliveries: readonly Delivery[], columns: FieldColumns): LeadValues[] {
    return deliveries.map((delivery) => valuesOf(delivery, columns, this.#keepsRaw));
  }

  async #store(
    part: readonly Delivery[],
    columns: FieldColumns,
    signal: AbortSignal,
    { confirmLease }: AttemptUnderWay,
  ): Promise<Delivered | Refused> {
    let isCommitting = false;
    try {
      const leads = this.#valuesOf(part, columns);
      const refused = await this.#database.run('READ WRITE', signal, async (session) => {
        isCommitting = false;
        await upsert(session, this.#tables, leads);
        confirmLease(); // only the commit follows
        isCommitting = true;
      });
      return refused ?? { kind: 'delivered' };
    } catch (error) {
      if (error instanceof DoesNotFit) return { kind: 'refused', reason: error.message, unsent: true };
      // Without the commit, the server rolls the transaction back.
      throw error instanceof SinkUnavailable && !isCommitting ? error.beforeSending() : error;
    }
  }
}
