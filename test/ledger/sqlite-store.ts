import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { ledgerOf } from '../../src/ledger/ledger-from-engine.ts';
import { openEngine, openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { engineProxy } from '../../src/ledger/thread/engine-proxy.ts';
import { serveCalls } from '../../src/ledger/thread/serve-engine.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import type { OpenLedger } from './ledger-under-test.ts';

/** Opens ledgers on one SQLite file, which is removed with the running test. */
export function sqliteStore(file = join(tempDir(), 'ledger.db')): OpenLedger {
  return (parts) => {
    const ledger = openLedger({ ...parts, file, create: true });
    onTestFinished(() => ledger.close());
    return ledger;
  };
}

/** Does the same with messages, as for a ledger in a thread, but in this thread, where the test controls its clock. */
export function askedStore(file = join(tempDir(), 'ledger.db')): OpenLedger {
  return (parts) => {
    const engine = openEngine({ ...parts, file, create: true });
    const { port1, port2 } = new MessageChannel();
    serveCalls(engine, port2);
    const ledger = ledgerOf(
      engineProxy(port1, engine, async () => port1.close()),
      { file, clock: parts.clock },
    );
    onTestFinished(() => ledger.close());
    return ledger;
  };
}

/** A ledger's file, its only ledger, and faults from outside. */
export class SqliteFile {
  readonly file = join(tempDir(), 'ledger.db');
  readonly #onConnect: (db: Database.Database) => void;

  /** Calls `onConnect` with the ledger's connection before the ledger uses it. */
  constructor(onConnect: (db: Database.Database) => void = () => undefined) {
    this.#onConnect = onConnect;
  }

  readonly open: OpenLedger = (parts) => {
    const connect = (file: string) => {
      this.#connection = new Database(file);
      this.#onConnect(this.#connection);
      return this.#connection;
    };
    const ledger = openLedger({ ...parts, file: this.file, create: true, connect });
    onTestFinished(() => ledger.close());
    return ledger;
  };
  #connection: Database.Database | undefined;

  /** The ledger's own connection. */
  get connection(): Database.Database {
    if (!this.#connection) throw new Error('the ledger was not opened yet');
    return this.#connection;
  }

  /** Prevents the file from growing, after using all its free pages. */
  fill(): void {
    const pages = this.connection.pragma('page_count', { simple: true });
    this.connection.pragma(`max_page_count = ${pages}`);
  }

  makeRoom(): void {
    this.connection.pragma('max_page_count = 1000000');
  }

  /** Opens another process's connection, calls `use` and closes it. */
  other<T>(use: (db: Database.Database) => T): T {
    const db = new Database(this.file);
    try {
      return use(db);
    } finally {
      db.close();
    }
  }

  /** Returns everything in the private tables, for comparison. */
  contents(): Record<string, unknown[]> {
    return this.other((db) => {
      const tables = db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        .pluck();
      return Object.fromEntries(
        (tables.all() as string[]).map((name) => [name, db.prepare(`SELECT * FROM ${name}`).all()]),
      );
    });
  }
}
