import type { QueryValues } from '../ledger/contract/ledger-tables.ts';

/** Matches a parameter `:name`, and before it whatever may contain text that only looks like one: strings, names, comments and casts. */
const TOKENS =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$|::|:([A-Za-z_]\w*)/g;

/**
 * Returns the SQL with `$1`, `$2`, … in place of each `:name`, and the names in the order of these numbers. A name without a value stays as it is. Spaces
 * pad each number to the length of its name, so that the positions of errors hold for the SQL that was typed.
 */
export function numberParameters(
  sql: string,
  values: QueryValues,
): { readonly sql: string; readonly names: readonly string[] } {
  const names: string[] = [];
  const numbered = sql.replaceAll(TOKENS, (token, _tag, name?: string) => {
    if (name === undefined || !Object.hasOwn(values, name)) return token;
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`.padEnd(token.length);
  });
  return { sql: numbered, names };
}
