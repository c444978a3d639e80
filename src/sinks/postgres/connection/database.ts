import type { ClientBase, Pool } from 'pg';
import type { Refused } from '../../../leads/outcome.ts';
import { OnDemand } from '../../../platform/process/on-demand.ts';
import { DeadlinePassed, withinDeadline } from '../../../platform/time/deadline.ts';
import { type SinkParts, SinkUnavailable } from '../../sink.ts';
import { type Judged, judgeError } from './judge-error.ts';
import { inTransaction, type TransactionOptions } from './transaction.ts';

/** How often a transaction is tried that others get in the way of. */
const TRIES = 2;
/** How long connections may take to say goodbye, in ms. */
const CLOSE_MS = 1_000;

type Mode = TransactionOptions['mode'];
type Work = (client: ClientBase) => Promise<void>;

/** A database over a pool of so many connections at most, with what its failures mean. The timeout is each transaction's. */
export class Database {
  /** In messages: its host, without a password. */
  readonly where: string;
  readonly #timeoutMs: number;
  readonly #pool: OnDemand<Pool>;
  #closed: Promise<void> | undefined;

  constructor(address: string, connections: number, { timeoutMs, userAgent }: SinkParts) {
    this.where = `PostgreSQL at ${hostOf(address)}`;
    this.#timeoutMs = timeoutMs;
    this.#pool = new OnDemand(async () => {
      const { default: pg } = await import('pg');
      const pool = new pg.Pool({
        connectionString: address,
        max: connections,
        // A little more than each transaction has: its own deadline is to be the one that speaks.
        connectionTimeoutMillis: timeoutMs + 1_000,
        application_name: userAgent,
        keepAlive: true,
      });
      // A connection that breaks while nobody uses it is replaced when the next one is needed.
      return pool.on('error', () => undefined);
    });
  }

  close(): Promise<void> {
    this.#closed ??= withinDeadline(CLOSE_MS, new AbortController().signal, () =>
      this.#pool.close((pool) => pool.end()),
    ).catch(() => {
      // A server that no longer answers cannot be taken leave of.
    });
    return this.#closed;
  }

  /** For work that holds no lead: whatever refuses it keeps the sink from working. @throws SinkUnavailable */
  async runOrThrow(
    mode: Mode,
    stop: AbortSignal,
    work: Work,
    timeoutMs: number = this.#timeoutMs,
  ): Promise<void> {
    const refused = await this.run(mode, stop, work, "a statement of leadsync's own", timeoutMs);
    if (!refused) return;
    throw new SinkUnavailable(refused.reason, {
      hint: "See whether somebody put a trigger, rule or constraint on leadsync's tables, and the server's log.",
      answer: refused.answer,
    });
  }

  /** Reads in one transaction. */
  async read<T>(stop: AbortSignal, work: (client: ClientBase) => Promise<T>): Promise<T> {
    let result: { value: T } | undefined;
    await this.runOrThrow('READ ONLY', stop, async (client) => {
      result = { value: await work(client) };
    });
    return (result as unknown as { value: T }).value;
  }

  /** Gives why the work was refused, when it was, which `what` names. @throws SinkUnavailable for whatever else fails */
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
      return new SinkUnavailable(`The transaction on ${this.where} was cut off.`, { hint: '', cause });
    if (!(cause instanceof DeadlinePassed)) return judgeError(this.where, cause, what);
    return new SinkUnavailable(
      `${this.where} did not end a transaction within ${this.#timeoutMs / 1000} s.`,
      {
        hint: 'See whether it can be reached, what holds locks or slows it down; or raise `timeout`.',
        cause,
      },
    );
  }

  #contended(cause: unknown): SinkUnavailable {
    return new SinkUnavailable(`${this.where} rolled the transaction back in favour of others.`, {
      hint: 'If it stays so, see what else writes to these tables.',
      cause,
    });
  }
}

/** No password in it, and short: it is in log lines. */
function hostOf(address: string): string {
  const url = new URL(address);
  return url.host || url.searchParams.get('host') || 'its default address';
}
