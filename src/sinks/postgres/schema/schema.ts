import type { ClientBase } from 'pg';
import { mirrored } from '../../../catalog/mirrored.ts';
import { SinkUnavailable } from '../../sink.ts';
import { quoted } from '../sql/identifier.ts';
import { commentsSql } from './comments.ts';
import { dropDependentViews } from './dependent-views.ts';
import { migrations, namesByStep, replacedByStep } from './migrations.ts';

/** Guards the migrations of all schemas in a database: the bytes of `lead`. */
const LOCK = 0x6c656164;

/** What is in the database under the schema's name. */
interface Found {
  readonly schemaExists: boolean;
  /** How many migrations have been applied; 0 when leadsync has made nothing yet. */
  readonly version: number;
}

/**
 * Brings the schema to this version's shape, inside the caller's transaction. Of several processes that start at once
 * one does the work, and the others wait for it.
 * @throws SinkUnavailable when the schema is a newer leadsync's or somebody else's
 */
export async function migrate(client: ClientBase, schema: string, appliedBy: string): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK, schema]);
  const found = await inspect(client, schema);
  const { schemaExists, version } = found;
  if (version === migrations.length) return;
  await requireRights(client, neededRights(schema, found, false));
  // Even with IF NOT EXISTS, this would ask for a right on the database that only the maker of the schema needs.
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

/**
 * Sees whether the schema is right, or could be made so, and whether this user may write to it. Changes nothing.
 * @throws SinkUnavailable
 */
export async function checkSchema(client: ClientBase, schema: string, mirrors: boolean): Promise<void> {
  const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby');
  if (rows[0].standby) {
    throw new SinkUnavailable('This PostgreSQL is a standby, which takes no writes.', {
      hint: 'Set `url` to the primary.',
    });
  }
  const found = await inspect(client, schema);
  await requireRights(client, neededRights(schema, found, mirrors));
}

/**
 * Of these tables those that leadsync has made in the schema, which may be missing or an older one. Changes nothing.
 * @throws SinkUnavailable when the schema is a newer leadsync's or somebody else's
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

/** Whether leadsync has made the schema, and an older version of it. Changes nothing. @throws SinkUnavailable */
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

/** What leadsync is about to make must not be there: it would be somebody else's. */
async function requireFree(client: ClientBase, schema: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  // A table's name is that of a type, too. The array types that come with tables give way to other names by themselves.
  const { rows } = await client.query(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relname = ANY ($2)
    UNION ALL SELECT typname FROM pg_type WHERE typnamespace = to_regnamespace($1) AND typname = ANY ($2) AND typcategory <> 'A' LIMIT 1`,
    [quoted(schema), names],
  );
  if (rows.length === 0) return;
  throw new SinkUnavailable(`The schema "${schema}" has a "${rows[0].name}" that leadsync did not make.`, {
    hint: 'Set `schema` to a name that nothing else uses, or rename that.',
  });
}

async function appliedVersion(client: ClientBase, schema: string): Promise<number> {
  const { rows } = await client.query(
    `SELECT coalesce(max(version), 0) AS version FROM ${quoted(schema)}._leadsync_migrations`,
  );
  const { version } = rows[0];
  if (version <= migrations.length) return version;
  const known = `schema ${version}; this one knows ${migrations.length}`;
  throw new SinkUnavailable(`The tables in "${schema}" were made by a newer leadsync (${known}).`, {
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

/** A right that is needed: of what kind it is, its name, on what (as SQL, and in the words of GRANT). */
type Right = readonly [kind: string, right: string, object: string, shown: string];

/** @throws SinkUnavailable that names the first right which the user lacks */
async function requireRights(client: ClientBase, needed: readonly Right[]): Promise<void> {
  for (const [kind, right, object, shown] of needed) {
    const { rows } = await client.query(`SELECT has_${kind}_privilege(${object}, $1) AS held`, [right]);
    if (rows[0].held) continue;
    throw new SinkUnavailable(`The PostgreSQL user has no right to ${right} on ${shown}.`, {
      hint: `GRANT ${right} ON ${shown} TO it.`,
    });
  }
}

/** Views over tables that the mirror writes. */
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
  // A delivery that another ledger brings anew takes the place of its row; keys that no longer hold are removed.
  _deliveries: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  _client_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  _presence: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
};

function neededRights(schema: string, { schemaExists, version }: Found, mirrors: boolean): Right[] {
  if (!schemaExists) return [['database', 'CREATE', 'current_database()', 'the DATABASE']];
  const ofSchema = version < migrations.length ? ['USAGE', 'CREATE'] : ['USAGE'];
  const ofMirror = mirrors && version === migrations.length ? MIRROR_RIGHTS : {};
  const ofTables: Readonly<Record<string, readonly string[]>> = {
    // The mirror takes leads out that were erased.
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
