import type { Refused } from '../../../leads/outcome.ts';
import { DeadlinePassed } from '../../../platform/time/deadline.ts';
import type { SinkParts } from '../../sink-type.ts';
import { SinkUnavailable } from '../../sink-unavailable.ts';
import { quoted } from '../sql/identifier.ts';
import type { Address } from './address.ts';
import { type Judged, judgeError } from './judge-error.ts';
import { Pool } from './pool.ts';
import type { Session } from './session.ts';
import { inTransaction, type TransactionOptions } from './transaction.ts';

/** Maximum number of tries for a transaction that fails with a deadlock or a lock timeout. */
const TRIES = 2;

type Mode = TransactionOptions['mode'];
type Work = (session: Session) => Promise<void>;

/** Runs transactions over a pool, and judges their failures. The timeout applies to each transaction. */
export class Database {
  /** Name for messages, with the host and without a password. */
  readonly where: string;
  /** The name of the database, quoted as in SQL. */
  readonly name: string;
  readonly #timeoutMs: number;
  readonly #pool: Pool;
  #account: string;

  constructor(address: Address, { concurrency, timeoutMs }: Pick<SinkParts, 'concurrency' | 'timeoutMs'>) {
    this.where = `MySQL at ${address.shown}`;
    this.name = quoted(address.database);
    this.#timeoutMs = timeoutMs;
    this.#account = `'${address.user.replaceAll("'", "''")}'@'%'`;
    // A little longer than the transaction's deadline, whose error message is better.
    this.#pool = new Pool(address, concurrency, timeoutMs + 1_000);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** The account in the form that `GRANT` takes: as the server last reported it, otherwise from `url`. */
  get account(): string {
    return this.#account;
  }

  /** Runs work that contains no lead. A refusal therefore means that the sink as a whole cannot work. @throws SinkUnavailable */
  async runOrThrow(mode: Mode, stop: AbortSignal, work: Work): Promise<void> {
    const refused = await this.run(mode, stop, work, "one of leadsync's own statements");
    if (!refused) return;
    throw new SinkUnavailable(refused.reason, {
      hint: "Check leadsync's tables for triggers and constraints that are not leadsync's, and check the server's log.",
      answer: refused.answer,
    });
  }

  /** Reads in one transaction. @throws SinkUnavailable */
  async read<T>(stop: AbortSignal, work: (session: Session) => Promise<T>): Promise<T> {
    let result: { value: T } | undefined;
    await this.runOrThrow('READ ONLY', stop, async (session) => {
      result = { value: await work(session) };
    });
    return (result as unknown as { value: T }).value;
  }

  /**
   * Runs work in a transaction. If the server refuses it, returns the refusal, in which `what` names the work. @throws SinkUnavailable for any
   * other failure
   */
  async run(mode: Mode, stop: AbortSignal, work: Work, what = 'the lead'): Promise<Refused | undefined> {
    for (let tries = 1; ; tries += 1) {
      try {
        const greeted = ({ account }: { account: string }) => {
          this.#account = account;
        };
        await inTransaction(this.#pool, { mode, timeoutMs: this.#timeoutMs, greeted }, stop, work);
        return undefined;
      } catch (error) {
        const judged = this.#judge(error, stop, what);
        if (judged instanceof SinkUnavailable) throw judged;
        if (judged !== 'again') return judged;
        if (tries === TRIES) throw this.#contended(error);
      }
    }
  }

  #judge(cause: unknown, stop: AbortSignal, what: string): Judged {
    if (cause instanceof SinkUnavailable) return cause;
    if (stop.aborted)
      return new SinkUnavailable(`The transaction on ${this.where} was interrupted.`, { hint: '', cause });
    if (!(cause instanceof DeadlinePassed))
      return judgeError({ where: this.where, database: this.name, account: this.#account }, cause, what);
    return new SinkUnavailable(
      `${this.where} did not finish a transaction within ${this.#timeoutMs / 1000} s.`,
      {
        hint: 'Check whether the server can be reached, and what holds locks or slows it down; or raise `timeout`.',
        cause,
      },
    );
  }

  #contended(cause: unknown): SinkUnavailable {
    return new SinkUnavailable(`${this.where} rolled back the transaction in favour of another one.`, {
      hint: 'If this continues, check what else writes to these tables.',
      cause,
    });
  }
}
