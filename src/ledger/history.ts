import type Database from 'better-sqlite3';
import type { HistoryRow, Overview, Renamed, StoredValue } from '../leads/history.ts';
import { relations } from '../store/documented.ts';
import { leadContents, type Mirrored, mirrored } from '../store/mirrored.ts';
import type { Column, Relation } from '../store/relation.ts';

/** Leads may be megabytes long. */
const CHARACTERS_AT_ONCE = 4_000_000;

type Raw = [no: bigint, ...values: (string | bigint | number | null)[]];

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
      renamed: db.prepare<[], Renamed>(
        'SELECT sink, named FROM _sinks WHERE named IS NOT NULL ORDER BY sink_no',
      ),
    };
  }

  /** Rows with greater numbers, in order; at least one, and no more than fit in memory beside others. */
  after(table: string, no: number, limit: number): HistoryRow[] {
    return someOf(this.#sqlOf(table).after.iterate(no, limit));
  }

  /** Rows as they are now, in order; what is no longer there is left out. No more than fit in memory, as above. */
  now(table: string, numbers: readonly number[]): HistoryRow[] {
    return someOf(this.#sqlOf(table).now.iterate(JSON.stringify(numbers)));
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
  // An attempt that delivered is told with its delivery.
  attempts: "(SELECT * FROM attempts WHERE outcome <> 'delivered')",
  deliveries: `(SELECT d.*, ${time('a.started_at')} AS delivered_from, a.attempt_no, a.duration_ms, a.http_status
    FROM deliveries d LEFT JOIN _attempts a ON a.delivery_no = d._leadsync_no AND a.outcome = 'delivered')`,
};

function prepare(db: Database.Database, { name, number, columns }: Mirrored) {
  const select = `SELECT ${number}, ${columns.map(columnSql(name)).join(', ')} FROM ${TOLD[name] ?? name}`;
  return {
    after: db
      .prepare<[number, number], Raw>(`${select} WHERE ${number} > ? ORDER BY ${number} LIMIT ?`)
      .raw()
      .safeIntegers(),
    now: db
      .prepare<[string], Raw>(
        `${select} WHERE ${number} IN (SELECT value FROM json_each(?)) ORDER BY ${number}`,
      )
      .raw()
      .safeIntegers(),
  };
}

/** A private table holds times as milliseconds. */
function columnSql(table: string): (column: Column) => string {
  return ({ name, type }) => (table.startsWith('_') && type === 'time' ? time(name) : name);
}

function time(ms: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${ms} / 1000.0, 'unixepoch')`;
}

function relationSql(db: Database.Database, name: string) {
  const { columns } = relations.find((one) => one.name === name) as Relation;
  const names = columns.map((column) => column.name).join(', ');
  return db.prepare<[], Raw>(`SELECT ${names} FROM ${name}`).raw().safeIntegers();
}

function someOf(found: Iterable<Raw>): HistoryRow[] {
  const rows: HistoryRow[] = [];
  let characters = 0;
  for (const raw of found) {
    const row = toRow(raw);
    rows.push(row);
    characters += row.values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
    if (characters > CHARACTERS_AT_ONCE) break;
  }
  return rows;
}

function toRow([no, ...values]: Raw): HistoryRow {
  return { no: Number(no), values: values.map(toText) };
}

function toText(value: string | bigint | number | null): StoredValue {
  return value === null ? null : String(value);
}
