import type { ClientBase, Connection, FieldDef, Submittable } from 'pg';
import type { Statement, Value } from './statement.ts';

/** A statement with the values of its parameters. */
export interface Asked<Row> {
  readonly sql: Statement<Row>;
  readonly values: readonly Value[];
}

/** What the server answered to a statement: its rows, the number of rows that it returned or wrote, and the command that it ran. */
export interface Answer {
  readonly rows: readonly unknown[];
  readonly count: number;
  readonly command: string;
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/** The parts of the driver's connection that a flight needs. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  /** The statements that the server has prepared, by name. The driver adds to them. */
  readonly parsedStatements: Readonly<Record<string, string>>;
  parse(statement: { readonly name: string; readonly text: string }): void;
  bind(values: { readonly statement: string; readonly values: readonly (string | Buffer | null)[] }): void;
  describe(portal: { readonly type: 'P' }): void;
  execute(portal: object): void;
  sync(): void;
}

/** The columns of the results of prepared statements, by connection and name. The server fails a statement rather than change them. */
const columnsOf = new WeakMap<Wire, Map<string, readonly Column[]>>();

/**
 * Sends several statements in one message, and returns the answers to all. Each is prepared once for each connection. The server runs none after one
 * that fails, for which this rejects. A COMMIT among them is therefore only run if all statements before it succeeded.
 */
export function fly(client: ClientBase, statements: readonly Asked<unknown>[]): Promise<readonly Answer[]> {
  return new Promise((resolve, reject) => {
    client.query(new Flight(client, statements, { resolve, reject }));
  });
}

interface Settle {
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: Error) => void;
}

/** A query of the driver that consists of several statements. The driver calls its methods as the server answers, statement by statement. */
class Flight implements Submittable {
  readonly #client: ClientBase;
  readonly #statements: readonly Asked<unknown>[];
  readonly #settle: Settle;
  readonly #answers: Answer[] = [];
  #rows: unknown[] = [];
  #known = new Map<string, readonly Column[]>();

  constructor(client: ClientBase, statements: readonly Asked<unknown>[], settle: Settle) {
    this.#client = client;
    this.#statements = statements;
    this.#settle = settle;
  }

  /** The name and text of the statement that the server answers. The driver notes that it is prepared. */
  get name(): string | undefined {
    return this.#statements[this.#answers.length]?.sql.name;
  }

  get text(): string | undefined {
    return this.#statements[this.#answers.length]?.sql.text;
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as Wire;
    this.#known = columnsOf.get(wire) ?? this.#known;
    columnsOf.set(wire, this.#known);
    const prepared = new Set<string>();
    wire.stream.cork();
    for (const { sql, values } of this.#statements) {
      const { name, text } = sql;
      if (wire.parsedStatements[name] === undefined && !prepared.has(name)) wire.parse({ name, text });
      prepared.add(name);
      wire.bind({ statement: name, values: values.map(parameter) });
      if (!this.#known.has(name)) wire.describe({ type: 'P' });
      wire.execute({});
    }
    wire.sync();
    wire.stream.uncork();
  }

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    const columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: this.#client.getTypeParser(dataTypeID, 'text'),
    }));
    this.#known.set(this.name ?? '', columns);
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: Record<string, unknown> = {};
    this.#known.get(this.name ?? '')?.forEach(({ name, parse }, index) => {
      const text = fields[index] ?? null;
      row[name] = text === null ? null : parse(text);
    });
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    if (!this.#known.has(this.name ?? '')) this.#known.set(this.name ?? '', []);
    const [command = '', ...counts] = text.split(' ');
    this.#answers.push({ rows: this.#rows, count: Number(counts.at(-1) ?? 0), command });
    this.#rows = [];
  }

  handleReadyForQuery(): void {
    this.#settle.resolve(this.#answers);
  }

  handleError(error: Error): void {
    this.#settle.reject(error);
  }
}

/** Returns a value in the form in which the server reads it. */
function parameter(value: Value): string | Buffer | null {
  if (value === null || typeof value === 'string' || Buffer.isBuffer(value)) return value;
  return Array.isArray(value) ? `{${value.map((one) => one ?? 'NULL').join(',')}}` : String(value);
}
