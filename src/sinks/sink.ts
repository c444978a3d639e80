import type { z } from 'zod';
import type { Batch, LeadEvent } from '../leads/delivery.ts';
import type { FormerName, HistoryRow, Overview, RenamedSink } from '../leads/history.ts';
import type { Outcome, Unavailable } from '../leads/outcome.ts';
import type { LeadKey, Person, Subject } from '../leads/person.ts';
import type { Clock } from '../platform/time/clock.ts';

/** A configured, named destination. Made without opening a connection; connects when first used. */
export interface Sink {
  /**
   * Proves that a delivery could succeed, without making one. Used at start and by `leadsync check`.
   * @throws SinkUnavailable with what is wrong and what to do
   */
  check(signal: AbortSignal): Promise<void>;
  /**
   * Attempts a batch: one outcome per delivery, in order. Delivering the same batch again has the effect of
   * delivering it once, as far as the destination can tell. Ends soon after the signal aborts. Calls `attempt.confirmLease`
   * right before anything leaves for the destination, each time: each request, each commit, each rename.
   * @throws SinkUnavailable when the destination as a whole cannot be reached; then nothing is known to have arrived
   */
  deliver(batch: Batch, signal: AbortSignal, attempt?: AttemptUnderWay): Promise<readonly Outcome[]>;
  /**
   * Does with one invented lead (`testBatch`) all that `deliver` does, by the same code, so that what works here works for
   * leads. What it leaves at the destination can be told from a lead by a program that only knows leads, or is taken back.
   * @throws SinkUnavailable
   */
  test(batch: Batch, signal: AbortSignal): Promise<TestResult>;
  /** What `deliver` would send of this batch at this moment, made by the same code, with secrets masked. Sends nothing. */
  preview(batch: Batch): readonly Preview[];
  close(): Promise<void>;
  /** Where the destination can hold more than leads. */
  readonly mirror?: Mirror | undefined;
  /**
   * Returns every lead that the destination stores, in any order and in bounded memory. Absent where it cannot be read.
   * @throws SinkUnavailable
   */
  storedLeads?(signal: AbortSignal): AsyncIterable<StoredLead>;
  /**
   * Returns what the destination stores, in any version, of the person with this email address or phone number. A lead may be
   * returned more than once. Absent where the destination cannot be searched. @throws SinkUnavailable
   */
  findPerson?(subject: Subject, signal: AbortSignal): Promise<Person>;
  /** Deletes everything that the destination stores of a person, and returns the number of rows. Absent where that is impossible. @throws SinkUnavailable */
  erase?(person: Person, signal: AbortSignal): Promise<number>;
}

/** The attempt that a sink makes. */
export interface AttemptUnderWay {
  /** The `traceparent` header of the attempt (W3C Trace Context), for destinations that take it; undefined without tracing. */
  readonly traceparent?: string | undefined;
  /** Returns how long the attempt may still take, in ms. */
  timeLeftMs(): number;
  /** @throws LeaseOver once the lease of the attempt has expired: another process may have the batch by now, or it may be settled */
  confirmLease(): void;
}

/** For what is sent without a lease or time limit, such as a test event. */
export const WITHOUT_LEASE: AttemptUnderWay = {
  timeLeftMs: () => Number.POSITIVE_INFINITY,
  confirmLease: () => undefined,
};

/** A lead that a destination stores. */
export interface StoredLead extends LeadKey {
  readonly version: number;
  /** The file that contains it, for destinations of several files. */
  readonly file?: string;
}

/**
 * What the ledger knows beside the leads, held at a destination too. Apart from deliveries: neither waits for the other.
 * Each of these is a small transaction, and may throw SinkUnavailable. Tables are those of catalog/mirrored.ts.
 */
export interface Mirror {
  readonly everyMs: number;
  /** The greatest number of a ledger's row that is there; 0 when none is. */
  lastNumber(ledger: string, table: string, signal: AbortSignal): Promise<number>;
  /** Whether the ledger's row of that number is this one, in what never changes of it. */
  has(ledger: string, table: string, row: HistoryRow, signal: AbortSignal): Promise<boolean>;
  /** Makes the last rows of a ledger those of another one, which was lost. `count`: how many at most. */
  markLost(ledger: string, table: string, count: number, signal: AbortSignal): Promise<void>;
  /** The numbers of rows that may have changed since, in order. */
  unsettled(
    table: string,
    part: { ledger: string; after: number; limit: number },
    signal: AbortSignal,
  ): Promise<readonly number[]>;
  /** The numbers of those of the given versions, in order, whose contents are not there. */
  missingContents(versions: readonly HistoryRow[], signal: AbortSignal): Promise<readonly number[]>;
  /** Writes rows in place of what was there under their keys. Gives how many of them were refused and left out. */
  write(ledger: string, table: string, rows: readonly HistoryRow[], signal: AbortSignal): Promise<number>;
  /** Which of these sinks are still known there by other names: what was brought of them has to be brought anew. */
  formerNames(
    ledger: string,
    renamed: readonly RenamedSink[],
    signal: AbortSignal,
  ): Promise<readonly FormerName[]>;
  /** What is known by a former name goes on under the present one. */
  writeOverview(
    ledger: string,
    overview: Overview,
    former: readonly FormerName[],
    signal: AbortSignal,
  ): Promise<void>;
  close(): Promise<void>;
}

