import type { MappedType } from '../../../leads/mapped-fields.ts';
import type { DestinationField } from '../../destination-parts.ts';
import { SinkUnavailable } from '../../sink-unavailable.ts';
import { type Field, type FieldColumns, isWider } from '../../table/table-fields.ts';
import type { Session } from '../connection/session.ts';
import { columnsOf, type FoundColumn } from '../schema/inspect.ts';
import type { OwnTable } from '../schema/own-tables.ts';
import { leadColumns } from '../schema/table-columns.ts';
import { quoted } from '../sql/identifier.ts';

/** The type of the column that leadsync adds for a field. */
const TYPES: Readonly<Record<MappedType, string>> = {
  text: 'longtext CHARACTER SET utf8mb4',
  bigint: 'bigint',
  double: 'double',
  boolean: 'boolean',
  time: 'datetime(6)',
  json: 'json',
};

/** Column types, as the server spells them, with the type of field that they can hold. Older servers add the display width of a number. */
const HOLDERS: readonly (readonly [RegExp, MappedType])[] = [
  [/^tinyint\(1\)$/, 'boolean'],
  [/^bigint(\(\d+\))?$/, 'bigint'],
  [/^double$/, 'double'],
  [/^datetime\(6\)$/, 'time'],
  [/^json$/, 'json'],
  [/^(tiny|medium|long)?text$|^varchar\(/, 'text'],
];

/** Maximum length of a column's name (MySQL manual, "Identifier Length Limits"). */
const MAX_NAME = 64;
/** Names that InnoDB reserves (MySQL manual, "InnoDB Limits", and "InnoDB Full-Text Indexes"). */
const RESERVED: ReadonlySet<string> = new Set(['db_row_id', 'db_trx_id', 'db_roll_ptr', 'fts_doc_id']);

/** Returns why a field cannot be a column of `leads`, as a phrase; undefined if it can. MySQL ignores case in column names. */
export function fieldFault(name: string): string | undefined {
  const key = name.toLowerCase();
  if (Object.hasOwn(leadColumns, key)) return 'is a column that leadsync writes itself';
  if (RESERVED.has(key)) return 'is a column that MySQL keeps for itself';
  if ([...name].length > MAX_NAME) return `is longer than ${MAX_NAME} characters`;
  if (/[\u{10000}-\u{10ffff}]/u.test(name))
    return 'has a character that MySQL does not allow in the name of a column';
  return undefined;
}

/**
 * Adds a column to `leads` for each field that has none, and returns the columns of all fields. Never drops or changes a column.
 * @throws SinkUnavailable if a column cannot hold its field, or the error from the server
 */
export async function addColumns(
  session: Session,
  leads: OwnTable,
  fields: readonly Field[],
): Promise<FieldColumns> {
  requireDistinct(fields);
  let found = await columnsOf(session, leads);
  const missing = withoutColumn(fields, found);
  if (missing.length > 0) {
    await addMissing(session, leads, missing);
    // Another process may have added one of them first, with another type.
    found = await columnsOf(session, leads);
  }
  return heldBy(leads, fields, found);
}

/** Error numbers: the column already exists, and a right is missing. */
const COLUMN_EXISTS = 1060;
const NO_RIGHT = 1142;

async function addMissing(session: Session, leads: OwnTable, missing: readonly Field[]): Promise<void> {
  try {
    await session.define(addStatement(leads, missing));
  } catch (error) {
    if (numberOf(error) === NO_RIGHT) throw needsOwner(leads, missing);
    if (numberOf(error) !== COLUMN_EXISTS) throw error;
    // Another process is adding the columns of the same mapping.
    const left = withoutColumn(missing, await columnsOf(session, leads));
    if (left.length === missing.length) throw error;
    if (left.length > 0) await addMissing(session, leads, left);
  }
}

/**
 * Verifies that every field has a column that can hold it, or that this user may add one. Changes nothing.
 * @throws SinkUnavailable, or the error from the server
 */
export async function checkColumns(
  session: Session,
  leads: OwnTable,
  fields: readonly Field[],
): Promise<void> {
  requireDistinct(fields);
  const found = await columnsOf(session, leads);
  const missing = withoutColumn(fields, found);
  // An ALTER TABLE without changes verifies the right to alter the table.
  if (missing.length > 0)
    await session.define(`ALTER TABLE ${leads.sql}`).catch((error: unknown) => {
      throw numberOf(error) === NO_RIGHT ? needsOwner(leads, missing) : error;
    });
  heldBy(
    leads,
    fields.filter((field) => !missing.includes(field)),
    found,
  );
}

function numberOf(error: unknown): unknown {
  return error instanceof Error && 'errno' in error ? error.errno : undefined;
}

function needsOwner(leads: OwnTable, missing: readonly Field[]): SinkUnavailable {
  return new SinkUnavailable(
    `${leads.sql} lacks columns for fields, and this user may not add columns to it.`,
    {
      hint: `Run as an administrator: ${addStatement(leads, missing)}`,
    },
  );
}

/** A field without a column. */
export interface MissingColumn {
  readonly field: Field;
  /** The column, as a phrase. */
  readonly what: string;
  /** The statement that adds it. */
  readonly how: string;
}

/** Returns the fields that have no column. If the table does not exist, returns all fields. */
export async function missingColumns(
  session: Session,
  leads: OwnTable,
  fields: readonly Field[],
): Promise<readonly MissingColumn[]> {
  return withoutColumn(fields, await columnsOf(session, leads)).map((field) => ({
    field,
    what: `column ${quoted(field.name)} of ${leads.sql} (${typeName(field.fitting)})`,
    how: `${addStatement(leads, [field])};\n`,
  }));
}

/** Returns the columns of `leads`. `writable` are those that leadsync does not write itself and whose type can hold a field. */
export async function columnsOfLeads(
  session: Session,
  leads: OwnTable,
): Promise<readonly DestinationField[]> {
  return (await columnsOf(session, leads)).map(({ name, key, type }) => ({
    name,
    type,
    writable:
      !key.startsWith('_leadsync_') && fieldFault(name) === undefined && typeHeldBy(type) !== undefined,
    required: false,
  }));
}

/** Returns the statement that adds the columns of fields. */
function addStatement({ sql }: OwnTable, missing: readonly Field[]): string {
  const columns = missing.map(
    ({ name, fitting }) =>
      `ADD COLUMN ${quoted(name)} ${TYPES[fitting]} COMMENT 'A field of the mapping in the configuration of leadsync.'`,
  );
  return `ALTER TABLE ${sql} ${columns.join(', ')}`;
}

/** Returns the name of a type without its character set. */
function typeName(type: MappedType): string {
  return TYPES[type].split(' ')[0] ?? '';
}

function withoutColumn(fields: readonly Field[], found: readonly FoundColumn[]): Field[] {
  const keys = new Set(found.map(({ key }) => key));
  return fields.filter(({ name }) => !keys.has(name.toLowerCase()));
}

/** @throws SinkUnavailable if two fields would have the same column */
function requireDistinct(fields: readonly Field[]): void {
  const byKey = Map.groupBy(fields, ({ name }) => name.toLowerCase());
  const same = [...byKey.values()].find(({ length }) => length > 1);
  if (same === undefined) return;
  throw new SinkUnavailable(
    `The fields ${same.map(({ name }) => `\`${name}\``).join(' and ')} are one column to MySQL.`,
    {
      hint: 'Give one of them another name, because MySQL ignores case in column names.',
    },
  );
}

/** Returns the type of the values in the column of each field. @throws SinkUnavailable if a column cannot hold its field */
function heldBy(leads: OwnTable, fields: readonly Field[], found: readonly FoundColumn[]): FieldColumns {
  const types = new Map(found.map(({ key, type }) => [key, type]));
  return new Map(
    fields.map((field) => [field.name, requireType(leads, field, types.get(field.name.toLowerCase()))]),
  );
}

function requireType({ sql }: OwnTable, { name, type }: Field, found = ''): MappedType {
  const held = typeHeldBy(found);
  if (held !== undefined && (type === undefined || held === type || held === 'text' || isWider(held, type)))
    return held;
  throw new SinkUnavailable(
    `The column ${quoted(name)} of ${sql} has the type ${found}, but its field has the type ${typeName(type ?? 'text')}.`,
    {
      hint: `Give the field another name, or make the column text, which holds every value: ALTER TABLE ${sql} MODIFY ${quoted(name)} ${TYPES.text}`,
    },
  );
}

/** Returns the type of the values that a column can hold; undefined for a type to which leadsync writes no fields. */
function typeHeldBy(found: string): MappedType | undefined {
  return HOLDERS.find(([pattern]) => pattern.test(found))?.[1];
}
