import Database from 'better-sqlite3';

/** Returns the version of SQLite in better-sqlite3. */
export function sqliteVersion(): string {
  const db = new Database(':memory:');
  try {
    return String(db.prepare('SELECT sqlite_version()').pluck().get());
  } finally {
    db.close();
  }
}
