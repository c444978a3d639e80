import type { ClientBase } from 'pg';
import { mirrored } from '../../../catalog/mirrored-tables.ts';
import { quoted } from '../../../postgres/identifier.ts';
import { SinkUnavailable } from '../../sink-unavailable.ts';
import { commentsSql } from './comments.ts';
import { dropDependentViews } from './dependent-views.ts';
import { migrations, namesByStep, replacedByStep } from './migrations.ts';

/** Class of the advisory locks that guard migrations: the bytes of `lead`. */
const LOCK = 0x6c656164;

/** The state of the schema in the database. */
interface Found {
  readonly schemaExists: boolean;
  /** Number of applied migrations; 0 if leadsync has created nothing yet. */
  readonly version: number;
}

/**
 * Migrates the schema to this version, inside the caller's transaction. If several processes start at the same time, one migrates and
 * the others wait for it.
 * @throws SinkUnavailable if a newer leadsync or another program created the schema or its tables, or a right is missing
 */
export async function migrate(client: ClientBase, schema: string, appliedBy: string): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK, schema]);
  const found = await inspect(client, schema);
  const { schemaExists, version } = found;
  if (version === migrations.length) return;
  await requireRights(client, neededRights(schema, found, false));
  // Only if necessary: even IF NOT EXISTS requires the right to create schemas in the database.
  if (!schemaExists) await client.query(`CREATE SCHEMA ${quoted(schema)}`);
  await client.query(`SET LOCAL search_path = ${quoted(schema)}`);
  if (version === 0) await client.query(MIGRATIONS_TABLE);
  for (const [step, sql] of migrations.entries()) {
    if (step < version) continue;
    const restoreViews = await dropDependentViews(client, schema, replacedByStep.get(sql) ?? []);
    await client.query(sql);
    await restoreViews();
    await client.query('INSERT INTO _leadsync_migrations VALUES ($1, now(), $2)', [step + 1, appliedBy]);
  }
  await client.query(commentsSql);
}

/** What the schema lacks. */
interface MissingSchema {
  /** What is missing, as a phrase. */
  readonly what: string;
  /** The SQL that creates what is missing and grants this user the rights to use it. The owner of the schema or of the database runs it. */
  readonly how: string;
}

/**
 * Returns the missing parts of the schema, as the SQL that creates them; undefined if it is up to date. Changes nothing.
 * @throws SinkUnavailable if a newer leadsync or another program created the schema or its tables
 */
export async function missingSchema(
  client: ClientBase,
  schema: string,
  { mirrors, appliedBy }: { readonly mirrors: boolean; readonly appliedBy: string },
): Promise<MissingSchema | undefined> {
  const { schemaExists, version } = await inspect(client, schema);
  if (version === migrations.length) return undefined;
  const { rows } = await client.query('SELECT current_user AS user');
  const name = quoted(schema);
  const to = quoted(rows[0].user);
  const rights = neededRights(schema, { schemaExists: true, version: migrations.length }, mirrors);
  const statements = [
    'BEGIN',
    ...(schemaExists ? [] : [`CREATE SCHEMA ${name}`]),
    `SET LOCAL search_path = ${name}`,
    ...(version === 0 ? [trimmed(MIGRATIONS_TABLE)] : []),
    ...migrations.slice(version).map(trimmed),
    `INSERT INTO _leadsync_migrations SELECT step, now(), '${appliedBy}' FROM generate_series(${version + 1}, ${migrations.length}) AS step`,
    commentsSql,
    ...rights.map(([, right, , shown]) => `GRANT ${right} ON ${shown} TO ${to}`),
    `GRANT SELECT ON TABLE ${name}._leadsync_migrations TO ${to}`,
    'COMMIT',
  ];
  return {
    what:
      version === 0
        ? `${schemaExists ? 'tables of' : 'schema'} ${name}${schemaExists ? '' : ' with its tables'}`
        : `upgrade of ${name} from version ${version} to version ${migrations.length}`,
    how: statements.map((statement) => `${statement};\n`).join(''),
  };
}

/** Returns SQL without surrounding blanks and without the final semicolon. */
function trimmed(sql: string): string {
  return sql.trim().replace(/;$/, '');
}

/**
 * Verifies that the schema is up to date or can be migrated, and that this user has the rights to write. Changes nothing.
 * @throws SinkUnavailable
 */
export async function checkSchema(client: ClientBase, schema: string, mirrors: boolean): Promise<void> {
  const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby');
  if (rows[0].standby) {
    throw new SinkUnavailable('This PostgreSQL server is a standby, which does not accept writes.', {
      hint: 'Set `url` to the primary.',
    });
  }
  const found = await inspect(client, schema);
  await requireRights(client, neededRights(schema, found, mirrors));
}

/**
 * Returns those of the tables that leadsync has created. The schema may be missing or of an earlier version. Changes nothing.
 * @throws SinkUnavailable if a newer leadsync or another program created the schema or its tables
 */
export async function existingTables(
  client: ClientBase,
  schema: string,
  tables: readonly string[],
): Promise<string[]> {
  const { version } = await inspect(client, schema);
  const made = namesByStep.slice(0, version).flat();
  return tables.filter((table) => made.includes(table));
}

/** Whether the schema exists in an earlier version. Changes nothing. @throws SinkUnavailable */
export async function isOutdated(client: ClientBase, schema: string): Promise<boolean> {
  const { version } = await inspect(client, schema);
  return version > 0 && version < migrations.length;
}

