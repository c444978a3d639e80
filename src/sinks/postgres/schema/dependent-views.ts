import type { ClientBase } from 'pg';
import { relations } from '../../../catalog/catalog.ts';
import { quoted } from '../../../postgres/identifier.ts';
import { SinkUnavailable } from '../../sink-unavailable.ts';

/** A user's view over a table that leadsync is about to replace, with everything needed to create the view again. */
interface DependentView {
  readonly name: string;
  readonly definition: string;
  readonly options: string | null;
  readonly owner: string;
  /** Whether this user is a member of the owner's role. */
  readonly owned: boolean;
  /** Statements that restore grants and comments. */
  readonly rest: readonly string[];
}

/**
 * SQL for the users' views over the tables $1, directly or through other views, in the order in which they can be created. Excludes
 * leadsync's own views, $2.
 */
const VIEWS = `
  WITH RECURSIVE dependent AS (
    SELECT o.oid, 0 AS depth FROM unnest($1::regclass[]) AS o (oid)
    UNION ALL SELECT r.ev_class, d.depth + 1 FROM dependent d
      JOIN pg_depend p ON p.refclassid = 'pg_class'::regclass AND p.refobjid = d.oid AND p.classid = 'pg_rewrite'::regclass
      JOIN pg_rewrite r ON r.oid = p.objid
    WHERE r.ev_class <> d.oid AND NOT EXISTS (SELECT FROM unnest($2::text[]) AS own (name) WHERE to_regclass(own.name) = r.ev_class)
  ), views AS (SELECT oid, max(depth) AS depth FROM dependent WHERE depth > 0 GROUP BY oid)
  SELECT c.oid::regclass::text AS name, pg_get_viewdef(c.oid) AS definition, array_to_string(c.reloptions, ', ') AS options,
    c.relowner::regrole::text AS owner, pg_has_role(c.relowner, 'USAGE') AS owned,
    ARRAY(
      SELECT format('GRANT %s ON %s TO %s%s', a.privilege_type, c.oid::regclass,
        CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
      FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner
      UNION ALL SELECT format('GRANT %s (%I) ON %s TO %s', a.privilege_type, t.attname, c.oid::regclass,
        CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
      FROM pg_attribute t CROSS JOIN LATERAL aclexplode(t.attacl) a WHERE t.attrelid = c.oid
      UNION ALL SELECT format('COMMENT ON %s IS %L',
        CASE d.objsubid WHEN 0 THEN 'VIEW ' || c.oid::regclass ELSE format('COLUMN %s.%I', c.oid::regclass, t.attname) END, d.description)
      FROM pg_description d LEFT JOIN pg_attribute t ON t.attrelid = c.oid AND t.attnum = d.objsubid
      WHERE d.classoid = 'pg_class'::regclass AND d.objoid = c.oid
    ) AS rest
  FROM views v JOIN pg_class c ON c.oid = v.oid ORDER BY v.depth, c.oid`;

/**
 * Objects that would be lost with the tables and views $1 and that leadsync cannot create again. leadsync's own constraints and indexes
 * are not among them.
 */
const OBSTACLES = `
  WITH lost AS (SELECT unnest($1::regclass[]) AS oid)
  SELECT pg_describe_object(p.classid, p.objid, p.objsubid) AS what FROM pg_depend p JOIN lost l ON p.refobjid = l.oid
    WHERE p.refclassid = 'pg_class'::regclass AND p.deptype IN ('n', 'a')
      AND p.classid IN ('pg_proc'::regclass, 'pg_policy'::regclass, 'pg_publication_rel'::regclass)
  UNION SELECT pg_describe_object('pg_trigger'::regclass, t.oid, 0) FROM pg_trigger t JOIN lost l ON t.tgrelid = l.oid WHERE NOT t.tgisinternal
  UNION SELECT pg_describe_object('pg_constraint'::regclass, c.oid, 0) FROM pg_constraint c JOIN lost l
    ON (c.confrelid = l.oid AND c.contype = 'f') OR (c.conrelid = l.oid AND c.contype IN ('c', 'f'))
  UNION SELECT pg_describe_object('pg_class'::regclass, i.inhrelid, 0) FROM pg_inherits i JOIN lost l ON i.inhparent = l.oid
  UNION SELECT pg_describe_object('pg_class'::regclass, c.oid, 0) FROM pg_class c JOIN lost l ON c.oid = l.oid WHERE c.relkind = 'm'
  UNION SELECT pg_describe_object('pg_rewrite'::regclass, r.oid, 0) FROM pg_rewrite r JOIN lost l ON r.ev_class = l.oid WHERE r.rulename <> '_RETURN'
  ORDER BY 1`;

/**
 * Drops the users' views over tables that leadsync is about to replace with views of the same names. Returns a function that creates the
 * dropped views again, with their owners, grants and comments.
 * @throws SinkUnavailable, before it drops anything, if something that depends on the tables cannot be created again
 */
export async function dropDependentViews(
  client: ClientBase,
  schema: string,
  tables: readonly string[],
): Promise<() => Promise<void>> {
  if (tables.length === 0) return async () => undefined;
  const inSchema = (name: string) => `${quoted(schema)}.${name}`;
  const replaced = tables.map(inSchema);
  // The migration replaces leadsync's own views in place, which keeps what depends on them.
  const own = relations.filter(({ kind }) => kind === 'view').map(({ name }) => inSchema(name));
  // With an empty search_path PostgreSQL returns qualified names.
  await client.query("SET LOCAL search_path = ''");
  const { rows: views } = await client.query<DependentView>(VIEWS, [replaced, own]);
  const { rows: obstacles } = await client.query<{ what: string }>(OBSTACLES, [
    [...replaced, ...views.map(({ name }) => name)],
  ]);
  const notOurs = views.filter(({ owned }) => !owned).map(({ name, owner }) => `view ${name} of ${owner}`);
  const names = [...obstacles.map(({ what }) => what), ...notOurs];
  if (names.length > 0) throw inTheWay(schema, tables, names);
  for (const { name } of views.toReversed()) await client.query(`DROP VIEW ${name}`);
  await client.query(`SET LOCAL search_path = ${quoted(schema)}`);
  return () => restoreViews(client, schema, views);
}

async function restoreViews(
  client: ClientBase,
  schema: string,
  views: readonly DependentView[],
): Promise<void> {
  await client.query("SET LOCAL search_path = ''");
  for (const { name, definition, options, owner, rest } of views) {
    await client.query(`CREATE VIEW ${name}${options ? ` WITH (${options})` : ''} AS ${definition}`);
    for (const statement of rest) await client.query(statement);
    await client.query(`ALTER VIEW ${name} OWNER TO ${owner}`);
  }
  await client.query(`SET LOCAL search_path = ${quoted(schema)}`);
}

function inTheWay(schema: string, tables: readonly string[], names: readonly string[]): SinkUnavailable {
  const what = `${tables.map((table) => `"${schema}".${table}`).join(' and ')}`;
  return new SinkUnavailable(
    `This version of leadsync replaces ${what} with views of the same names, and leadsync cannot keep what depends on the tables: ${names.join('; ')}.`,
    {
      hint: 'Drop these objects, start leadsync, and create them again over the views once it has delivered. Leads wait until then.',
    },
  );
}
