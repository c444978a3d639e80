import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { PollId } from '../../ledger/contract/status-rows.ts';
import type { Transaction } from '../database/transaction.ts';
import { recordingSql } from './recording-sql.ts';

const { FENCE } = recordingSql;

/**
 * The fence of a poll. Each transaction of the poll counts as a part of it, and names the number of parts before it. It writes nothing if the
 * ledger knows another number: another process has begun a poll of the source, the ledger was set back, or an earlier part whose outcome was
 * unknown was committed. What this process remembers of the poll is then not what the ledger has.
 */
export class Fence {
  readonly #poll: PollId;
  #parts = 0;

  constructor(poll: PollId) {
    this.#poll = poll;
  }

  get parts(): number {
    return this.#parts;
  }

  /** Runs a transaction, which has to pass the fence first. @throws LedgerError `fenced` */
  async keep<T>(transaction: (passFence: (tx: Transaction) => Promise<void>) => Promise<T>): Promise<T> {
    const result = await transaction(async (tx) => {
      if ((await tx.run(FENCE, [this.#poll, this.#parts])) === 0) throw fenced(this.#poll);
    });
    this.#parts += 1;
    return result;
  }
}

function fenced(poll: PollId): LedgerError {
  return new LedgerError(
    'fenced',
    `The poll ${poll} can record nothing more, because the ledger knows another state of it.`,
    'Nothing has to be done: the next poll reads the whole listing. If this continues, look for another process that polls this source.',
  );
}
