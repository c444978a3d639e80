import type { ClientBase } from 'pg';
import { quoted } from './identifier.ts';

/** The comment on a table, view or column. */
export interface Comment {
  readonly what: 'TABLE' | 'VIEW' | 'COLUMN';
  /** `table` or `table.column`. */
  readonly name: string;
  readonly text: string;
}

/** Returns the statement that writes a comment. It must run with the schema as `search_path`. */
export function commentStatement({ what, name, text }: Comment): string {
  return `COMMENT ON ${what} ${name} IS '${text.replaceAll("'", "''")}'`;
}

/** The present comments on the tables, views and columns of a schema that this user may change. */
const PRESENT = `
  SELECT c.relname || coalesce('.' || a.attname, '') AS name, d.description AS text
  FROM pg_class c
  CROSS JOIN LATERAL (SELECT 0 AS attnum, NULL AS attname
    UNION ALL SELECT attnum, attname FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) a
  LEFT JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = a.attnum
  WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'v') AND pg_has_role(c.relowner, 'USAGE')`;

/** Returns the statements that write those of the comments that the schema lacks or has with another text. Only reads. */
export async function staleComments(
  client: ClientBase,
  schema: string,
  comments: readonly Comment[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string; text: string | null }>(PRESENT, [quoted(schema)]);
  const present = new Map(rows.map(({ name, text }) => [name, text]));
  return comments
    .filter(({ name, text }) => present.has(name) && present.get(name) !== text)
    .map(commentStatement);
}
