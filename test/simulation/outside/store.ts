import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Judge } from '../../../src/leads/judgement.ts';
import type { Ledger } from '../../../src/ledger/contract/ledger.ts';
import { openLedger } from '../../../src/ledger/sqlite-ledger.ts';
import type { Clock, Random } from '../../../src/platform/time/clock.ts';
import type { Life } from '../life.ts';
import { SignsOfLife } from './signs-of-life.ts';

/** A RAM disk if there is one: a run writes thousands of small transactions. */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

let empty: Buffer | undefined;

/** Creates the empty ledger, once for all runs. */
function emptyLedger(parts: { clock: Clock; random: Random; judge: Judge }): Buffer {
  const folder = mkdtempSync(join(PLACE, 'leadsync-simulation-'));
  try {
    const file = join(folder, 'ledger.db');
    // Closed immediately, so that everything is in this one file.
    void openLedger({ file, create: true, ...parts }).close();
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface StoreParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly judge: Judge;
}

/** The data directory of a run: a real ledger in a real file, which outlives the simulated processes. */
export class Store {
  readonly #folder: string;
  /** The processes that work on the ledger. */
  readonly processes = new SignsOfLife();
  readonly #parts: StoreParts;
  readonly #connections = new Set<Connection>();
  #observer: Database.Database | undefined;
  #isFull = false;
  /** The number of writes that fail, and the number before them. */
  #failing: { after: number; times: number } | undefined;
  #isBusy = false;

  constructor(parts: StoreParts) {
    this.#parts = parts;
    this.#folder = mkdtempSync(join(PLACE, 'leadsync-simulation-'));
    empty ??= emptyLedger(parts);
    writeFileSync(this.#file, empty);
  }

  get #file(): string {
    return join(this.#folder, 'ledger.db');
  }

  /** Opens the ledger for a process. @throws LedgerError */
  open(life: Life, holder?: string): { ledger: Ledger; drop: () => void } {
    let connection: Connection | undefined;
    const connect = (file: string) => {
      connection = new Connection(file, life, {
        beforeWrite: () => this.#beforeWrite(),
        beforeBegin: () => this.#beforeBegin(),
      });
      if (this.#isFull) connection.fill();
      return connection.db;
    };
    const ledger = openLedger({
      ...this.#parts,
      file: this.#file,
      create: true,
      ...(holder ? { holder } : {}),
      connect,
    });
    const opened = connection as Connection | undefined;
    if (opened) this.#connections.add(opened);
    return {
      ledger,
      drop: () => {
        if (opened) this.#connections.delete(opened);
        opened?.drop();
      },
    };
  }

  /** Returns a connection that observes the ledger from outside. */
  get observer(): Database.Database {
    this.#observer ??= new Database(this.#file, { readonly: true });
    return this.#observer;
  }

  setFull(isFull: boolean): void {
    this.#isFull = isFull;
    for (const connection of this.#connections) isFull ? connection.fill() : connection.makeRoom();
  }

  /** Lets another process hold the write lock, or release it. */
  setBusy(isBusy: boolean): void {
    this.#isBusy = isBusy;
  }

  /** Makes `times` writes fail after `after` more statements. */
  failSome(after: number, times: number): void {
    this.#failing = { after, times };
  }

  heal(): void {
    this.setFull(false);
    this.#isBusy = false;
    this.#failing = undefined;
  }

  remove(): void {
    this.#observer?.close();
    for (const connection of this.#connections) connection.db.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #beforeBegin(): void {
    if (this.#isBusy) throw new Database.SqliteError('asked for', 'SQLITE_BUSY');
  }

  #beforeWrite(): void {
    const failing = this.#failing;
    if (!failing) return;
    if (failing.after > 0) {
      failing.after -= 1;
      return;
    }
    failing.times -= 1;
    if (failing.times <= 0) this.#failing = undefined;
    throw new Database.SqliteError('asked for', 'SQLITE_IOERR_WRITE');
  }
}

/** A process's connection to the ledger: fails on request, and writes nothing once the process is dead. */
class Connection {
  readonly db: Database.Database;
  readonly #before: Record<'begin' | 'write' | 'commit', () => void>;
  #isDropped = false;

  constructor(file: string, life: Life, faults: { beforeWrite: () => void; beforeBegin: () => void }) {
    this.db = new Database(file, { timeout: 0 });
    const live = () => {
      life.pass('write');
      if (this.#isDropped || life.isDead) throw new Error('the process has ended');
    };
    const write = () => {
      live();
      faults.beforeWrite();
    };
    const begin = () => {
      live();
      faults.beforeBegin();
    };
    this.#before = { begin, write, commit: write };
    this.#guard();
  }

  fill(): void {
    this.db.pragma(`max_page_count = ${this.db.pragma('page_count', { simple: true })}`);
  }

  makeRoom(): void {
    this.db.pragma('max_page_count = 1000000');
  }

  /**
   * Ends the connection as the end of its process would: what is not committed is lost. Closes it later, because a statement may be
   * running.
   */
  drop(): void {
    this.#isDropped = true;
    setImmediate(() => this.db.close());
  }

  #guard(): void {
    const { db } = this;
    const prepare = db.prepare.bind(db);
    const guarded = (sql: string) => {
      const statement = prepare(sql);
      const before = this.#before[kindOf(sql)];
      if (statement.readonly && kindOf(sql) === 'write') return statement;
      for (const name of ['run', 'get', 'all'] as const) {
        const method = statement[name].bind(statement);
        statement[name] = ((...values: unknown[]) => {
          before();
          return method(...values);
        }) as never;
      }
      return statement;
    };
    db.prepare = guarded as typeof db.prepare;
  }
}

function kindOf(sql: string): 'begin' | 'write' | 'commit' {
  if (sql.startsWith('BEGIN IMMEDIATE')) return 'begin';
  return sql.startsWith('COMMIT') ? 'commit' : 'write';
}
