import pg, { type ClientBase } from 'pg';
import { z } from 'zod';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import type { Delivered, Outcome, Refused } from '../../leads/outcome.ts';
import { DeadlinePassed, withinDeadline } from '../../platform/deadline.ts';
import { secret } from '../../platform/option-types.ts';
import { attemptParts } from '../attempt-parts.ts';
import { defineSink, type Sink, type SinkParts, SinkUnavailable } from '../sink.ts';
import { isSchemaName } from './identifier.ts';
import { type Judged, judgeError } from './judge-error.ts';
import { rowOf } from './rows.ts';
import { checkSchema, migrate } from './schema.ts';
import { inTransaction, type TransactionManner } from './transaction.ts';
import { partsOf, upsert } from './upsert.ts';

const postgresOptions = z.strictObject({
  url: secret()
    .refine(
      (url) => isDatabaseUrl(url.reveal()),
      'must be an address such as postgresql://user:password@host:5432/database',
    )
    .describe(
      'The database, as `postgresql://user:password@host:5432/database`. TLS by `?sslmode=verify-full`.',
    ),
  schema: z
    .string()
    .refine(
      isSchemaName,
      'must be made of letters, digits and _, at most 63, not beginning with a digit or pg_',
    )
    .default('leadsync')
    .describe("The schema that leadsync makes its tables in. It should be leadsync's own."),
});

export const postgres = defineSink({
  type: 'postgres',
  summary: 'Keeps the current content of every lead in PostgreSQL tables.',
  options: postgresOptions,
  defaults: {
    events: ['created', 'updated'],
    batchMax: 1000,
    batchWaitMs: 0,
    concurrency: 1,
    timeoutMs: 60_000,
  },
  open: (options, parts) => new PostgresSink(options, parts),
});

/** How often a transaction is tried that others get in the way of. */
const TRIES = 2;
/** How long connections may take to say goodbye, in ms. */
const CLOSE_MS = 1_000;

type Mode = TransactionManner['mode'];
type Work = (client: ClientBase) => Promise<void>;

/** Upserts a batch in one transaction; the timeout is each transaction's. */
class PostgresSink implements Sink {
  readonly #schema: string;
  readonly #parts: SinkParts;
  readonly #where: string;
  readonly #pool: pg.Pool;
  /** Once per process, and again after a failure. */
  #prepared: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor({ url, schema }: z.output<typeof postgresOptions>, parts: SinkParts) {
    this.#schema = schema;
    this.#parts = parts;
    this.#where = `PostgreSQL at ${hostOf(url.reveal())}`;
    this.#pool = new pg.Pool({
      connectionString: url.reveal(),
      max: parts.concurrency,
      // A little more than each transaction has: its own deadline is to be the one that speaks.
      connectionTimeoutMillis: parts.timeoutMs + 1_000,
      application_name: parts.userAgent,
      keepAlive: true,
    });
    // A connection that breaks while nobody uses it is replaced when the next one is needed.
    this.#pool.on('error', () => undefined);
  }

  /** Connects, and sees whether the schema is right or can be made, and whether leads may be written. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#surely('READ ONLY', signal, (client) => checkSchema(client, this.#schema));
  }

  async deliver(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    const parts = partsOf(batch.deliveries);
    try {
      await this.#prepareSchema(signal);
      return await attemptParts(parts, (part) => this.#store(part, signal));
    } catch (error) {
      // It may be that the schema is not what it was.
      this.#prepared = undefined;
      throw error;
    }
  }

  close(): Promise<void> {
    this.#closed ??= withinDeadline(CLOSE_MS, new AbortController().signal, () => this.#pool.end()).catch(
      () => {
        // A server that no longer answers cannot be taken leave of.
      },
    );
    return this.#closed;
  }

  #prepareSchema(signal: AbortSignal): Promise<void> {
    this.#prepared ??= this.#surely('READ WRITE', signal, (client) =>
      migrate(client, this.#schema, this.#parts.userAgent),
    );
    return this.#prepared;
  }

  async #store(part: readonly Delivery[], signal: AbortSignal): Promise<Delivered | Refused> {
    const rows = part.map(rowOf);
    const refused = await this.#run('READ WRITE', signal, (client) => upsert(client, this.#schema, rows));
    return refused ?? { kind: 'delivered' };
  }

  /** For work that holds no lead: nothing in it can be refused. */
  async #surely(mode: Mode, stop: AbortSignal, work: Work): Promise<void> {
    const refused = await this.#run(mode, stop, work);
    if (!refused) return;
    throw new SinkUnavailable(`${this.#where} failed while the schema was looked at.`, {
      hint: `It said: ${refused.reason}`,
      answer: refused.answer,
    });
  }

  /** Gives why the work was refused, when it was. @throws SinkUnavailable for whatever else fails */
  async #run(mode: Mode, stop: AbortSignal, work: Work): Promise<Refused | undefined> {
    const manner = { mode, timeoutMs: this.#parts.timeoutMs };
    for (let tries = 1; ; tries += 1) {
      try {
        await inTransaction(this.#pool, manner, stop, work);
        return undefined;
      } catch (error) {
        const judged = this.#judge(error, stop);
        if (judged instanceof SinkUnavailable) throw judged;
        if (judged !== 'again') return judged;
        if (tries === TRIES) throw this.#contended(error);
      }
    }
  }

  #judge(cause: unknown, stop: AbortSignal): Judged {
    if (cause instanceof SinkUnavailable) return cause;
    if (stop.aborted)
      return new SinkUnavailable(`The transaction on ${this.#where} was cut off.`, { hint: '', cause });
    if (!(cause instanceof DeadlinePassed)) return judgeError(this.#where, cause);
    return new SinkUnavailable(
      `${this.#where} did not end a transaction within ${this.#parts.timeoutMs / 1000} s.`,
      {
        hint: 'See whether it can be reached, what holds locks or slows it down; or raise `timeout`.',
        cause,
      },
    );
  }

  #contended(cause: unknown): SinkUnavailable {
    return new SinkUnavailable(`${this.#where} rolled the transaction back in favour of others.`, {
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

function isDatabaseUrl(address: string): boolean {
  return /^postgres(ql)?:\/\//.test(address) && URL.canParse(address);
}
