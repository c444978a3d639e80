import type { z } from 'zod';
import type { Batch, LeadEvent } from '../leads/delivery.ts';
import type { FormerName, HistoryRow, Overview, RenamedSink } from '../leads/history.ts';
import type { MappedColumn, MappedValue } from '../leads/mapped-fields.ts';
import type { DestinationRecord, Outcome, Unavailable } from '../leads/outcome.ts';
import type { LeadKey, Person, Subject } from '../leads/person.ts';
import type { LeadCost, Quota } from '../leads/quota.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { DestinationField, MissingPart } from './destination.ts';

/** A configured, named sink. Its constructor opens no connection; the first use does. */
export interface Sink {
  /**
   * Verifies that a delivery with these fields could succeed, without making a delivery. Without `columns`, leads are sent as received. Called at
   * startup and by `leadsync check`.
   * @throws SinkUnavailable with the problem and a hint
   */
  check(signal: AbortSignal, columns?: readonly MappedColumn[]): Promise<void>;
  /**
   * Returns what the destination lacks for deliveries with these fields, in the order in which the parts have to be created. Absent if
   * destinations of this type need no preparation.
   * @throws SinkUnavailable
   */
  missingParts?(signal: AbortSignal, columns?: readonly MappedColumn[]): Promise<readonly MissingPart[]>;
  /** Returns the fields of the destination. Absent if destinations of this type have no list of fields. @throws SinkUnavailable */
  destinationFields?(signal: AbortSignal): Promise<readonly DestinationField[]>;
  /**
   * Attempts a batch and returns one outcome per delivery, in order. Idempotent as far as the destination allows: delivering a
   * batch twice has the effect of delivering it once. Ends soon after the signal aborts. Calls `attempt.confirmLease` immediately
   * before each request, commit or rename.
   * @throws SinkUnavailable if the destination as a whole cannot be used; no lead is then known to be delivered
   */
  deliver(batch: Batch, signal: AbortSignal, attempt?: AttemptUnderWay): Promise<readonly Outcome[]>;
  /**
   * Delivers one test lead (`testBatch`) through the code of `deliver`, so that a successful test means that leads can be delivered. Either a
   * program at the destination can distinguish the result from a real lead, or the sink undoes the result.
   * @throws SinkUnavailable
   */
  test(batch: Batch, signal: AbortSignal): Promise<TestResult>;
  /** Returns what `deliver` would send for this batch now, as built by the same code, with secrets masked. Sends nothing. */
  preview(batch: Batch): readonly Preview[];
  close(): Promise<void>;
  /**
   * Returns how much of its daily limit the destination reported as used in its last answer; undefined before the first answer. Absent if the
   * destination has no such limit or does not report it.
   */
  quota?(): Quota | undefined;
  /** The mirror; undefined if it is off or the destination can hold only leads. */
  readonly mirror?: Mirror | undefined;
  /**
   * Returns every lead that the destination stores, in any order and in bounded memory. Absent if the destination cannot be read.
   * @throws SinkUnavailable
   */
  storedLeads?(signal: AbortSignal): AsyncIterable<StoredLead>;
  /**
   * Returns what the destination stores, in any version, about the person with this email address or phone number. A lead may be returned
   * more than once. Absent if the destination cannot be searched. @throws SinkUnavailable
   */
  findPerson?(subject: Subject, signal: AbortSignal): Promise<Person>;
  /**
   * Deletes what the destination stores about a person. Returns the number of deleted rows, or, for a destination that people also work in, what
   * became of its records. Absent if the sink cannot delete.
   * @throws SinkUnavailable
   */
  erase?(person: Person, signal: AbortSignal): Promise<number | ErasedRecords>;
}

/** What a sink must know about the attempt that it makes. */
export interface AttemptUnderWay {
  /** The `traceparent` header of the attempt (W3C Trace Context), for destinations that accept it; undefined without tracing. */
  readonly traceparent?: string | undefined;
  /** Returns how long the attempt may still take, in ms. */
  timeLeftMs(): number;
  /** @throws LeaseOver if the lease of the attempt has expired: another process may have claimed or settled the batch */
  confirmLease(): void;
}

