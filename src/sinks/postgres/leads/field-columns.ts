import type { ClientBase } from 'pg';
import type { MappedType } from '../../../leads/mapped-fields.ts';
import { quoted } from '../../../postgres/identifier.ts';
import type { DestinationField } from '../../destination-parts.ts';
import { SinkUnavailable } from '../../sink-unavailable.ts';
import { type Field, type FieldColumns, isWider } from '../../table/table-fields.ts';
import { leadColumns } from './lead-columns.ts';

/** PostgreSQL's name for the type of a field. */
const TYPES: Readonly<Record<MappedType, string>> = {
  text: 'text',
  bigint: 'bigint',
  double: 'double precision',
  boolean: 'boolean',
  time: 'timestamptz',
  json: 'jsonb',
};
/** Type of a column's values, by the name of the column's type in PostgreSQL's catalogue. */
const MAPPED_TYPES: ReadonlyMap<string, MappedType> = new Map([
  ...Object.entries(TYPES).map(([type, name]) => [name, type as MappedType] as const),
  ['timestamp with time zone', 'time'],
]);

/** Returns PostgreSQL's name for the type of a field. */
export function typeName(type: MappedType): string {
  return TYPES[type];
}

/** Maximum length of a column's name in bytes (PostgreSQL manual, "Identifiers and Key Words"). */
const MAX_NAME_BYTES = 63;

/** Columns that every PostgreSQL table has (manual, "System Columns"). */
const SYSTEM_COLUMNS: ReadonlySet<string> = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);

/** Returns why a field cannot be a column of `leads`, as a phrase; undefined if it can. */
export function fieldFault(name: string): string | undefined {
  if (Object.hasOwn(leadColumns, name)) return 'is a column that leadsync writes itself';
  if (SYSTEM_COLUMNS.has(name)) return 'is a column that PostgreSQL keeps for itself';
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `is longer than ${MAX_NAME_BYTES} bytes`;
  return undefined;
}

/**
 * Adds a column to `leads` for each field that has none, inside the caller's transaction, and returns the columns of all fields. Never drops
 * or changes a column.
 * @throws SinkUnavailable if a column has a type that cannot hold its field, if this user may not add a column, or if the table is full
 */
export async function addColumns(
  client: ClientBase,
  schema: string,
  fields: readonly Field[],
): Promise<FieldColumns> {
  const table = `${quoted(schema)}.leads`;
  const found = await inspect(client, table);
  let { types } = found;
  const missing = fields.filter(({ name }) => !types.has(name));
  if (missing.length > 0) {
    requireAddable(table, missing, found);
    await client.query(addStatement(table, missing));
    for (const { name } of missing)
      await client.query(
        `COMMENT ON COLUMN ${table}.${quoted(name)} IS 'A field of the mapping in leadsync''s configuration.'`,
      );
    // Another process may have added one of them first, with another type.
    types = (await inspect(client, table)).types;
  }
  return new Map(fields.map((field) => [field.name, requireType(table, field, types.get(field.name))]));
}

/**
 * Verifies that every field has a column that can hold it, or that this user may add one. Changes nothing.
 * @throws SinkUnavailable
 */
export async function checkColumns(
  client: ClientBase,
  schema: string,
  fields: readonly Field[],
): Promise<void> {
  const table = `${quoted(schema)}.leads`;
  const found = await inspect(client, table);
  const { types } = found;
  const missing = fields.filter(({ name }) => !types.has(name));
  if (missing.length > 0) requireAddable(table, missing, found);
  for (const field of fields.filter(({ name }) => types.has(name)))
    requireType(table, field, types.get(field.name));
}

/** A field without a column. */
export interface MissingColumn {
  readonly field: Field;
  /** The column, as a phrase. */
  readonly what: string;
  /** The statement that adds it. */
  readonly how: string;
}

