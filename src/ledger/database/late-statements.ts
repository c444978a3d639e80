import type Database from 'better-sqlite3';

type Statement = Database.Statement;

/**
 * Returns the same connection with a `prepare` that compiles a statement when it is first executed. A ledger has about 250 statements, and a
 * command such as `status` executes a dozen. An error in a statement is therefore thrown when it is executed.
 */
export function compilingLate(db: Database.Database): Database.Database {
  return Object.create(db, { prepare: { value: (sql: string) => new LateStatement(() => db.prepare(sql)) } });
}

/** A statement that is compiled when it is first executed. Has the methods of a `Statement` that the ledger uses. */
class LateStatement {
  readonly #compile: () => Statement;
  readonly #settings: ((statement: Statement) => void)[] = [];
  #compiled: Statement | undefined;

  constructor(compile: () => Statement) {
    this.#compile = compile;
  }

  pluck(): this {
    return this.#set((statement) => statement.pluck());
  }

  raw(): this {
    return this.#set((statement) => statement.raw());
  }

  safeIntegers(): this {
    return this.#set((statement) => statement.safeIntegers());
  }

  get(...values: unknown[]): unknown {
    return this.#statement().get(...values);
  }

  all(...values: unknown[]): unknown[] {
    return this.#statement().all(...values);
  }

  run(...values: unknown[]): Database.RunResult {
    return this.#statement().run(...values);
  }

  iterate(...values: unknown[]): IterableIterator<unknown> {
    return this.#statement().iterate(...values);
  }

  columns(): Database.ColumnDefinition[] {
    return this.#statement().columns();
  }

  #set(setting: (statement: Statement) => void): this {
    this.#settings.push(setting);
    return this;
  }

  #statement(): Statement {
    if (this.#compiled) return this.#compiled;
    const statement = this.#compile();
    for (const setting of this.#settings) setting(statement);
    this.#compiled = statement;
    return statement;
  }
}
