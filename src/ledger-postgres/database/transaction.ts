import type { PoolClient } from 'pg';
import type { DeliveryState } from '../../leads/delivery.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { type Answer, type Asked, fly } from './flight.ts';
import { type Statement, statement, type Value } from './statement.ts';

/**
 * Is called before each statement of a transaction with the statement's name. Tests use it to stop a transaction between two statements, each of which is
 * then a flight of its own.
 */
export type BeforeStatement = (name: string) => Promise<void> | undefined;

/** Is thrown by a transaction that turns out to need the owing lock, which has to be taken first. */
export class NeedsOwingLock extends Error {
  override readonly name = 'NeedsOwingLock';
}

/** Is thrown by a transaction that would have to take locks out of their order. It is run again from its beginning, as after a deadlock. */
export class LocksChanged extends Error {
  override readonly name = 'LocksChanged';
  readonly severity = 'ERROR';
  /** The SQLSTATE of a serialization failure. */
  readonly code = '40001';
}

/** How a transaction began. */
interface Begun {
  /** The time of the ledger, in ms since 1970. */
  readonly now: number;
  /** Whether the transaction has the owing lock. */
  readonly owes: boolean;
  readonly history: string;
  /** What the server has answered to statements that were sent with the beginning. */
  readonly answers: ReadonlyMap<Asked<unknown>, Answer>;
}

/** A statement that has to be sent, and the call that waits for its answer. */
interface Waiting {
  readonly asked: Asked<unknown>;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

type Counts = Record<DeliveryState, number> & { deliveredAt: number | null };

/**
 * A transaction that is open on one connection. To prevent deadlocks, all transactions take their locks in this order: the owing lock, the lock of
 * the clock, the row of the ledger, sources, batches, sinks, deliveries, counts; and rows of the same kind in the order of their names or numbers. A
 * claim skips what others have locked. If a claim creates a batch for deliveries before they are locked, the batch is locked after them, without
 * waiting. A settlement that owes newer contents has to lock the batches of their leads after its own; if that ends in a deadlock, it is run again.
 */
export class Transaction {
  /** The time of the ledger when the transaction began and had its locks, in ms since 1970. */
  readonly now: number;
  /** Names the history of the server (see sessions.ts). What a transaction of another history has found may not be what this one finds. */
  readonly history: string;
  readonly #owes: boolean;
  readonly #client: PoolClient;
  readonly #before: BeforeStatement | undefined;
  readonly #answers: ReadonlyMap<Asked<unknown>, Answer>;
  readonly #counts = new Map<number, Counts>();
  /** Statements that go with the next flight, because nothing waits for their answers. */
  readonly #later: Asked<unknown>[] = [];
  readonly #waiting: Waiting[] = [];
  #isFlying = false;
  #hasWritten: boolean;

  constructor(
    client: PoolClient,
    { now, owes, history, answers }: Begun,
    before: BeforeStatement | undefined,
  ) {
    this.#client = client;
    this.now = now;
    this.history = history;
    this.#owes = owes;
    this.#answers = answers;
    this.#before = before;
    this.#hasWritten = [...answers.values()].some(hasWritten);
  }

