import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { extractionOf, sinceOn } from '../../catalog/extraction.ts';
import type { Relation } from '../../catalog/relation.ts';
import type { Cell, LedgerTables, Rows, Stretch, TablesPlace } from '../../ledger/contract/ledger-tables.ts';
import { type ClockStep, reachedBackBy } from '../../ledger/rules/extraction/clock-steps.ts';
import { Part } from '../../ledger/rules/extraction/row-parts.ts';
import { quoted } from '../../postgres/identifier.ts';
import { hostOf, openPool } from '../../postgres/open-pool.ts';
import { toLedgerFailure } from '../database/ledger-failure.ts';
import { requireShape } from '../database/migrating.ts';
import { WITHOUT_TIMEOUTS } from '../database/settings.ts';
import { numberParameters } from '../number-parameters.ts';
import { streamRows } from '../streamed-rows.ts';
import { CELLS, completing, type GroupAnswers } from './extract-cells.ts';

const CONNECT_MS = 10_000;
/** The view `leads`, and the view that has a subset of its columns. */
const LIKE_LEADS: readonly string[] = ['leads', 'v_leads'];

/**
 * Reads whole tables of a ledger in PostgreSQL, over one connection and from one snapshot, so that all tables agree with each other. Keeps a part of the
 * rows in memory. The server cannot remove deleted rows while the connection is open.
 * @throws LedgerError
 */
export class PostgresExtract implements LedgerTables {
  readonly shared: TablesPlace;
  readonly #where: string;
  readonly #pool: Pool;
  readonly #client: PoolClient;
  readonly #id: string;
  readonly #shape: number;

  private constructor(
    connection: { readonly where: string; readonly pool: Pool; readonly client: PoolClient },
    found: { readonly id: string; readonly shape: number; readonly shared: TablesPlace },
  ) {
    this.#where = connection.where;
    this.#pool = connection.pool;
    this.#client = connection.client;
    this.#id = found.id;
    this.#shape = found.shape;
    this.shared = found.shared;
  }

  /** Connects, and begins to read the snapshot of the place, or a new one. @throws LedgerError */
  static async open(place: TablesPlace & { kind: 'server' }): Promise<PostgresExtract> {
    const { url, schema, snapshot } = place;
    const where = `PostgreSQL at ${hostOf(url)}`;
    const name = 'leadsync export';
    const pool = await openPool({
      address: url,
      connections: 2, // the second one groups answers while the first one sends rows
      connectMs: CONNECT_MS,
      applicationName: name,
      prepare: async (connected) => {
        await connected.query(WITHOUT_TIMEOUTS, [false]);
      },
    });
    let client: PoolClient | undefined;
    try {
      client = await pool.connect();
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      // Before any other statement of the transaction.
      if (snapshot !== undefined)
        await client.query(`SET TRANSACTION SNAPSHOT ${client.escapeLiteral(snapshot)}`);
      await client.query(SETTINGS, [`${quoted(schema)}, pg_catalog`]);
      const found = await requireShape(client, where, schema);
      const shared = { ...place, snapshot: snapshot ?? (await exportSnapshot(client)) };
      return new PostgresExtract({ where, pool, client }, { ...found, shared });
    } catch (error) {
      client?.release(true);
      await pool.end();
      throw toLedgerFailure(where, error);
    }
  }

