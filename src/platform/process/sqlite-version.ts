import Database from 'better-sqlite3';

/** Returns the version of the SQLite that is compiled into leadsync. */
export function sqliteVersion(): string {
  const db = new Database(':memory:');
  try {
    return String(db.prepare('SELECT sqlite_version()').pluck().get());
  } finally {
    db.close();
  }
}