  /** Must be called before the transaction records anything as owed. If it has no owing lock, it is run again from its beginning, with the lock. */
  requireOwingLock(): void {
    if (!this.#owes) throw new NeedsOwingLock('the transaction needs the owing lock');
  }

  /** Must be called before the transaction relies on row numbers that another one has found. @throws LedgerError if a failover came in between */
  requireHistory(found: string): void {
    if (found !== this.history)
      throw new LedgerError(
        'away',
        'Another server took over the ledger while leadsync was working on this.',
        'Try again.',
      );
  }

  /** Runs a statement and returns its rows. Statements that are run in one turn of the event loop go in one flight. */
  async rows<Row>(sql: Statement<Row>, values: readonly Value[] = []): Promise<Row[]> {
    return (await this.#query({ sql, values })).rows as Row[];
  }

  /** Runs a statement and returns its first row. */
  async first<Row>(sql: Statement<Row>, values: readonly Value[] = []): Promise<Row | undefined> {
    return (await this.rows(sql, values))[0];
  }

  /** Runs a statement and returns how many rows it wrote. */
  async run(sql: Statement<unknown>, values: readonly Value[] = []): Promise<number> {
    return (await this.#query({ sql, values })).count;
  }

  /** Returns the rows of a statement that was sent with the beginning of the transaction. Runs it if it was not. */
  async answer<Row>(asked: Asked<Row>): Promise<Row[]> {
    return (this.#answers.get(asked) ?? (await this.#query(asked))).rows as Row[];
  }

  /** Runs a statement before the next one or, if there is none, before the commit. If it fails, they do. */
  later(sql: Statement<unknown>, values: readonly Value[] = []): void {
    this.#later.push({ sql, values });
  }

  #query(asked: Asked<unknown>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const ignore = () => undefined;
      for (const one of this.#later.splice(0))
        this.#waiting.push({ asked: one, resolve: ignore, reject: ignore });
      this.#waiting.push({ asked, resolve, reject });
      if (this.#isFlying) return;
      this.#isFlying = true;
      queueMicrotask(() => void this.#flyAll());
    });
  }

  async #flyAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const some = this.#waiting.splice(0);
      try {
        const answers = await this.#fly(some.map(({ asked }) => asked));
        for (const [index, { resolve }] of some.entries()) resolve(answers[index] as Answer);
      } catch (error) {
        for (const { reject } of some) reject(error);
      }
    }
    this.#isFlying = false;
  }

  async #fly(statements: readonly Asked<unknown>[]): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    if (!this.#before) answers.push(...(await fly(this.#client, statements)));
    else
      for (const asked of statements) {
        await this.#before(asked.sql.name);
        answers.push(...(await fly(this.#client, [asked])));
      }
    this.#hasWritten ||= answers.some(hasWritten);
    return answers;
  }

  /** Whether any statement has changed a row, or may do so with the commit. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Adds to the number of deliveries of a sink in a state. `deliveries` is negative if deliveries left the state. */
  count(sinkNo: number, state: DeliveryState, deliveries: number): void {
    this.#countsOf(sinkNo)[state] += deliveries;
  }

  /** Records that a sink's deliveries were delivered now. */
  countDelivered(sinkNo: number): void {
    this.#countsOf(sinkNo).deliveredAt = this.now;
  }

  #countsOf(sinkNo: number): Counts {
    const counts = this.#counts.get(sinkNo) ?? {
      pending: 0,
      delivered: 0,
      dead: 0,
      skipped: 0,
      deliveredAt: null,
    };
    this.#counts.set(sinkNo, counts);
    return counts;
  }

  /** Ends the work of the transaction, with what was counted. Returns the statements that have to be sent with the commit. */
  async end(): Promise<readonly Asked<unknown>[]> {
    this.#addCounts();
    const last = this.#later.splice(0);
    if (last.length === 0) return last;
    this.#hasWritten = true;
    if (!this.#before) return last;
    await this.#fly(last);
    return [];
  }

  #addCounts(): void {
    const changed = [...this.#counts].filter(
      ([, { deliveredAt, ...counts }]) =>
        deliveredAt !== null || Object.values(counts).some((count) => count !== 0),
    );
    if (changed.length === 0) return;
    const of = (state: DeliveryState) => changed.map(([, counts]) => counts[state]);
    this.later(ADD_COUNTS, [
      changed.map(([sinkNo]) => sinkNo),
      of('pending'),
      of('delivered'),
      of('dead'),
      of('skipped'),
      changed.map(([, { deliveredAt }]) => deliveredAt),
    ]);
  }
}

function hasWritten({ command, count }: Answer): boolean {
  return command !== 'SELECT' && count > 0;
}

const ADD_COUNTS = statement(
  'add-counts',
  `INSERT INTO _count_changes (sink_no, pending, delivered, dead, skipped, delivered_at)
   SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::int[], $5::int[], $6::bigint[])`,
);
