/** Whether leadsync can create a schema with this name: up to 63 letters, digits or _, no digit first, and not reserved by PostgreSQL. */
export function isSchemaName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name) && !/^(pg_|information_schema$)/i.test(name);
}

/** Returns an identifier quoted for SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
