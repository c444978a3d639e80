import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { LedgerConfig } from '../../../src/config/contract/config.ts';
import { type CopyParts, copyLedger, type Engine } from '../../../src/operations/copying/copy-ledger.ts';
import { Secret } from '../../../src/platform/options/secret.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { eventfulLedger } from '../../catalog/eventful-store.ts';
import { SqliteFile } from '../../ledger/sqlite-store.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { requireDatabaseUrl, uniqueName } from '../../support/servers/services.ts';

/** An installation whose ledger has been through everything, and an empty schema that its configuration names. */
export class Installation {
  readonly folder = tempDir();
  readonly dataDir = join(this.folder, 'data');
  readonly file = join(this.dataDir, 'ledger.db');
  readonly schema = uniqueName('ledger');
  readonly url = requireDatabaseUrl();
  readonly admin = new pg.Pool({ connectionString: this.url, max: 1, allowExitOnIdle: true });
  readonly config: LedgerConfig;

  constructor() {
    mkdirSync(this.dataDir, { recursive: true });
    const server = { url: new Secret(this.url), schema: this.schema, connections: 2 };
    this.config = { dataDir: this.dataDir, ledgerServer: server, sinks: [] } as unknown as LedgerConfig;
    onTestFinished(async () => {
      await this.admin.query(`DROP SCHEMA IF EXISTS ${this.schema} CASCADE`);
      await this.admin.end();
    });
  }

  /** Returns an installation with the ledger of `eventfulLedger`. */
  static async eventful(): Promise<Installation> {
    const made = new Installation();
    const disk = new SqliteFile();
    await eventfulLedger(disk.open);
    const db = new Database(disk.file);
    db.prepare('VACUUM INTO ?').run(made.file);
    db.close();
    return made;
  }

  copy(from: Engine, parts: Partial<CopyParts> & { readonly dryRun?: boolean } = {}) {
    const { dryRun = false, ...rest } = parts;
    const signal = new AbortController().signal;
    return copyLedger(
      this.config,
      { from, dryRun },
      { clock: systemClock, random: Math.random, signal, ...rest },
    );
  }

  /** Runs SQL on the ledger in SQLite. */
  sql(...statements: string[]): void {
    const db = new Database(this.file);
    for (const statement of statements) db.exec(statement);
    db.close();
  }

  removeFile(): void {
    for (const end of ['', '-wal', '-shm']) rmSync(`${this.file}${end}`, { force: true });
  }

  /** Returns everything that the ledger in SQLite has, by table, read without the code that copies. */
  contents(): Record<string, unknown[]> {
    if (!existsSync(this.file)) return {};
    const db = new Database(this.file, { readonly: true });
    const names = db
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('sqlite_stat1', '_moved') ORDER BY name",
      )
      .pluck()
      .all() as string[];
    const found = names.map((name) => {
      const rows = db.prepare(`SELECT * FROM ${name}`).safeIntegers().all() as Record<string, unknown>[];
      return [name, rows.map(withoutOwn).map(printRow).sort()] as const;
    });
    db.close();
    return Object.fromEntries(found);
  }
}

/** Leaves out what a copy has of its own: the id and the file of the ledger, the latest time that it knows, and the numbers of keys for mirrors. */
function withoutOwn({ key_no, ...row }: Record<string, unknown>): Record<string, unknown> {
  if (row['name'] === '_client_keys' && 'seq' in row) return {};
  if (!('clock_at' in row)) return row;
  const { id, file, clock_at, ...ledger } = row;
  return ledger;
}

function printRow(row: Record<string, unknown>): string {
  return JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
}
