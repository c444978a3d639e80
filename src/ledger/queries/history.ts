import type Database from 'better-sqlite3';
import { relations } from '../../catalog/documented.ts';
import { leadContents, type Mirrored, mirrored } from '../../catalog/mirrored.ts';
import type { Column, Relation } from '../../catalog/relation.ts';
import type { HistoryText, Overview, RenamedSink, StoredValue } from '../../leads/history.ts';

/** Leads may be megabytes long. */
const CHARACTERS_AT_ONCE = 4_000_000;

type Raw = [no: bigint, ...values: (string | bigint | number | null)[]];
/** A row's number, and its values as a JSON array. */
type Told = [no: number, values: string];

/** What is told of the ledger to a store elsewhere: its tables by the numbers of their rows, and how all is at present. */
export class History {
  readonly #tables;
  readonly #overview;

  constructor(db: Database.Database) {
    this.#tables = new Map([...mirrored, leadContents].map((table) => [table.name, prepare(db, table)]));
    this.#overview = {
      sinks: relationSql(db, 'v_sink_health'),
      sources: relationSql(db, 'v_freshness'),
      firstClientKey: db.prepare<[], number | null>('SELECT min(key_no) FROM _client_keys').pluck(),
      renamed: db.prepare<[], RenamedSink>(
        'SELECT sink, named FROM _sinks WHERE named IS NOT NULL ORDER BY sink_no',
      ),
    };
  }

  /** Rows with greater numbers, in order; at least one, and no more than fit in memory beside others. */
  after(table: string, no: number, limit: number): HistoryText {
    return textOf(this.#sqlOf(table).after.iterate(no, limit));
  }

  /** Rows as they are now, in order; what is no longer there is left out. No more than fit in memory, as above. */
  now(table: string, numbers: readonly number[]): HistoryText {
    return textOf(this.#sqlOf(table).now.iterate(JSON.stringify(numbers)));
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

/** What is told of a table where that is neither all of its rows nor its columns alone. */
const TOLD: Readonly<Record<string, string>> = {
  lead_contents: 'lead_versions',
  lead_versions: `(SELECT v.source, v.id AS lead_id, v.version, v.valid_from, n.valid_from AS valid_to, n.version IS NULL AS is_current,
      v.changed_fields, v.poll_id, v.hash AS _leadsync_hash, v.version_no AS _leadsync_no
    FROM _versions v LEFT JOIN _versions n ON n.source = v.source AND n.id = v.id AND n.version = v.version + 1)`,
  // An attempt that delivered is told with its delivery.
  attempts: "(SELECT * FROM attempts WHERE outcome <> 'delivered')",
  deliveries: `(SELECT d.delivery_no AS _leadsync_no, v.source, v.id AS lead_id, v.version AS lead_version, substr(v.hash, 1, 8) AS content,
      s.sink, coalesce(s.named, s.sink) AS named, d.event, d.state, d.reason, d.attempts, nullif(d.replay, 0) AS replay,
      d.owed_at, d.first_attempt_at, d.next_attempt_at, d.settled_at, a.started_at AS delivered_from, a.attempt_no, a.duration_ms, a.http_status
    FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = +d.sink_no
    LEFT JOIN _attempts a ON a.delivery_no = d.delivery_no AND a.outcome = 'delivered')`,
};

function prepare(db: Database.Database, { name, number, columns, timesInMs }: Mirrored) {
  const isPrivate = name.startsWith('_'); // and has times in ms, which are told as such for some tables
  const toTell = (one: Column) =>
    isPrivate && one.type === 'time' && !timesInMs ? time(one.name) : one.name;
  // Joined to a text, a number stays exact, and JSON is a text like any other.
  const values = columns.map((column) => `${toTell(column)} || ''`).join(', ');
  const select = `SELECT ${number}, json_array(${values}) FROM ${TOLD[name] ?? name}`;
  return {
    after: db
      .prepare<[number, number], Told>(`${select} WHERE ${number} > ? ORDER BY ${number} LIMIT ?`)
      .raw(),
    now: db
      .prepare<[string], Told>(
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

function textOf(found: Iterable<Told>): HistoryText {
  const rows: string[] = [];
  let characters = 0;
  for (const [no, values] of found) {
    rows.push(`[${no},${values}]`);
    characters += values.length;
    if (characters > CHARACTERS_AT_ONCE) break;
  }
  return `[${rows.join(',')}]`;
}

function toText(value: string | bigint | number | null): StoredValue {
  return value === null ? null : String(value);
}
