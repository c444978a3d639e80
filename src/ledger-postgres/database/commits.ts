import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { isOfServer } from '../../postgres/server-error.ts';
import { type Answer, type Asked, fly } from './flight.ts';
import { toLedgerFailure } from './ledger-failure.ts';
import type { LedgerPool } from './ledger-pool.ts';
import { statement } from './statement.ts';

/** Time between two questions about a commit that could not be answered, in ms. */
const ASK_AGAIN_MS = 200;
/**
 * Number of transactions after which a connection gets another row. While any transaction of the server is old, each version of a row stays, and
 * each update passes all earlier ones.
 */
const TRANSACTIONS_PER_ROW = 200;

interface Row {
  readonly no: number;
  transactions: number;
}

/** A transaction that has begun. */
export interface Begun {
  /** The time of the ledger, in ms since 1970. */
  readonly at: number;
  /** The id of the server's process. */
  readonly pid: number;
  /** The number of migrations that were applied to the ledger. A newer leadsync may have applied more since this process opened it. */
  readonly shape: number;
}

/** The columns of `Begun` beside `at`. */
export const BEGUN = 'pg_backend_pid() AS pid, (SELECT shape FROM _ledger) AS shape';

/** How a transaction begins. */
interface Beginning {
  readonly owes: boolean;
  readonly moves: boolean;
  readonly first: readonly Asked<unknown>[];
}

/** A transaction that is about to be committed. */
interface Sent {
  readonly last: readonly Asked<unknown>[];
  /** The time of the ledger, in ms since 1970. */
  readonly now: number;
  /** Called if the connection is lost, before the server is asked what became of the transaction. */
  readonly onLost: () => void;
  /** Ends the questions. */
  readonly signal: AbortSignal;
}

/**
 * Commits transactions, and finds out whether a transaction was committed if its connection broke before the server answered. Each connection has a
 * row in `_commits`. Each transaction locks that row and writes a new token into it, so the row has the token if the transaction was committed, and a
 * query for the row waits while the transaction still runs. This holds after a failover and after a crash, too.
 */
export class Commits {
  readonly #where: string;
  /** A connection of its own, so that a question never waits for the transactions that are failing. */
  readonly #asking: LedgerPool;
  readonly #rows = new WeakMap<PoolClient, Row>();

  constructor(where: string, asking: LedgerPool) {
    this.#where = where;
    this.#asking = asking;
  }

  close(): Promise<void> {
    return this.#asking.end();
  }

  /**
   * Begins a transaction that writes, and runs its first statements in the same flight. `owes`: whether it takes the owing lock. `moves`: whether no other
   * transaction may write meanwhile.
   */
  async begin(
    client: PoolClient,
    { owes, moves, first }: Beginning,
  ): Promise<Begun & { readonly answers: readonly Answer[] }> {
    for (;;) {
      const { no } = await this.#rowOf(client);
      const enter = { sql: ENTER, values: [no, owes, moves] };
      const [, entered, ...answers] = await fly(client, [BEGIN, enter, ...first]);
      const { has_row, ...begun } = (entered as Answer).rows[0] as Begun & { readonly has_row: true | null };
      if (has_row) return { ...begun, answers };
      // The row was removed as one that is no longer used: the clock of the ledger was set.
      await client.query('ROLLBACK');
      this.#rows.delete(client);
    }
  }

  /**
   * Runs the last statements of a transaction, and commits, in one flight. It must not be the flight that has begun the transaction: a question finds a
   * transaction that the server has not received yet by the lock of its row.
   * @throws the error of the commit, if the transaction was not committed, or if the server could not be asked in time
   */
  async commit(client: PoolClient, { last, now, onLost, signal }: Sent): Promise<void> {
    const [row, token] = [await this.#rowOf(client), randomUUID()];
    row.transactions += 1;
    const flight = [...last, { sql: SET_TOKEN, values: [row.no, token, now] }, COMMIT];
    const answers = await fly(client, flight).catch(async (error) => {
      if (!isUnknown(error)) throw error;
      onLost();
      if (await this.#isCommitted(row.no, token, signal)) return undefined;
      throw error;
    });
    if (answers && answers.at(-1)?.command !== 'COMMIT')
      throw new Error('PostgreSQL rolled the transaction back');
  }

  async #isCommitted(rowNo: number, token: string, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      try {
        const { rows } = await this.#asking.query(TOKEN_OF, [rowNo]);
        return (rows[0] as { token: string } | undefined)?.token === token;
      } catch (error) {
        if (!toLedgerFailure(this.#where, error).isTransient) return false;
      }
      await sleep(ASK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
    return false;
  }

  async #rowOf(client: PoolClient): Promise<Row> {
    const known = this.#rows.get(client);
    if (known && known.transactions < TRANSACTIONS_PER_ROW) return known;
    const { rows } = await client.query(NEXT_ROW, [known?.no ?? null]);
    const row = { no: (rows[0] as { no: number }).no, transactions: 0 };
    this.#rows.set(client, row);
    return row;
  }
}

// The names are the texts: a connection shows by them what it sends.
const BEGIN = command('BEGIN ISOLATION LEVEL READ COMMITTED');
/** Commits. */
export const COMMIT = command('COMMIT');
const ENTER = statement<Begun & { has_row: true | null }>(
  'enter',
  `SELECT e.at, ${BEGUN}, (SELECT true FROM _commits WHERE commit_no = $1 FOR UPDATE) AS has_row FROM _enter($2, $3) e`,
);
const SET_TOKEN = statement('set-token', 'UPDATE _commits SET token = $2, at = $3 WHERE commit_no = $1');
const NEXT_ROW = `WITH last AS (DELETE FROM _commits WHERE commit_no = $1)
  INSERT INTO _commits (token, at) VALUES ('', _now()) RETURNING commit_no AS no`;
const TOKEN_OF = 'SELECT token FROM _commits WHERE commit_no = $1 FOR UPDATE';

/** Returns a command that has no plan. */
function command(text: string): Asked<never> {
  return { sql: { name: text, text }, values: [] };
}

/** Whether an error leaves open what became of the statement: the connection ended, or the server ended it. */
function isUnknown(error: unknown): boolean {
  return !isOfServer(error) || /^(08|57P)/.test(error.code ?? '');
}
