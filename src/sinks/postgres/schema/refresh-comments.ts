import type { ClientBase } from 'pg';
import { quoted } from '../../../postgres/identifier.ts';
import { allComments, commentStatement } from './comments.ts';

/** Maximum wait for a lock on a table. If the wait is too long, the next start tries again. */
const PATIENCE = '200ms';

/** The present comments on the tables, views and columns of a schema that this user may change. */
const PRESENT = `
  SELECT c.relname || coalesce('.' || a.attname, '') AS name, d.description AS text
  FROM pg_class c
  CROSS JOIN LATERAL (SELECT 0 AS attnum, NULL AS attname
    UNION ALL SELECT attnum, attname FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) a
  LEFT JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = a.attnum
  WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'v') AND pg_has_role(c.relowner, 'USAGE')`;

/** Returns statements that update comments from earlier versions, for a schema that needs no migration. Only reads. */
export async function staleComments(client: ClientBase, schema: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string; text: string | null }>(PRESENT, [quoted(schema)]);
  const present = new Map(rows.map(({ name, text }) => [name, text]));
  return allComments
    .filter(({ name, text }) => present.has(name) && present.get(name) !== text)
    .map(commentStatement);
}

/** Runs statements that update comments. Throws after a short wait if another transaction has locked a table, because comments are not urgent. */
export async function writeComments(
  client: ClientBase,
  schema: string,
  statements: readonly string[],
): Promise<void> {
  await client.query(`SET LOCAL search_path = ${quoted(schema)}; SET LOCAL lock_timeout = '${PATIENCE}'`);
  await client.query(statements.join(';\n'));
}
