import type { ClientBase } from 'pg';
import type { Batch } from '../../../leads/delivery.ts';
import type { MappedColumn, MappedType } from '../../../leads/mapped-fields.ts';
import { SinkUnavailable } from '../../sink.ts';
import { quoted } from '../sql/identifier.ts';
import { leadColumns } from './lead-columns.ts';

/** PostgreSQL's name for the type of a field. */
const TYPES: Readonly<Record<MappedType, string>> = {
  text: 'text',
  bigint: 'bigint',
  double: 'double precision',
  boolean: 'boolean',
  time: 'timestamp with time zone',
  json: 'jsonb',
};

/** The columns of `leads` that hold fields, with the types of their values: `text` for a column that holds any value as text. */
export type FieldColumns = ReadonlyMap<string, MappedType>;

/** Returns PostgreSQL's name for the type of a field. */
export function typeName(type: MappedType): string {
  return TYPES[type];
}

/** Maximum length of a column's name in bytes (PostgreSQL manual, "Identifiers and Key Words"). */
const MAX_NAME_BYTES = 63;

/** Returns why a field cannot be a column of `leads`; undefined if it can. */
export function fieldFault(name: string): string | undefined {
  if (Object.hasOwn(leadColumns, name)) return 'is a column that leadsync writes itself';
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `is longer than ${MAX_NAME_BYTES} bytes`;
  return undefined;
}

/** A field; without a type if only an earlier mapping had it. */
type Field = Pick<MappedColumn, 'name'> & Partial<MappedColumn>;

/** Returns the fields of a batch: those of its mapping, then those that only an earlier mapping of some deliveries had. */
export function fieldsOf({ columns = [], deliveries }: Batch): readonly Field[] {
  const names = new Set(columns.map(({ name }) => name));
  const former = new Set(deliveries.flatMap(({ fields }) => [...(fields?.keys() ?? [])]));
  return [...columns, ...[...former].filter((name) => !names.has(name)).map((name) => ({ name }))];
}

/**
 * Adds the columns that fields lack to `leads`, inside the caller's transaction, and returns the columns of all fields. Never drops or
 * changes a column.
 * @throws SinkUnavailable if a column has a type that cannot hold its field, or if this user may not add a column
 */
export async function addColumns(
  client: ClientBase,
  schema: string,
  fields: readonly Field[],
): Promise<FieldColumns> {
  const table = `${quoted(schema)}.leads`;
  const { types, isOwner } = await inspect(client, table);
  const missing = fields.filter(({ name }) => !types.has(name));
  if (missing.length > 0) {
    const statement = `ALTER TABLE ${table} ${missing.map(({ name, type = 'text' }) => `ADD COLUMN IF NOT EXISTS ${quoted(name)} ${TYPES[type]}`).join(', ')}`;
    if (!isOwner)
      throw new SinkUnavailable(`This user does not own ${table}, which lacks columns for fields.`, {
        hint: `Run as its owner: ${statement}`,
        unsent: true,
      });
    await client.query(statement);
    for (const { name } of missing)
      await client.query(
        `COMMENT ON COLUMN ${table}.${quoted(name)} IS 'A field of the mapping in leadsync''s configuration.'`,
      );
  }
  return new Map(fields.map((field) => [field.name, requireType(table, field, types.get(field.name))]));
}

/** Returns the type of the values in the column of a field. @throws SinkUnavailable if the column cannot hold the field */
function requireType(table: string, { name, type }: Field, found: string | undefined): MappedType {
  if (found === undefined) return type ?? 'text';
  const held = typeHeldBy(found);
  if (held !== undefined && (type === undefined || held === type || held === 'text')) return held;
  const wanted = TYPES[type ?? 'text'];
  throw new SinkUnavailable(
    `The column ${quoted(name)} of ${table} has the type ${found}, and its field has the type ${wanted}.`,
    {
      hint: `Give the field another name, or change the column: ALTER TABLE ${table} ALTER COLUMN ${quoted(name)} TYPE ${wanted}`,
      unsent: true,
    },
  );
}

/** Returns the type of the values that a column can hold; undefined for a type to which leadsync writes no fields. */
function typeHeldBy(found: string): MappedType | undefined {
  if (found.startsWith('character varying')) return 'text';
  return Object.entries(TYPES).find(([, name]) => name === found)?.[0] as MappedType | undefined;
}

async function inspect(
  client: ClientBase,
  table: string,
): Promise<{ types: ReadonlyMap<string, string>; isOwner: boolean }> {
  const { rows } = await client.query(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, pg_has_role(c.relowner, 'USAGE') AS owned
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped`,
    [table],
  );
  return { types: new Map(rows.map(({ name, type }) => [name, type])), isOwner: rows[0]?.owned === true };
}
