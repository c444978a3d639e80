import type Database from 'better-sqlite3';
import type { DamagedFile, Reading, StoredValue } from './damaged-file.ts';

/**
 * The indexes and tables from which unreadable rows are restored. An index repeats columns of its table on other pages. The entries of each
 * index or table are copied to a temporary table in the recovered ledger.
 */
const ENTRY_TABLES = [
  {
    name: 'indexed_leads',
    index: '_leads',
    columns: ['source', 'id', 'version_no', 'version', 'hash', 'last_listed_at', 'erased_no'],
    query: 'SELECT * FROM _leads',
    order: ['source', 'id'],
  },
  {
    name: 'indexed_versions',
    index: '_versions_by_lead',
    columns: ['source', 'id', 'version', 'version_no'],
    query: 'SELECT source, id, version, version_no FROM _versions INDEXED BY _versions_by_lead',
    order: ['source', 'id', 'version'],
  },
  {
    name: 'indexed_facts',
    index: '_versions_facts',
    columns: ['version_no', 'source', 'id'],
    query: 'SELECT version_no, source, id FROM _versions INDEXED BY _versions_facts',
    order: ['version_no', 'source', 'id'],
  },
  {
    name: 'indexed_owed',
    index: '_deliveries_by_version',
    columns: ['version_no', 'sink_no', 'replay', 'delivery_no'],
    query:
      'SELECT version_no, sink_no, replay, delivery_no FROM _deliveries INDEXED BY _deliveries_by_version',
    order: ['version_no', 'sink_no', 'replay'],
  },
  {
    name: 'indexed_pending',
    index: '_deliveries_pending',
    columns: ['delivery_no'],
    query: "SELECT delivery_no FROM _deliveries INDEXED BY _deliveries_pending WHERE state = 'pending'",
    order: ['sink_no', 'owed_at'],
  },
  {
    name: 'indexed_dead',
    index: '_deliveries_dead',
    columns: ['delivery_no'],
    query: "SELECT delivery_no FROM _deliveries INDEXED BY _deliveries_dead WHERE state = 'dead'",
    order: ['sink_no', 'settled_at'],
  },
  {
    name: 'indexed_sinks',
    index: 'sqlite_autoindex__sinks_1',
    columns: ['sink', 'sink_no'],
    query: 'SELECT sink, sink_no FROM _sinks INDEXED BY sqlite_autoindex__sinks_1',
    order: ['sink'],
  },
  {
    name: 'indexed_erased',
    index: 'sqlite_autoindex__erased_1',
    columns: ['source', 'id', 'erased_no'],
    query: 'SELECT source, id, erased_no FROM _erased INDEXED BY sqlite_autoindex__erased_1',
    order: ['source', 'id'],
  },
  {
    name: 'indexed_numbers',
    index: 'sqlite_sequence',
    columns: ['name', 'seq'],
    query: 'SELECT name, seq FROM sqlite_sequence',
    order: ['rowid'],
  },
] as const;

/**
 * The types of the columns in the temporary tables, which are the types of the original columns. SQLite converts a column without a type
 * before a comparison and then uses no index on the column, so it would compare each row of one table with every row of the other table.
 */
const TYPES = {
  source: 'TEXT',
  id: 'INTEGER',
  version_no: 'INTEGER',
  version: 'INTEGER',
  hash: 'TEXT',
  last_listed_at: 'INTEGER',
  erased_no: 'INTEGER',
  sink_no: 'INTEGER',
  replay: 'INTEGER',
  delivery_no: 'INTEGER',
  sink: 'TEXT',
  name: 'TEXT',
  seq: 'INTEGER',
} as const;

/** The name of a temporary table for index entries. */
export type EntryTable = (typeof ENTRY_TABLES)[number]['name'];

/** Fills the temporary tables. Returns the names of the temporary tables whose index could be read completely. */
export function copyIndexEntries(from: DamagedFile, to: Database.Database): ReadonlySet<EntryTable> {
  const complete = new Set<EntryTable>();
  for (const { name, index, columns, query, order } of ENTRY_TABLES) {
    to.exec(`CREATE TEMP TABLE ${name} (${columns.map((column) => `${column} ${TYPES[column]}`).join(', ')});
      CREATE INDEX temp.${name}_in_order ON ${name} (${columns.slice(0, 2).join(', ')})`);
    if (!from.has(index)) continue;
    const add = to.prepare<StoredValue[]>(
      `INSERT INTO ${name} VALUES (${columns.map(() => '?').join(', ')})`,
    );
    const reading: Reading = { missed: 0n, complete: true };
    for (const entry of from.entries(query, order, reading))
      add.run(...columns.map((column) => entry[column] ?? null));
    if (reading.complete) complete.add(name);
  }
  to.exec(
    'CREATE INDEX temp.indexed_owed_by_number ON indexed_owed (delivery_no); CREATE INDEX temp.indexed_versions_by_number ON indexed_versions (version_no)',
  );
  return complete;
}
