import type Database from 'better-sqlite3';
import type { Clock } from '../../platform/time/clock.ts';
import { clientKeyOf, fingerprintOf, KEYED_CHARACTERS, KEYED_ROWS } from '../rules/privacy/client-keys.ts';

interface VersionRow {
  version_no: number;
  source: string;
  id: bigint;
  created_at: bigint | null;
  raw: string;
}

/**
 * Computes the client keys of leads. Leads of the same client have the same key, which does not reveal the client. Runs after leads are
 * recorded, so that it does not slow down polls and so that a secret that is configured later applies to every lead.
 */
export class ClientKeys {
  readonly #clock: Clock;
  readonly #sql;

  constructor(db: Database.Database, clock: Clock) {
    this.#clock = clock;
    this.#sql = prepare(db);
  }

  /**
   * Computes the keys of one chunk of the leads that have no key yet, inside the caller's transaction. If the secret has changed, first
   * removes all keys. Returns true if no lead is left.
   */
  keySome(secret: string | undefined): boolean {
    const fingerprint = fingerprintOf(secret);
    if (this.#sql.keyedWith.get() !== fingerprint) this.#begin(fingerprint);
    if (secret === undefined) return true;
    const rows = this.#someVersions();
    const now = this.#clock.now().getTime();
    for (const { source, id, created_at, raw } of rows)
      this.#sql.put.run(source, id, created_at, clientKeyOf(secret, raw), now);
    const last = rows.at(-1);
    if (last) this.#sql.advance.run(last.version_no);
    return rows.length === 0;
  }

  /** Whether keys must be computed or removed. Only reads, because it is called too often to take the write lock. */
  isBehind(secret: string | undefined): boolean {
    const fingerprint = fingerprintOf(secret);
    if (this.#sql.keyedWith.get() !== fingerprint) return true;
    return secret !== undefined && this.#sql.isBehind.get() === 1n;
  }

  #someVersions(): VersionRow[] {
    const rows: VersionRow[] = [];
    let characters = 0;
    for (const row of this.#sql.after.iterate(KEYED_ROWS)) {
      rows.push(row);
      characters += row.raw.length;
      if (characters > KEYED_CHARACTERS) break;
    }
    return rows;
  }

  #begin(fingerprint: string | null): void {
    this.#sql.clear.run();
    this.#sql.begin.run(fingerprint);
  }
}

function prepare(db: Database.Database) {
  return {
    keyedWith: db.prepare<[], string | null>('SELECT keyed_with FROM _ledger').pluck(),
    clear: db.prepare('DELETE FROM _client_keys'),
    begin: db.prepare('UPDATE _ledger SET keyed_with = ?, keyed_through = 0'),
    isBehind: db
      .prepare<[], bigint>(
        'SELECT coalesce(max(version_no), 0) > (SELECT keyed_through FROM _ledger) FROM _versions',
      )
      .pluck()
      .safeIntegers(),
    // Computes the key of every version of a lead in turn. The key of the current version comes last and replaces the others.
    after: db
      .prepare<[number], VersionRow>(
        `SELECT version_no, source, id, created_at, raw FROM _versions
        WHERE version_no > (SELECT keyed_through FROM _ledger) ORDER BY version_no LIMIT ?`,
      )
      .safeIntegers(),
    put: db.prepare(
      'INSERT OR REPLACE INTO _client_keys (source, id, created_at, client_key, keyed_at) VALUES (?, ?, ?, ?, ?)',
    ),
    advance: db.prepare('UPDATE _ledger SET keyed_through = ?'),
  };
}
