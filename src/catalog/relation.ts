/**
 * The type of a column, which is the same in every store. SQLite stores times as `YYYY-MM-DDTHH:MM:SS.sssZ`, and true and false as 1 and 0.
 */
export type ColumnType =
  | 'text'
  | 'bigint'
  | 'integer'
  | 'double'
  | 'boolean'
  | 'time'
  | 'day'
  | 'json'
  | 'jsonb';

/** A column of the synced store. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** The comment that tools show: one plain sentence. */
  readonly means: string;
  /** Whether the column is never null. */
  readonly required: boolean;
  /** The possible values, if the column can have only a few. */
  readonly values?: readonly string[];
  /** Whether the column may contain personal data. An erasure searches such columns. */
  readonly personal?: boolean;
}

/** A table or view of the synced store, with the same name and columns in every store. */
export interface Relation {
  readonly name: string;
  readonly kind: 'table' | 'view';
  /** What one row represents. */
  readonly grain: string;
  /** The columns that identify a row; empty if none do. */
  readonly key: readonly string[];
  /** What a reader of the relation must know. */
  readonly notes: string;
  readonly columns: readonly Column[];
}

/** Returns the comment on the relation as a whole. */
export function commentOf({ grain, key, notes }: Relation): string {
  const named = key.length === 0 ? '' : ` Key: ${key.join(', ')}.`;
  return `One row per ${grain}.${named}${notes === '' ? '' : ` ${notes}`}`;
}

/** Returns a column that is never null. */
export function always(name: string, type: ColumnType, means: string): Column {
  return { name, type, means, required: true };
}

/** Returns a text column that is never null and always has one of these values. */
export function oneOf(name: string, values: readonly string[], means: string): Column {
  return { ...always(name, 'text', means), values };
}

/** Returns a column that may be null. */
export function maybe(name: string, type: ColumnType, means: string): Column {
  return { name, type, means, required: false };
}

/** Returns a copy of the column that is marked as possibly containing personal data. Appends `says` to its comment. */
export function personal(column: Column, says = 'Personal data.'): Column {
  return { ...column, means: `${column.means} ${says}`, personal: true };
}
