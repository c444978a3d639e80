/** A name that is ours to create and to spell in SQL: plain characters, short enough, not one of PostgreSQL's own. */
export function isSchemaName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name) && !/^(pg_|information_schema$)/i.test(name);
}

/** An identifier for use in SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