async function inspect(client: ClientBase, schema: string): Promise<Found> {
  const { rows } = await client.query(
    `SELECT to_regnamespace($1) IS NOT NULL AS schema_exists,
      (SELECT count(*) = 3 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
       WHERE c.relnamespace = to_regnamespace($1) AND c.relname = '_leadsync_migrations' AND c.relkind = 'r'
       AND a.attname IN ('version', 'applied_at', 'applied_by')) AS ours`,
    [quoted(schema)],
  );
  const { schema_exists: schemaExists, ours } = rows[0];
  const version = ours ? await appliedVersion(client, schema) : 0;
  const names = namesByStep.slice(version).flat();
  await requireFree(client, schema, version === 0 ? ['_leadsync_migrations', ...names] : names);
  return { schemaExists, version };
}

/** @throws SinkUnavailable if one of the names that leadsync is about to create is taken */
async function requireFree(client: ClientBase, schema: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  // The name of a table is also the name of a type. PostgreSQL renames conflicting array types by itself.
  const { rows } = await client.query(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relname = ANY ($2)
    UNION ALL SELECT typname FROM pg_type WHERE typnamespace = to_regnamespace($1) AND typname = ANY ($2) AND typcategory <> 'A' LIMIT 1`,
    [quoted(schema), names],
  );
  if (rows.length === 0) return;
  throw new SinkUnavailable(
    `The schema "${schema}" contains "${rows[0].name}", which leadsync did not create.`,
    {
      hint: 'Set `schema` to a name that nothing else uses, or rename that object.',
    },
  );
}

async function appliedVersion(client: ClientBase, schema: string): Promise<number> {
  const { rows } = await client.query(
    `SELECT coalesce(max(version), 0) AS version FROM ${quoted(schema)}._leadsync_migrations`,
  );
  const { version } = rows[0];
  if (version <= migrations.length) return version;
  const known = `schema version ${version}; this one supports ${migrations.length}`;
  throw new SinkUnavailable(`A newer leadsync created the tables in "${schema}" (${known}).`, {
    hint: 'Install that newer leadsync, or set `schema` to another name.',
  });
}

const MIGRATIONS_TABLE = `
  CREATE TABLE _leadsync_migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL, applied_by text NOT NULL);
  COMMENT ON TABLE _leadsync_migrations IS 'Which shape this schema has. Written by leadsync; do not edit.';
  COMMENT ON COLUMN _leadsync_migrations.version IS 'Number of the step.';
  COMMENT ON COLUMN _leadsync_migrations.applied_at IS 'When it was taken.';
  COMMENT ON COLUMN _leadsync_migrations.applied_by IS 'The version of leadsync that took it.';
`;

/** A required right: the kind of object, the privilege, the object as a SQL expression, and the object as GRANT names it. */
type Right = readonly [kind: string, right: string, object: string, shown: string];

/** @throws SinkUnavailable, which names the first right that the user lacks */
async function requireRights(client: ClientBase, needed: readonly Right[]): Promise<void> {
  for (const [kind, right, object, shown] of needed) {
    const { rows } = await client.query(`SELECT has_${kind}_privilege(${object}, $1) AS held`, [right]);
    if (rows[0].held) continue;
    throw new SinkUnavailable(`The PostgreSQL user has no right to ${right} on ${shown}.`, {
      hint: `GRANT ${right} ON ${shown} TO that user.`,
    });
  }
}

/** Views that the mirror reads. */
const MIRROR_VIEWS = ['lead_versions', 'deliveries', 'attempts', 'v_undelivered'];
const MIRROR_RIGHTS = {
  ...Object.fromEntries(
    [...mirrored.map(({ name }) => name), '_versions', '_attempts', '_sinks', '_sources'].map((name) => [
      name,
      ['SELECT', 'INSERT', 'UPDATE'],
    ]),
  ),
  ...Object.fromEntries(MIRROR_VIEWS.map((name) => [name, ['SELECT']])),
  _contents: ['SELECT', 'INSERT', 'DELETE'],
  _ledgers: ['SELECT', 'INSERT'],
  _sink_names: ['SELECT', 'INSERT'],
  // The mirror deletes a delivery's row that another ledger wrote, and client keys that are no longer valid.
  _deliveries: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  _client_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  _presence: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
};

function neededRights(schema: string, { schemaExists, version }: Found, mirrors: boolean): Right[] {
  if (!schemaExists) return [['database', 'CREATE', 'current_database()', 'the DATABASE']];
  const ofSchema = version < migrations.length ? ['USAGE', 'CREATE'] : ['USAGE'];
  const ofMirror = mirrors && version === migrations.length ? MIRROR_RIGHTS : {};
  const ofTables: Readonly<Record<string, readonly string[]>> = {
    // The mirror deletes erased leads.
    leads: ['SELECT', 'INSERT', 'UPDATE', ...(mirrors ? ['DELETE'] : [])],
    ...ofMirror,
  };
  return [
    ...ofSchema.map((right): Right => ['schema', right, `'${schema}'`, `SCHEMA ${quoted(schema)}`]),
    ...Object.entries(version === 0 ? {} : ofTables).flatMap(([table, rights]) => {
      const name = `${quoted(schema)}.${table}`;
      return rights.map((right): Right => ['table', right, `'${name}'`, `TABLE ${name}`]);
    }),
  ];
}