/** Returns the fields that have no column. `tableExists` is false if the table does not exist yet. */
export async function missingColumns(
  client: ClientBase,
  schema: string,
  fields: readonly Field[],
  tableExists: boolean,
): Promise<readonly MissingColumn[]> {
  const table = `${quoted(schema)}.leads`;
  const types = tableExists ? (await inspect(client, table)).types : new Map<string, string>();
  return fields
    .filter(({ name }) => !types.has(name))
    .map((field) => ({
      field,
      what: `column ${quoted(field.name)} of ${table} (${TYPES[field.fitting]})`,
      how: `${addStatement(table, [field])};\n`,
    }));
}

/** Returns the columns of `leads`. `writable` are those that leadsync does not write itself and whose type can hold a field. */
export async function columnsOfLeads(
  client: ClientBase,
  schema: string,
): Promise<readonly DestinationField[]> {
  const { types } = await inspect(client, `${quoted(schema)}.leads`);
  return [...types].map(([name, type]) => ({
    name,
    type,
    writable:
      !name.startsWith('_leadsync_') && fieldFault(name) === undefined && typeHeldBy(type) !== undefined,
    required: false,
  }));
}

function addStatement(table: string, missing: readonly Field[]): string {
  const columns = missing.map(
    ({ name, fitting }) => `ADD COLUMN IF NOT EXISTS ${quoted(name)} ${TYPES[fitting]}`,
  );
  return `ALTER TABLE ${table} ${columns.join(', ')}`;
}

/** Maximum number of columns in a table (PostgreSQL manual, "PostgreSQL Limits"). */
const MAX_COLUMNS = 1_600;

/** @throws SinkUnavailable if this user may not add the missing columns, or if the table would have too many columns */
function requireAddable(table: string, missing: readonly Field[], { isOwner, used }: Inspected): void {
  if (!isOwner)
    throw new SinkUnavailable(
      `${table} lacks columns for fields, and this user may not add them, because it does not own the table.`,
      {
        hint: `Run as its owner: ${addStatement(table, missing)}`,
      },
    );
  if (used + missing.length <= MAX_COLUMNS) return;
  throw new SinkUnavailable(
    `${table} has ${used} of the ${MAX_COLUMNS} columns that PostgreSQL allows, including dropped ones, and lacks ${missing.length} for fields.`,
    {
      hint: 'Use fewer fields: a map or a list of several values needs only one column. Or set `schema` to a new one: `leadsync replay` fills it.',
    },
  );
}

/** Returns the type of the values in the column of a field. @throws SinkUnavailable if the column cannot hold the field */
function requireType(table: string, { name, type }: Field, found = ''): MappedType {
  const held = typeHeldBy(found);
  if (held !== undefined && (type === undefined || held === type || held === 'text' || isWider(held, type)))
    return held;
  throw new SinkUnavailable(
    `The column ${quoted(name)} of ${table} has the type ${found}, but its field has the type ${TYPES[type ?? 'text']}.`,
    {
      hint: `Give the field another name, or make the column text, which holds every value: ALTER TABLE ${table} ALTER COLUMN ${quoted(name)} TYPE text`,
    },
  );
}

/** Returns the type of the values that a column can hold; undefined for a type to which leadsync writes no fields. */
function typeHeldBy(found: string): MappedType | undefined {
  if (found.startsWith('character varying')) return 'text';
  return MAPPED_TYPES.get(found);
}

interface Inspected {
  /** The type of each column, by its name. */
  readonly types: ReadonlyMap<string, string>;
  readonly isOwner: boolean;
  /** Number of columns, including dropped ones, which count towards the maximum. */
  readonly used: number;
}

async function inspect(client: ClientBase, table: string): Promise<Inspected> {
  const { rows } = await client.query(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, pg_has_role(c.relowner, 'USAGE') AS owned, c.relnatts AS used
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped`,
    [table],
  );
  return {
    types: new Map(rows.map(({ name, type }) => [name, type])),
    isOwner: rows[0]?.owned === true,
    used: rows[0]?.used ?? 0,
  };
}
