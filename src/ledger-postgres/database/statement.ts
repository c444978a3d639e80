import { arrayParameter } from '../../postgres/array-parameter.ts';

/** A statement that PostgreSQL prepares once for each connection. `Row` is the type of its rows. */
export interface Statement<Row> {
  /** Unique among all statements, because it names the prepared statement. */
  readonly name: string;
  readonly text: string;
  /** Never set; it only carries the type of the rows. */
  readonly row?: Row;
}

/** The text of every statement, by name. */
export const statementTexts = new Map<string, string>();

/** Returns a statement. Throws if another one has its name. */
export function statement<Row = never>(name: string, text: string): Statement<Row> {
  if ((statementTexts.get(name) ?? text) !== text) throw new Error(`two statements are named ${name}`);
  statementTexts.set(name, text);
  return { name, text };
}

/** The value of a parameter. Arrays of text are passed with `texts`. */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | Buffer
  | readonly (number | bigint | boolean | null)[];

/** Returns texts as a parameter for `$1::text[]`. */
export function texts(values: readonly (string | null | undefined)[]): Buffer | string {
  return arrayParameter(
    'text',
    values.map((value) => value ?? null),
  );
}
