import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { PollId } from '../../ledger/contract/status-rows.ts';
import type { Asked } from '../database/flight.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import type { Transaction } from '../database/transaction.ts';
import { recordingSql } from './recording-sql.ts';

const { FENCE, HOLDS_DUTY, IS_FENCED_BY } = recordingSql;

/** What tells a poll from all others. After a failover that lost commits, the ledger issues the numbers of lost polls again, but not their tokens. */
interface PollKey {
  readonly id: PollId;
  readonly source: string;
  /** Drawn for this poll. */
  readonly token: string;
}

/**
 * The fence of a poll, which prevents this process from writing with an outdated view of the poll. Each transaction that writes for the poll counts
 * as one part, and names the number of parts before it. The transaction fails if the ledger does not have this poll with this number of parts:
 * another process has begun a poll of the source, the ledger was rolled back, or an earlier part whose outcome was unknown was committed after all.
 *
 * What a poll writes also depends on what it has read, so each transaction that reads for the poll makes the same check. It then sees what the last
 * transaction of the poll wrote, whichever server answers.
 */
export class Fence {
  readonly #poll: PollKey;
  #parts = 0;

  constructor(poll: PollKey) {
    this.#poll = poll;
  }

  get parts(): number {
    return this.#parts;
  }

  get token(): string {
    return this.#poll.token;
  }

  /**
   * Runs a transaction as `PostgresAccess.owe` does, which has to pass the fence first. The fence and the statements in `first` are sent with the beginning
   * of the transaction. @throws LedgerError `fenced`
   */
  async keep<T>(
    access: PostgresAccess,
    work: (tx: Transaction) => Promise<T>,
    first: readonly Asked<unknown>[] = [],
  ): Promise<T> {
    const fence = { sql: FENCE, values: this.#values() };
    const result = await access.owe(
      async (tx) => {
        if ((await tx.answer(fence)).length === 0) throw fenced(this.#poll.id);
        return work(tx);
      },
      [fence, ...first],
    );
    this.#parts += 1;
    return result;
  }

  /** Runs a transaction that only reads, and that sees this poll with its last part. @throws LedgerError `fenced` */
  read<T>(access: PostgresAccess, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return access.read(async (tx) => {
      // In one flight.
      const [isOpen, result] = await Promise.all([tx.first(IS_FENCED_BY, this.#values()), work(tx)]);
      if (!isOpen) throw fenced(this.#poll.id);
      return result;
    });
  }

  #values() {
    const { id, source, token } = this.#poll;
    return [id, source, token, this.#parts];
  }
}

/**
 * Requires that the token is the one under which a process holds the duty to poll the source. Must be called under the lock of the source: a process
 * that has taken the duty since begins its first poll after this transaction, and thereby ends the poll that this one begins.
 * @throws LedgerError `fenced`
 */
export async function requireDuty(tx: Transaction, source: string, token: string): Promise<void> {
  if (await tx.first(HOLDS_DUTY, [source, token])) return;
  throw new LedgerError(
    'fenced',
    `No poll of the source ${source} begins in this process, because another process polls the source now.`,
    'Nothing has to be done.',
  );
}

function fenced(poll: PollId): LedgerError {
  return new LedgerError(
    'fenced',
    `Poll ${poll} can record nothing more, because its state in the ledger has changed.`,
    'Nothing has to be done: the next poll reads the whole listing. If this continues, look for another process that polls this source.',
  );
}
