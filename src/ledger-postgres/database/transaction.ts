import type { PoolClient, QueryResult } from 'pg';
import type { DeliveryState } from '../../leads/delivery.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { type Statement, statement, type Value } from './statement.ts';

/** Is called before each statement of a transaction with the statement's name. Tests use it to stop a transaction between two statements. */
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
  readonly #before: BeforeStatement;
  readonly #counts = new Map<number, Counts>();
  #hasWritten = false;

  constructor(client: PoolClient, { now, owes, history }: Begun, before: BeforeStatement) {
    this.#client = client;
    this.now = now;
    this.history = history;
    this.#owes = owes;
    this.#before = before;
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

  /** Runs a statement and returns its rows. */
  async rows<Row>(sql: Statement<Row>, values: readonly Value[] = []): Promise<Row[]> {
    return (await this.#query(sql, values)).rows as Row[];
  }

  /** Runs a statement and returns its first row. */
  async first<Row>(sql: Statement<Row>, values: readonly Value[] = []): Promise<Row | undefined> {
    return (await this.rows(sql, values))[0];
  }

  /** Runs a statement and returns how many rows it wrote. */
  async run(sql: Statement<unknown>, values: readonly Value[] = []): Promise<number> {
    return (await this.#query(sql, values)).rowCount ?? 0;
  }

  async #query({ name, text }: Statement<unknown>, values: readonly Value[]): Promise<QueryResult> {
    await this.#before(name);
    const result = await this.#client.query({ name, text, values: [...values] });
    if (result.command !== 'SELECT' && (result.rowCount ?? 0) > 0) this.#hasWritten = true;
    return result;
  }

  /** Whether any statement has changed a row. */
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

  /** Writes what was counted. */
  async flush(): Promise<void> {
    const changed = [...this.#counts].filter(
      ([, { deliveredAt, ...counts }]) =>
        deliveredAt !== null || Object.values(counts).some((count) => count !== 0),
    );
    if (changed.length === 0) return;
    const of = (state: DeliveryState) => changed.map(([, counts]) => counts[state]);
    await this.run(ADD_COUNTS, [
      changed.map(([sinkNo]) => sinkNo),
      of('pending'),
      of('delivered'),
      of('dead'),
      of('skipped'),
      changed.map(([, { deliveredAt }]) => deliveredAt),
    ]);
  }
}

const ADD_COUNTS = statement(
  'add-counts',
  `INSERT INTO _count_changes (sink_no, pending, delivered, dead, skipped, delivered_at)
   SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::int[], $5::int[], $6::bigint[])`,
);
