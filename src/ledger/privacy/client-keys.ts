import { createHmac } from 'node:crypto';
import type Database from 'better-sqlite3';
import { normalisedEmail, normalisedPhone } from '../../leads/contact.ts';
import type { Lead } from '../../leads/lead.ts';
import type { Clock } from '../../platform/time/clock.ts';

/** So many leads are keyed in one transaction. */
const AT_ONCE = 250;
/** And fewer where they are megabytes long. */
const CHARACTERS_AT_ONCE = 4_000_000;

interface VersionRow {
  version_no: number;
  source: string;
  id: bigint;
  created_at: bigint | null;
  raw: string;
}

/**
 * Gives the leads of one client one key, by which they can be counted without knowing who it is. Behind the recording of
 * leads and not in it, so that it costs a poll nothing and a key that is configured later holds for every lead.
 */
export class ClientKeys {
  readonly #clock: Clock;
  readonly #sql;

  constructor(db: Database.Database, clock: Clock) {
    this.#clock = clock;
    this.#sql = prepare(db);
  }

  /** Keys some of the leads that are not keyed yet, inside the caller's transaction. Gives true when none is left. */
  keySome(secret: string | undefined): boolean {
    const fingerprint = secret === undefined ? null : keyed(secret, 'fingerprint');
    if (this.#sql.keyedWith.get() !== fingerprint) this.#begin(fingerprint);
    if (secret === undefined) return true;
    const rows = this.#someVersions();
    const now = this.#clock.now().getTime();
    for (const { source, id, created_at, raw } of rows) {
      const client = clientOf(JSON.parse(raw));
      const key = client === undefined ? '' : keyed(secret, client);
      this.#sql.put.run(source, id, created_at, key, now);
    }
    const last = rows.at(-1);
    if (last) this.#sql.advance.run(last.version_no);
    return rows.length === 0;
  }

  /** Whether there is something to do: asked often, so it takes no transaction that writes. */
  isBehind(secret: string | undefined): boolean {
    const fingerprint = secret === undefined ? null : keyed(secret, 'fingerprint');
    if (this.#sql.keyedWith.get() !== fingerprint) return true;
    return secret !== undefined && this.#sql.isBehind.get() === 1n;
  }

  #someVersions(): VersionRow[] {
    const rows: VersionRow[] = [];
    let characters = 0;
    for (const row of this.#sql.after.iterate(AT_ONCE)) {
      rows.push(row);
      characters += row.raw.length;
      if (characters > CHARACTERS_AT_ONCE) break;
    }
    return rows;
  }

  #begin(fingerprint: string | null): void {
    this.#sql.clear.run();
    this.#sql.begin.run(fingerprint);
  }
}

/** What tells clients apart: the email address, else the phone number, as far as spelling makes no difference. */
function clientOf({ client_email, client_phone_number }: Partial<Lead>): string | undefined {
  const email = normalisedEmail(client_email);
  if (email !== '') return `email:${email}`;
  const digits = normalisedPhone(client_phone_number);
  return digits === '' ? undefined : `phone:${digits}`;
}

/** The first 128 bits of an HMAC-SHA-256 (RFC 2104), in hexadecimal. */
function keyed(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex').slice(0, 32);
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
    // Of a lead with several contents each is keyed in its turn, and the current one last.
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
