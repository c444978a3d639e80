import type { Batch } from '../leads/delivery.ts';
import type { MappedColumn } from '../leads/mapped-fields.ts';
import type { DestinationRecord, Outcome } from '../leads/outcome.ts';
import type { LeadKey, Person, Subject } from '../leads/person.ts';
import type { Quota } from '../leads/quota.ts';
import type { DestinationField, MissingPart } from './destination-parts.ts';
import type { Mirror } from './mirror.ts';

/** A configured, named sink. Its constructor opens no connection; the first use does. */
export interface Sink {
  /**
   * Verifies that a delivery with these fields could succeed, without making a delivery. Without `columns`, leads are sent as received. Called at
   * startup and by `leadsync check`.
   * @throws SinkUnavailable with the problem and a hint
   */
  check(signal: AbortSignal, columns?: readonly MappedColumn[]): Promise<void>;
  /**
   * Returns the parts that the destination lacks for deliveries with these fields, in the order of their creation. Absent if destinations of this
   * type need no preparation.
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
  /** Returns previews of what `deliver` would send for this batch now, as built by the same code, with secrets masked. Sends nothing. */
  preview(batch: Batch): readonly Preview[];
  close(): Promise<void>;
  /**
   * Returns the use of the destination's daily limit according to its last answer; undefined before the first answer. Absent if the destination has
   * no such limit or does not report it.
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
   * Returns the keys of what the destination stores, in any version, about the person with this email address or phone number. A lead may be returned
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
  /** Why the record was kept and what was done to it, as a phrase: `a lead was converted to it`. */
  readonly why: string;
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