/** An attempt without a lease or time limit, such as that of a test event. */
export const WITHOUT_LEASE: AttemptUnderWay = {
  timeLeftMs: () => Number.POSITIVE_INFINITY,
  confirmLease: () => undefined,
};

/** A lead that a destination stores. */
export interface StoredLead extends LeadKey {
  /** The version that the destination stores; absent if it stores none. */
  readonly version?: number;
  /** The file that contains the lead, for destinations that are folders or buckets. */
  readonly file?: string;
}

/** What an erasure did in a destination that people also work in, such as a CRM. Contains no personal data. */
export interface ErasedRecords {
  /** The number of deleted records by their kind, in the destination's own words: `{ deal: 2, contact: 1 }`. */
  readonly deleted: Readonly<Record<string, number>>;
  /** Records that may contain data about the person but that leadsync must not delete. An operator must decide about them. */
  readonly kept: readonly KeptRecord[];
  /** What the operator should know about the deleted records, in whole sentences. */
  readonly remark?: string | undefined;
  /** What leadsync may have written to the destination but cannot find, and what the operator must do, in whole sentences. */
  readonly unfound?: string | undefined;
}

/** A record that an erasure kept. */
export interface KeptRecord extends DestinationRecord {
  /** Why it was kept and what was done to it, as a phrase: `leadsync did not make it; its leadsync fields were emptied`. */
  readonly why: string;
}

/**
 * Copies the history of a ledger to a destination. Independent of deliveries: neither waits for the other. Each method uses only small
 * transactions and may throw SinkUnavailable. `table` is a name in catalog/mirrored.ts, `ledger` the id of a ledger.
 */
export interface Mirror {
  /** Time between two rounds, in ms. */
  readonly everyMs: number;
  /** Returns the checkpoint: the greatest row number that the table has from this ledger, or 0 if it has no row from it. */
  lastNumber(ledger: string, table: string, signal: AbortSignal): Promise<number>;
  /** Whether the stored row with this row's number has the same values in the columns that never change. */
  has(ledger: string, table: string, row: HistoryRow, signal: AbortSignal): Promise<boolean>;
  /**
   * Reassigns the ledger's last rows, at most `count`, to the id of a lost ledger, under which the destination keeps rows that the present ledger
   * no longer contains. Deletes the rows instead if they are derived from other rows.
   */
  markLost(ledger: string, table: string, count: number, signal: AbortSignal): Promise<void>;
  /** Returns the row numbers, in ascending order, of the rows that may have changed since they were written. */
  unsettled(
    table: string,
    part: { ledger: string; after: number; limit: number },
    signal: AbortSignal,
  ): Promise<readonly number[]>;
  /** Returns, in ascending order, the numbers of those of the given versions whose content the destination does not have. */
  missingContents(versions: readonly HistoryRow[], signal: AbortSignal): Promise<readonly number[]>;
  /** Upserts rows by their keys. Returns the number of rows that the destination refused; all other rows were written. */
  write(ledger: string, table: string, rows: readonly HistoryRow[], signal: AbortSignal): Promise<number>;
  /**
   * Returns the former names under which the destination still has these sinks. The caller then has to write the deliveries of these sinks
   * again.
   */
  formerNames(
    ledger: string,
    renamed: readonly RenamedSink[],
    signal: AbortSignal,
  ): Promise<readonly FormerName[]>;
  /** Writes the present state of sinks and sources, replaces former names of sinks, and deletes client keys that are no longer valid. */
  writeOverview(
    ledger: string,
    overview: Overview,
    former: readonly FormerName[],
    signal: AbortSignal,
  ): Promise<void>;
  close(): Promise<void>;
}

/** The result of a test event. */
export interface TestResult {
  /** Whether the destination accepted the test event. */
  readonly arrived: boolean;
  /** What the destination received, or why it refused and what to do, in whole sentences. */
  readonly what: string;
}

