import { queries, relations } from '../../src/catalog/catalog.ts';
import { type Parameter, pastedValue, type Query } from '../../src/catalog/query.ts';
import { commentOf, type Relation } from '../../src/catalog/relation.ts';

/** Permissions that Datasette's root user has by default. Only leadsync may write to a ledger. */
const WRITES = [
  'insert-row',
  'update-row',
  'delete-row',
  'create-table',
  'alter-table',
  'drop-table',
  'execute-write-sql',
];

/** Datasette's name for the database, from the file name ledger.db. */
const DATABASE = 'ledger';

/** Returns `deploy/datasette/metadata.yaml`: the descriptions of every table, view and column. */
export function datasetteMetadata(): object {
  const tables = Object.fromEntries(relations.map((relation) => [relation.name, described(relation)]));
  return {
    title: 'leadsync',
    description:
      'Leads as the service listed them, and their deliveries. Views (v_…) are the stable contract.',
    databases: { [DATABASE]: { tables } },
  };
}

/** Returns `deploy/datasette/datasette.yaml`: access, and the documented queries. Datasette hides names that begin with `_` by itself. */
export function datasetteConfig(): object {
  return {
    // Personal data: access only with the link that `--root` prints.
    allow: { id: 'root' },
    settings: { sql_time_limit_ms: 5000, max_returned_rows: 5000, allow_download: false },
    databases: {
      [DATABASE]: {
        permissions: Object.fromEntries(WRITES.map((action) => [action, false])),
        tables: { sqlite_sequence: { hidden: true } },
        queries: Object.fromEntries(queries.map((query) => [query.name, canned(query)])),
      },
    },
  };
}

function described(relation: Relation): object {
  const columns = Object.fromEntries(relation.columns.map(({ name, means }) => [name, means]));
  return { description: commentOf(relation), columns };
}

/** Returns a query whose parameters are fields of the page. An empty field means the default. */
function canned({ asks, notes, parameters, sql }: Query): object {
  const takes = parameters.map((one) => ` ${one.name}: ${one.means}${emptyMeans(one)}.`).join('');
  return {
    title: asks,
    description: notes + takes,
    sql: parameters.reduce(withDefault, sql.trim()),
  };
}

function emptyMeans({ type, daysAgo }: Parameter): string {
  const like = type === 'time' ? ', such as 2026-11-20T10:00:00.000Z' : '';
  return daysAgo === undefined ? like : `${like}; empty: ${daysAgo} days ago`;
}

function withDefault(sql: string, parameter: Parameter): string {
  const value = `:${parameter.name}`;
  if (parameter.type === 'id') return sql.replaceAll(value, `CAST(${value} AS INTEGER)`);
  if (parameter.daysAgo === undefined) return sql;
  return sql.replaceAll(value, `coalesce(nullif(${value}, ''), ${pastedValue(parameter, 'sqlite')})`);
}
