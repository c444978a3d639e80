import type Database from 'better-sqlite3';
import { relations } from '../../catalog/catalog.ts';
import { leadContents, type Mirrored, mirrored, mirroredTable } from '../../catalog/mirrored-tables.ts';
import type { Column, Relation } from '../../catalog/relation.ts';
import type { HistoryText, Overview, RenamedSink, StoredValue } from '../../leads/mirrored-history.ts';

/** Length after which a chunk ends, in UTF-16 code units. The last row of a chunk may take it past this length, possibly by megabytes. */
const CHUNK_CHARACTERS = 4_000_000;

type Raw = [no: bigint, ...values: (string | bigint | number | null)[]];
/** The number of a row, and its values as a JSON array. */
type NumberedRow = [no: number, values: string];

/** Reads what a mirror copies: the rows of tables, by row number, and the present state of sinks and sources. */
export class MirrorQueries {
  readonly #tables;
  readonly #overview;
  readonly #broughtBack;

  constructor(db: Database.Database) {
    this.#tables = new Map([...mirrored, leadContents].map((table) => [table.name, prepare(db, table)]));
    this.#broughtBack = db
      .prepare<[{ after: number; since: number; limit: number }], number>(
        `SELECT delivery_no FROM _deliveries INDEXED BY _deliveries_discarded WHERE discarded > 0 AND discarded = 2
         AND delivery_no > :after AND (settled_at IS NULL OR settled_at >= :since) ORDER BY delivery_no LIMIT :limit`,
      )
      .pluck();
    this.#overview = {
      sinks: relationSql(db, 'v_sink_health'),
      sources: relationSql(db, 'v_freshness'),
      firstClientKey: db.prepare<[], number | null>('SELECT min(key_no) FROM _client_keys').pluck(),
      renamed: db.prepare<[], RenamedSink>(
        'SELECT sink, named FROM _sinks WHERE named IS NOT NULL ORDER BY sink_no',
      ),
    };
  }

  /** Returns the rows with numbers above `no`, in order, up to one chunk. Returns at least one row, unless the table has no more. */
  after(table: string, no: number, limit: number): HistoryText {
    return textOf(this.#sqlOf(table).after.iterate(no, limit));
  }

  /** Returns the present rows with these numbers, in order, up to one chunk. Leaves out deleted rows. */
  now(table: string, numbers: readonly number[]): HistoryText {
    return textOf(this.#sqlOf(table).now.iterate(JSON.stringify(numbers)));
  }

  /**
   * Returns the numbers of up to `limit` deliveries above `after` that were retried after they had been discarded, and that are not settled or
   * were settled at or after `since`.
   */
  broughtBack(after: number, since: Date, limit: number): number[] {
    return this.#broughtBack.all({ after, since: since.getTime(), limit });
  }

  overview(): Overview {
    const { sinks, sources, firstClientKey, renamed } = this.#overview;
    return {
      sinks: sinks.all().map((row) => row.map(toText)),
      sources: sources.all().map((row) => row.map(toText)),
      firstClientKey: firstClientKey.get() ?? undefined,
      renamed: renamed.all(),
    };
  }

  #sqlOf(table: string) {
    const sql = this.#tables.get(table);
    if (!sql) throw new Error(`the table ${table} is not mirrored`);
    return sql;
  }
}

/** What to select from instead of the table, for tables that a mirror does not copy unchanged. */
const SELECTIONS: Readonly<Record<string, string>> = {
  lead_contents: 'lead_versions',
  lead_versions: `(SELECT v.source, v.id AS lead_id, v.version, v.valid_from, n.valid_from AS valid_to, n.version IS NULL AS is_current,
      v.changed_fields, v.poll_id, v.hash AS _leadsync_hash, v.version_no AS _leadsync_no
    FROM _versions v LEFT JOIN _versions n ON n.source = v.source AND n.id = v.id AND n.version = v.version + 1)`,
  // The attempt that delivered a lead is part of the row of its delivery.
  // Without the index of failed attempts, SQLite would read all attempts since the last failed one, in every round.
  attempts: `(SELECT ${mirroredTable('attempts')
    .columns.map(({ name }) => (name === '_leadsync_no' ? `f.attempt_no AS ${name}` : `a.${name}`))
    .join(', ')}
    FROM (SELECT attempt_no FROM _attempts INDEXED BY _attempts_failed WHERE outcome <> 'delivered') f
    CROSS JOIN attempts a ON a._leadsync_no = f.attempt_no)`,
  deliveries: `(SELECT d.delivery_no AS _leadsync_no, v.source, v.id AS lead_id, v.version AS lead_version, substr(v.hash, 1, 8) AS content,
      s.sink, coalesce(s.named, s.sink) AS named, d.event, d.state, d.reason, d.attempts, nullif(d.replay, 0) AS replay, nullif(d.reissued, 0) AS reissued,
      d.owed_at, d.first_attempt_at, d.next_attempt_at, d.settled_at, a.started_at AS delivered_from, a.attempt_no, a.duration_ms, a.http_status,
      d.ref ->> '$.object' AS ref_object, d.ref ->> '$.id' AS ref_id, d.ref ->> '$.url' AS ref_url
    FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = +d.sink_no
    LEFT JOIN _attempts a ON a.delivery_no = d.delivery_no AND a.outcome = 'delivered')`,
};

function prepare(db: Database.Database, { name, number, columns, timesInMs }: Mirrored) {
  const isPrivate = name.startsWith('_'); // a private table has times in ms, which become text unless `timesInMs` is set
  const expressionOf = (one: Column) =>
    isPrivate && one.type === 'time' && !timesInMs ? time(one.name) : one.name;
  // Concatenation with '' turns every value into text, so that numbers stay exact and JSON is not nested.
  const values = columns.map((column) => `${expressionOf(column)} || ''`).join(', ');
  const select = `SELECT ${number}, json_array(${values}) FROM ${SELECTIONS[name] ?? name}`;
  return {
    after: db
      .prepare<[number, number], NumberedRow>(`${select} WHERE ${number} > ? ORDER BY ${number} LIMIT ?`)
      .raw(),
    now: db
      .prepare<[string], NumberedRow>(
        `${select} WHERE ${number} IN (SELECT value FROM json_each(?)) ORDER BY ${number}`,
      )
      .raw(),
  };
}

function time(ms: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${ms} / 1000.0, 'unixepoch')`;
}

function relationSql(db: Database.Database, name: string) {
  const { columns } = relations.find((one) => one.name === name) as Relation;
  const names = columns.map((column) => column.name).join(', ');
  return db.prepare<[], Raw>(`SELECT ${names} FROM ${name}`).raw().safeIntegers();
}

function textOf(found: Iterable<NumberedRow>): HistoryText {
  const rows: string[] = [];
  let characters = 0;
  for (const [no, values] of found) {
    rows.push(`[${no},${values}]`);
    characters += values.length;
    if (characters > CHUNK_CHARACTERS) break;
  }
  return `[${rows.join(',')}]`;
}

function toText(value: string | bigint | number | null): StoredValue {
  return value === null ? null : String(value);
}
