/** Returns an identifier quoted for SQL. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** Returns text as a string literal, for statements that take no parameters, such as those that create tables. */
export function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** Returns `(?, ?, …)` for each row, separated by commas. */
export function placeholders(rows: number, columns: number): string {
  const row = `(${Array(columns).fill('?').join(', ')})`;
  return Array(rows).fill(row).join(', ');
}