/** What became of a test event. */
export interface TestResult {
  readonly arrived: boolean;
  /** What arrived where, or why it was refused and what to do, in whole sentences. */
  readonly what: string;
}

/** One thing that a sink would send: a request, a file, a row. */
export interface Preview {
  /** What it is and where it goes, without a secret: `POST https://crm.example.com/[secret]`. */
  readonly target: string;
  /** What belongs to it by name: a request's headers, a row's columns. A secret among them reads `[secret]`. */
  readonly fields: Readonly<Record<string, string | number | boolean | null>>;
  /** Its content, to the last character; absent where the fields are all there is. */
  readonly content?: string;
}

/** The destination as a whole cannot be used now. The message is one plain sentence without any lead's text. */
export class SinkUnavailable extends Error {
  override readonly name = 'SinkUnavailable';
  /** What the operator can do next. */
  readonly hint: string;
  readonly answer: string | undefined;
  readonly httpStatus: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly gone: boolean;
  readonly unsent: boolean;

  constructor(
    message: string,
    more: {
      hint: string;
      answer?: string | undefined;
      httpStatus?: number | undefined;
      retryAfterMs?: number | undefined;
      gone?: boolean;
      unsent?: boolean;
      cause?: unknown;
    },
  ) {
    super(message, { cause: more.cause });
    this.hint = more.hint;
    this.answer = more.answer;
    this.httpStatus = more.httpStatus;
    this.retryAfterMs = more.retryAfterMs;
    this.gone = more.gone ?? false;
    this.unsent = more.unsent ?? false;
  }

  /** The same, as the outcome of one delivery. */
  toOutcome(): Unavailable {
    return {
      kind: 'unavailable',
      reason: this.hint === '' ? this.message : `${this.message} ${this.hint}`,
      httpStatus: this.httpStatus,
      answer: this.answer,
      retryAfterMs: this.retryAfterMs,
      gone: this.gone,
      unsent: this.unsent,
    };
  }
}

/** The lease of an attempt ended before something could be sent, which therefore was not. */
export class LeaseOver extends SinkUnavailable {
  constructor() {
    super('The attempt stood still for longer than its lease lasts.', { hint: '', unsent: true });
  }
}

/** What leadsync itself hands to every sink. */
export interface SinkParts {
  /** The sink's configured name. */
  readonly name: string;
  readonly clock: Clock;
  /** The most batches that will be attempted at once; sizes connection pools. */
  readonly concurrency: number;
  /** The most deliveries that a batch will hold; 1 means that batches are not wanted. */
  readonly batchMax: number;
  /** The deadline of one attempt in ms, the destination's whole answer included. */
  readonly timeoutMs: number;
  /** `leadsync/0.1.0`, for protocols that introduce themselves. */
  readonly userAgent: string;
}

/** What a type of sink does where the configuration is silent. */
export interface SinkDefaults {
  /** Which events are owed to it. `erased` where the destination can be told of it by a delivery. */
  readonly events: readonly LeadEvent[];
  readonly batchMax: number;
  /** How long the oldest delivery waits for its batch to fill, in ms. */
  readonly batchWaitMs: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
}

/** How `leadsync init` asks for a sink of a type, and what it writes into a first configuration. */
export interface SinkSetup {
  /** The option that has to be asked for; its schema judges the answer. */
  readonly option: string;
  /** What is asked: `the folder that files are dropped in`. */
  readonly question: string;
  /** The answer that an empty line stands for. It may name a variable: `${NAME}`. */
  readonly standard: string;
  /** The entry in `sinks`, in lines that begin with two spaces. The answer is YAML already. */
  entry(answer: string): string;
}

/** A type of sink: its name in the YAML, its options and how to make one. */
export interface SinkType<Options extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  /** One sentence for the option reference. */
  readonly summary: string;
  /** Its own options, beside those common to every sink. Each is described. */
  readonly options: Options;
  /** Which options are paths; relative ones are taken from the configuration's folder. */
  readonly paths?: readonly string[];
  /**
   * Which options say where leads are brought, none of them a secret. Where one was another, an erasure says of the earlier
   * place that it was not reached.
   */
  readonly place?: readonly string[];
  /** What is valid in its options and may still not be meant, a sentence each, without any secret. */
  warnings?(options: z.output<Options>): readonly string[];
  readonly defaults: SinkDefaults;
  readonly setup: SinkSetup;
  open(options: z.output<Options>, parts: SinkParts): Sink;
}

/** Keeps the type of a sink's options from its schema to its `open`. */
export function defineSink<Options extends z.ZodObject>(type: SinkType<Options>): SinkType<Options> {
  return type;
}