/** A request, file or row that a sink would send. */
export interface Preview {
  /** Kind and destination, without secrets: `POST https://crm.example.com/[secret]`. */
  readonly target: string;
  /** Headers of a request or columns of a row, by name. A secret value reads `[secret]`. */
  readonly fields: Readonly<Record<string, string | number | boolean | null>>;
  /** The exact body of a request or content of a file; absent for a row. */
  readonly content?: string;
}

/** The destination as a whole cannot be used now. The message is one plain sentence without text from a lead. */
export class SinkUnavailable extends Error {
  override readonly name = 'SinkUnavailable';
  /** The operator's next step. */
  readonly hint: string;
  // The fields below have the meanings that they have in `Unavailable`.
  readonly answer: string | undefined;
  readonly httpStatus: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly gone: boolean;
  readonly unsent: boolean;
  readonly mayHaveArrived: boolean | undefined;

  constructor(
    message: string,
    more: {
      hint: string;
      answer?: string | undefined;
      httpStatus?: number | undefined;
      retryAfterMs?: number | undefined;
      gone?: boolean;
      unsent?: boolean;
      mayHaveArrived?: boolean | undefined;
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
    this.mayHaveArrived = more.mayHaveArrived;
  }

  /** Returns the error, marked as a failure before any part of a lead was sent. */
  beforeSending(): SinkUnavailable {
    return this.unsent ? this : new SinkUnavailable(this.message, { ...this, unsent: true, cause: this });
  }

  /** Returns the error as the outcome of one delivery. */
  toOutcome(): Unavailable {
    return {
      kind: 'unavailable',
      reason: this.hint === '' ? this.message : `${this.message} ${this.hint}`,
      httpStatus: this.httpStatus,
      answer: this.answer,
      retryAfterMs: this.retryAfterMs,
      gone: this.gone,
      unsent: this.unsent,
      mayHaveArrived: this.mayHaveArrived,
    };
  }
}

/** The lease of an attempt expired. The sink did not make the request, commit or rename that it was about to make. */
export class LeaseOver extends SinkUnavailable {
  constructor() {
    super('The lease of the attempt expired before leadsync could send.', { hint: '', unsent: true });
  }
}

/** What leadsync passes to every sink in addition to its options. */
export interface SinkParts {
  /** The sink's configured name. */
  readonly name: string;
  readonly clock: Clock;
  /** Maximum batches that are attempted at the same time; the size of connection pools. */
  readonly concurrency: number;
  /** Maximum deliveries per batch. 1 turns batching off. */
  readonly batchMax: number;
  /**
   * Maximum time for one request, transaction or file, in ms. For a request, it includes the headers of the answer; for a request to an API, the
   * whole answer.
   */
  readonly timeoutMs: number;
  /** The user agent, `leadsync/0.1.0`, for protocols that have one. */
  readonly userAgent: string;
  /** Returns the address of a lead's page, for messages to people; undefined if the pages have no public address. */
  leadUrl(lead: LeadKey): string | undefined;
}

/** The defaults of a sink type. */
export interface SinkDefaults {
  /** The events that are owed to the sink. Contains `erased` if a delivery can notify the destination of an erasure. */
  readonly events: readonly LeadEvent[];
  readonly batchMax: number;
  /** Maximum time that the oldest delivery waits for its batch to fill, in ms. */
  readonly batchWaitMs: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** The option `rate`, as written in a configuration: `1/s`. Absent if there is no maximum. */
  readonly rate?: string;
}

/** The question that `leadsync init` asks for a sink type, and the entry that it writes into a first configuration. */
export interface SinkSetup {
  /** The option that `init` asks for. Its schema validates the answer. */
  readonly option: string;
  /** The question: `the folder to drop files in`. */
  readonly question: string;
  /** The default answer. May refer to an environment variable: `${NAME}`. */
  readonly standard: string;
  /**
   * Returns the entry in `sinks`, in lines that begin with two spaces. `answer` is YAML. `region` is the country of phone numbers without a
   * country code, for types with `standardFields`.
   */
  entry(answer: string, region?: string): string;
  /** Whether deliveries fail until `leadsync setup` has prepared the destination. Default: no. */
  readonly needsSetup?: boolean;
}

/** An option of a sink that has a value for each lead. */
export interface PerLeadOption {
  /** One sentence for the option reference. */
  readonly means: string;
  /** Whether a configuration without the option is invalid. */
  readonly required?: boolean;
  /** Returns why a constant cannot be the value, as a phrase with the operator's next step; undefined if it can. */
  fault?(constant: MappedValue): string | undefined;
}

/** A field that a sink has without an entry in `fields`: an expression with its rules. */
export interface StandardField {
  readonly from: string;
  /** Whether the field is sent with the event `created` only. Default: no. */
  readonly once?: boolean;
  /** Maximum characters; a longer text is cut. */
  readonly max?: number;
}

/** An invalid combination of options. */
export interface OptionFault {
  /** The option to show. If the configuration lacks it, the fault is that it is missing. */
  readonly option: string;
  /** What is wrong, as a phrase. */
  readonly message: string;
  /** The operator's next step. */
  readonly hint: string;
}

/** A type of sink: its name in YAML, its options and its constructor. */
export interface SinkType<Options extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  /** One sentence for the option reference. */
  readonly summary: string;
  /** The options of this type, without those common to every sink. Each has a description. */
  readonly options: Options;
  /**
   * Returns why the sink cannot accept a field of this name, as a phrase that follows the name; undefined if it can. `options` is undefined if
   * the options themselves are invalid.
   */
  fieldFault?(name: string, options: z.output<Options> | undefined): string | undefined;
  /**
   * The options that have a value for each lead, such as the channel of a message: an expression or a constant in the configuration. `deliver`
   * gets their values in `Delivery.perLead`.
   */
  readonly perLead?: Readonly<Record<string, PerLeadOption>>;
  /**
   * Returns the fields that the sink has unless the option `fields` replaces them by fields of the same names. `region` is the country of phone
   * numbers, if it is configured. Absent if the sink gets leads as received.
   */
  standardFields?(
    options: z.output<Options>,
    region: string | undefined,
  ): Readonly<Record<string, StandardField>>;
  /**
   * Returns how much of the destination's daily limit new leads use, in batches of at most `batchMax` leads. Absent if destinations of this type
   * have no such limit.
   */
  leadCost?(options: z.output<Options>, batchMax: number): LeadCost;
  /** What only `Sink.test`, and not `Sink.check`, can show about a destination of this type, as a phrase: `whether …`. */
  readonly shownByTest?: string;
  /** Names of the options that are paths. A relative path is relative to the folder of the configuration. */
  readonly paths?: readonly string[];
  /**
   * Names of the options that identify the destination, none of them secret. After such an option has changed, an erasure reports
   * that it did not reach the former destination.
   */
  readonly place?: readonly string[];
  /** Returns a sentence for each option that is valid but probably a mistake, without secrets. */
  warnings?(options: z.output<Options>): readonly string[];
  /** Returns what is wrong with options that are each valid on their own. `perLead` contains the names of those options in `perLead` that are set. */
  faults?(options: z.output<Options>, perLead: ReadonlySet<string>): readonly OptionFault[];
  readonly defaults: SinkDefaults;
  /** Returns the defaults that differ for a sink with these options, which are as written in the configuration and not validated. */
  defaultsFor?(written: Readonly<Record<string, unknown>>): Partial<SinkDefaults>;
  readonly setup: SinkSetup;
  open(options: z.output<Options>, parts: SinkParts): Sink;
}

/** Returns the defaults of a sink with these options, which are as written in the configuration and not validated. */
export function defaultsOf(
  { defaults, defaultsFor }: Pick<SinkType, 'defaults' | 'defaultsFor'>,
  written: unknown,
): SinkDefaults {
  if (typeof written !== 'object' || written === null) return defaults;
  return { ...defaults, ...defaultsFor?.(written as Readonly<Record<string, unknown>>) };
}

/** Returns `type`. Infers the type of the options from their schema, so that `open` and `warnings` are typed. */
export function defineSink<Options extends z.ZodObject>(type: SinkType<Options>): SinkType<Options> {
  return type;
}
