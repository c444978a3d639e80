/** What a column holds, the same in every store: SQLite writes times as `YYYY-MM-DDTHH:MM:SS.sssZ`, and true and false as 1 and 0. */
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
  /** One plain sentence: the comment that tools show. */
  readonly means: string;
  /** Never null. */
  readonly required: boolean;
  /** All that it can be, where that is a few words. */
  readonly values?: readonly string[];
  /** It can hold something of a person: an erasure looks for them where it is. */
  readonly personal?: boolean;
}

/** A table or view of the synced store, by the same name and with the same columns wherever it is. */
export interface Relation {
  readonly name: string;
  readonly kind: 'table' | 'view';
  /** What one row stands for. */
  readonly grain: string;
  /** The columns that name a row; empty where nothing does. */
  readonly key: readonly string[];
  /** What has to be known to read it right. */
  readonly notes: string;
  readonly columns: readonly Column[];
}

/** The comment on the relation as a whole. */
export function commentOf({ grain, key, notes }: Relation): string {
  const named = key.length === 0 ? '' : ` Key: ${key.join(', ')}.`;
  return `One row per ${grain}.${named}${notes === '' ? '' : ` ${notes}`}`;
}

/** A column that is never null. */
export function always(name: string, type: ColumnType, means: string): Column {
  return { name, type, means, required: true };
}

/** A text that is never null, and always one of these words. */
export function oneOf(name: string, values: readonly string[], means: string): Column {
  return { ...always(name, 'text', means), values };
}

/** A column that may be null. */
export function maybe(name: string, type: ColumnType, means: string): Column {
  return { name, type, means, required: false };
}

/** A column that can hold something of a person, which its comment says. */
export function personal(column: Column, says = 'Personal data.'): Column {
  return { ...column, means: `${column.means} ${says}`, personal: true };
}
