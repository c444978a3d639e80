import type { ClientBase, Pool } from 'pg';
import type { Refused } from '../../../leads/outcome.ts';
import { LazyResource } from '../../../platform/process/lazy-resource.ts';
import { DeadlinePassed, withinDeadline } from '../../../platform/time/deadline.ts';
import { hostOf, openPool } from '../../../postgres/open-pool.ts';
import type { SinkParts } from '../../sink-type.ts';
import { SinkUnavailable } from '../../sink-unavailable.ts';
import { type Judged, judgeError } from './judge-error.ts';
import { inTransaction, type TransactionOptions } from './transaction.ts';

/** Maximum number of tries for a transaction that fails with a serialization failure or a deadlock. */
const TRIES = 2;
/** Maximum time for connections to close, in ms. */
const CLOSE_MS = 1_000;

type Mode = TransactionOptions['mode'];
type Work = (client: ClientBase) => Promise<void>;

/** Runs transactions over a pool of up to `connections` connections, and judges their failures. The timeout applies to each transaction. */
export class Database {
  /** Name for messages, with the host and without a password. */
  readonly where: string;
  readonly #timeoutMs: number;
  readonly #pool: LazyResource<Pool>;
  #closed: Promise<void> | undefined;

  constructor(address: string, connections: number, { timeoutMs, userAgent }: SinkParts) {
    this.where = `PostgreSQL at ${hostOf(address)}`;
    this.#timeoutMs = timeoutMs;
    this.#pool = new LazyResource(() =>
      openPool({
        address,
        connections,
        // A little longer than the transaction's deadline, whose error message is better.
        connectMs: timeoutMs + 1_000,
        applicationName: userAgent,
      }),
    );
  }

  close(): Promise<void> {
    this.#closed ??= withinDeadline(CLOSE_MS, new AbortController().signal, () =>
      this.#pool.close((pool) => pool.end()),
    ).catch(() => {
      // The server does not answer.
    });
    return this.#closed;
  }

  /** Runs work that contains no lead. A refusal therefore means that the sink as a whole cannot work. @throws SinkUnavailable */
  async runOrThrow(
    mode: Mode,
    stop: AbortSignal,
    work: Work,
    timeoutMs: number = this.#timeoutMs,
  ): Promise<void> {
    const refused = await this.run(mode, stop, work, "one of leadsync's own statements", timeoutMs);
    if (!refused) return;
    throw new SinkUnavailable(refused.reason, {
      hint: "Check leadsync's tables for triggers, rules and constraints that are not leadsync's, and check the server's log.",
      answer: refused.answer,
    });
  }

  /** Reads in one transaction. @throws SinkUnavailable */
  async read<T>(stop: AbortSignal, work: (client: ClientBase) => Promise<T>): Promise<T> {
    let result: { value: T } | undefined;
    await this.runOrThrow('READ ONLY', stop, async (client) => {
      result = { value: await work(client) };
    });
    return (result as unknown as { value: T }).value;
  }

  /**
   * Runs work in a transaction. If PostgreSQL refuses it, returns the refusal, in which `what` names the work. @throws SinkUnavailable for
   * any other failure
   */
  async run(
    mode: Mode,
    stop: AbortSignal,
    work: Work,
    what = 'the lead',
    timeoutMs: number = this.#timeoutMs,
  ): Promise<Refused | undefined> {
    const options = { mode, timeoutMs };
    for (let tries = 1; ; tries += 1) {
      try {
        await inTransaction(await this.#pool.get(), options, stop, work);
        return undefined;
      } catch (error) {
        const judged = this.#judge(error, stop, { what, timeoutMs });
        if (judged instanceof SinkUnavailable) throw judged;
        if (judged !== 'again') return judged;
        if (tries === TRIES) throw this.#contended(error);
      }
    }
  }

  #judge(
    cause: unknown,
    stop: AbortSignal,
    { what, timeoutMs }: { what: string; timeoutMs: number },
  ): Judged {
    if (cause instanceof SinkUnavailable) return cause;
    if (stop.aborted)
      return new SinkUnavailable(`The transaction on ${this.where} was interrupted.`, { hint: '', cause });
    if (!(cause instanceof DeadlinePassed)) return judgeError(this.where, cause, what);
    return new SinkUnavailable(`${this.where} did not finish a transaction within ${timeoutMs / 1000} s.`, {
      hint: 'Check whether the server can be reached, and what holds locks or slows it down; or raise `timeout`.',
      cause,
    });
  }

  #contended(cause: unknown): SinkUnavailable {
    return new SinkUnavailable(`${this.where} rolled back the transaction in favour of another one.`, {
      hint: 'If this continues, check what else writes to these tables.',
      cause,
    });
  }
}
