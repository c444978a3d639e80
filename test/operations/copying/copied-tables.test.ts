import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { COPIED_TABLES } from '../../../src/ledger/rules/copying/copied-tables.ts';
import { Installation } from './copies.ts';

/** What a copy leaves behind, and why. A table or a column that is neither copied nor listed here fails the tests. */
const LEFT: Readonly<Record<string, string>> = {
  _ledger: 'its one row is written last, when the copy is complete',
  _comments: 'each version writes them',
  _commits: 'what became of lost transactions, while a process runs',
  _duties: 'the process that holds the ledger',
  _duty_leases: 'processes that run',
  _processes: 'processes that run',
  _missing_processes: 'processes that ran',
  _sink_counts: 'counted anew from the deliveries',
  _count_changes: 'counted anew from the deliveries',
  _documents: 'no process uses them yet: they are files in data_dir',
  _document_locks: 'no process uses them yet: they are files in data_dir',
  _audit: 'no process uses it yet: it is a file in data_dir',
  '_sinks.pending': 'counted anew from the deliveries',
  '_sinks.delivered': 'counted anew from the deliveries',
  '_sinks.dead': 'counted anew from the deliveries',
  '_sinks.skipped': 'counted anew from the deliveries',
  '_client_keys.key_no': 'numbered anew: mirrors are written anew after a copy',
  '_attempts.xact': 'the transaction that adds the row',
  '_polls.parts': 'the fence of a poll that runs',
  '_polls.token': 'the fence of a poll that runs',
  '_clock_set_back.sink_no': 'the progress of a step, which is done',
  '_clock_set_back.due_at': 'the progress of a step, which is done',
  '_clock_set_back.delivery_no': 'the progress of a step, which is done',
  '_clock_set_back.is_done': 'the progress of a step, which is done',
};

function missing(found: readonly (readonly [table: string, column: string])[], engine: 'name' | 'inSqlite') {
  const copied = new Set(
    COPIED_TABLES.flatMap((table) => table.columns.map(([column]) => `${table[engine]}.${column}`)),
  );
  const names = found.map(([table, column]) => ({ table, name: `${table}.${column}` }));
  const unknown = [...copied].filter((name) => !names.some((one) => one.name === name));
  return [...names.filter(({ table, name }) => !copied.has(name) && !LEFT[table] && !LEFT[name]), ...unknown];
}

test('a copy takes along every column of every table of both engines, or leaves it behind for a reason', async () => {
  const installation = await Installation.eventful();
  const db = new Database(installation.file);
  const inSqlite = db
    .prepare<[], [string, string]>(
      `SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'`,
    )
    .raw()
    .all();
  db.close();
  expect(missing(inSqlite, 'inSqlite')).toEqual([]);
  await installation.copy('sqlite');
  const { rows } = await installation.admin.query<{ table_name: string; column_name: string }>(
    `SELECT c.table_name, c.column_name FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE t.table_schema = $1 AND t.table_type = 'BASE TABLE'`,
    [installation.schema],
  );
  const inPostgres = rows.map((row): [string, string] => [row.table_name, row.column_name]);
  expect(missing(inPostgres, 'name')).toEqual([]);
});
