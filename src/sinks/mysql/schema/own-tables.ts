import { relations } from '../../../catalog/catalog.ts';
import { commentOf } from '../../../catalog/relation.ts';
import { literal, quoted } from '../sql/identifier.ts';
import { answerColumns, leadColumns } from './table-columns.ts';

/** A table that leadsync creates. */
export interface OwnTable {
  /** Its name in documents, without a prefix. */
  readonly name: 'leads' | 'lead_answers';
  /** Its name in SQL, quoted and with the database. */
  readonly sql: string;
  /** Its name in the server's catalogue. */
  readonly stored: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly key: readonly string[];
}

/** The tables of a sink. */
export interface OwnTables {
  readonly leads: OwnTable;
  readonly answers: OwnTable;
}

/** Comments for columns whose descriptions in the catalog are about other stores. */
const COMMENTS: Readonly<Record<string, string>> = {
  _leadsync_synced_at: 'When leadsync last wrote this row.',
  _leadsync_last_listed_at:
    'When this content was first listed. Later listings of the same content do not change this column.',
  _leadsync_raw:
    "The lead's JSON as received; if _leadsync_replaced is true, with U+FFFD in place of NUL and lone surrogates. Null if the other columns hold everything that the lead has, unless the sink has `raw: true`. Personal data.",
};
/** Columns that may be null. */
const NULLABLE: ReadonlySet<string> = new Set(['client_address', '_leadsync_raw', '_leadsync_original']);

/** Indexes for the most common queries: which leads came when, for which service, and what has changed since. */
const INDEXES = {
  leads: [
    'KEY leads_created_at (created_at)',
    'KEY leads_service (service_slug(64), created_at)',
    'KEY leads_first_seen_at (_leadsync_first_seen_at)',
    'KEY leads_synced_at (_leadsync_synced_at)',
  ],
  lead_answers: ['KEY lead_answers_slug (slug(64))'],
} as const;

/** Returns the tables in a database. `database` is quoted, and the names of the tables begin with `prefix`. */
export function ownTables(database: string, prefix: string): OwnTables {
  const table = (name: OwnTable['name'], columns: OwnTable['columns'], key: OwnTable['key']): OwnTable => {
    const stored = `${prefix}${name}`;
    return { name, sql: `${database}.${quoted(stored)}`, stored, columns, key };
  };
  return {
    leads: table('leads', leadColumns, ['source', 'id']),
    answers: table('lead_answers', answerColumns, ['source', 'lead_id', 'position']),
  };
}

/** Returns the statement that creates a table unless it exists. */
export function createStatement({ name, sql, columns, key }: OwnTable): string {
  const relation = relations.find((one) => one.name === name);
  const means = new Map(relation?.columns.map((column) => [column.name, column.means]));
  const definitions = Object.entries(columns).map(([column, type]) => {
    const nullability = NULLABLE.has(column) ? 'NULL' : 'NOT NULL';
    const comment = COMMENTS[column] ?? means.get(column) ?? '';
    return `${quoted(column)} ${type} ${nullability} COMMENT ${literal(comment)}`;
  });
  const parts = [...definitions, `PRIMARY KEY (${key.map(quoted).join(', ')})`, ...INDEXES[name]];
  const comment = relation ? commentOf(relation) : '';
  return `CREATE TABLE IF NOT EXISTS ${sql} (\n  ${parts.join(',\n  ')}\n) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COMMENT=${literal(comment)}`;
}