  /** Reads the whole relation with one query, in the order of its key. Must be read to its end before another relation. */
  async *parts(relation: Relation, since: Date | undefined): AsyncGenerator<Rows> {
    try {
      let part = new Part();
      for await (const row of this.#rowsOf(relation, since)) {
        part.add(row);
        if (!part.isFull) continue;
        yield part.rows;
        part = new Part();
      }
      if (part.rows.length > 0) yield part.rows;
    } catch (error) {
      throw toLedgerFailure(this.#where, error);
    }
  }

  /** Yields one stretch, because the server reads a relation with one query faster than with many. */
  async *stretches(): AsyncGenerator<Stretch> {
    yield { after: [], through: [] };
  }

  async reachedBack(since: Date): Promise<Date> {
    return reachedBackBy(await this.#ask<ClockStep>(CLOCK_STEPS), since);
  }

  async serverNow(): Promise<Date | undefined> {
    const [row] = await this.#ask<{ now: number }>('SELECT _now()::float8 AS now');
    return row && new Date(row.now);
  }

  async origin(): Promise<{ ledger: string; schema: number }> {
    return { ledger: this.#id, schema: this.#shape };
  }

  async close(): Promise<void> {
    this.#client.release(true); // The server rolls back.
    await this.#pool.end();
  }

  async *#rowsOf(relation: Relation, since: Date | undefined): AsyncGenerator<readonly Cell[]> {
    const isLikeLeads = LIKE_LEADS.includes(relation.name);
    const complete = completing(relation.columns, this.#groupAnswers);
    const { sql: text, names } = numberParameters(selectOf(relation, since !== undefined), BOUND);
    const bound = { since: String(since?.toISOString()), sinceMs: String(since?.getTime()) };
    const values = names.map((name) => bound[name as keyof typeof bound]);
    const { rows } = await streamRows(this.#client, { text, values }, CELLS);
    for await (const row of rows) {
      if (isLikeLeads) await complete(row);
      yield row;
    }
  }

  readonly #groupAnswers: GroupAnswers = async (json) => {
    const { rows } = await this.#pool.query<{ answers: string }>(ANSWERS_BY_SLUG, [json]);
    return rows[0]?.answers as string;
  };

  async #ask<Row extends QueryResultRow>(sql: string): Promise<Row[]> {
    try {
      return (await this.#client.query<Row>(sql)).rows;
    } catch (error) {
      throw toLedgerFailure(this.#where, error);
    }
  }
}

/** Lets other transactions read the snapshot of this one while it is open. Returns the snapshot's name. */
async function exportSnapshot(client: PoolClient): Promise<string | undefined> {
  const { rows } = await client.query<{ snapshot: string }>('SELECT pg_export_snapshot() AS snapshot');
  return rows[0]?.snapshot;
}

/** The parameters of `Extraction.since`. */
const BOUND = { since: '', sinceMs: 0n };

/** Neither reading nor encoding a table has a limit in time. */
const SETTINGS = `SELECT set_config('search_path', $1, true), set_config(s.name, s.value, true) FROM (VALUES
    ('timezone', 'UTC'), ('datestyle', 'ISO'), ('extra_float_digits', '1'), ('jit', 'off'),
    ('statement_timeout', '0'), ('transaction_timeout', '0'), ('idle_in_transaction_session_timeout', '0')) s (name, value)
  WHERE EXISTS (SELECT 1 FROM pg_settings p WHERE lower(p.name) = s.name)`;

const CLOCK_STEPS =
  'SELECT from_at::float8 AS from_at, to_at::float8 AS to_at FROM _clock_set_back ORDER BY from_at DESC';

/** As the view `leads` groups answers, with the slugs in the order of their bytes. */
const ANSWERS_BY_SLUG = `SELECT coalesce(json_object_agg(b.slug, CASE WHEN b.n = 1 THEN b.answers -> 0 ELSE b.answers END ORDER BY b.slug COLLATE "C"), '{}')::text
    AS answers
  FROM (SELECT a.answer ->> 'slug' AS slug, count(*) AS n, json_agg(a.answer -> 'answer' ORDER BY a.place) AS answers
    FROM json_array_elements($1::json) WITH ORDINALITY AS a (answer, place) GROUP BY 1) b`;

function selectOf({ name, columns }: Relation, since: boolean): string {
  const extraction = extractionOf(name);
  const { order } = extraction;
  const isNew = since ? sinceOn('postgres', extraction) : undefined;
  const where = isNew === undefined ? '' : ` WHERE ${isNew}`;
  const sorted = order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`;
  const names = columns.map((column) => `"${column.name}"`);
  if (!LIKE_LEADS.includes(name)) return `SELECT ${names.join(', ')} FROM ${name}${where}${sorted}`;
  const read = names.map((column) => AS_RECEIVED[column] ?? column);
  return `SELECT ${read.join(', ')}, _leadsync_replaced FROM leads AS ${name}${where}${sorted}`;
}

/** Columns of leads that `completing` fills in. */
const AS_RECEIVED: Readonly<Record<string, string>> = {
  '"service_question_answers"': "_leadsync_raw -> 'service_question_answers'",
  '"answers"': 'NULL::text',
};
