import type { LeadId } from './lead.ts';
import type { MappedColumn, MappedFields } from './mapped-fields.ts';

/** An event of a lead that a sink can subscribe to. Only the id of an `erased` lead is left. */
export type LeadEvent = 'created' | 'updated' | 'erased';

/** State of a delivery. `dead` means given up, and `skipped` means left out on purpose. Both have a reason. */
export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'skipped';

/** One lead owed to one sink, with everything that the sink needs to deliver it. */
export interface Delivery {
  /**
   * Idempotency key, by which receivers recognise repeats. It stays the same for every attempt with the same content, after a restart, and
   * after a restore from a backup.
   */
  readonly id: string;
  readonly source: string;
  readonly leadId: LeadId;
  /** 1 for the first content; increases by one with each change. */
  readonly version: number;
  readonly event: LeadEvent;
  /** Whether an operator requested that the lead be delivered again. False if `wasLeftOut`. */
  readonly replay: boolean;
  /** Whether `where` left this content out before, and an operator requested that it be owed again. */
  readonly wasLeftOut?: boolean | undefined;
  readonly firstSeenAt: Date;
  /** When this version was first listed, or when the lead was erased. */
  readonly changedAt: Date;
  /** Number of the poll that first listed this version. */
  readonly poll?: number | undefined;
  readonly hash: string;
  /** The lead's JSON as received. */
  readonly raw: string;
  /**
   * The text of the mapping under which an earlier attempt sent the lead, if it differs from the batch's mapping; null if the lead was sent as
   * received. A repeat under the same id must have the same content.
   */
  readonly formerMapping?: string | null | undefined;
  /** The fields that the sink's mapping computed for the lead; absent if the sink gets the lead as received. */
  readonly fields?: MappedFields | undefined;
  /** The values that the options of `SinkType.perLead` have for the lead; absent if none is configured. */
  readonly perLead?: MappedFields | undefined;
  /**
   * Whether an earlier attempt may have delivered the lead without leadsync knowing: the attempt ended without an answer, its process was killed, or
   * the ledger was restored from a backup that does not contain the attempt. A sink whose destination recognises no repeats can then ask the
   * destination before it sends the lead again.
   */
  readonly mayHaveArrived?: boolean | undefined;
  /**
   * Whether the delivery counts for speed to lead. False for a change, a replay, a backfill, and a lead that existed when its source was first
   * listed.
   */
  readonly isNewLead?: boolean | undefined;
}

/** The deliveries of one sink that are attempted together. Every attempt has the same deliveries. */
export interface Batch {
  /** The same for every attempt, so sinks may derive names from it. Consists of letters and digits. */
  readonly id: string;
  readonly sink: string;
  readonly createdAt: Date;
  /** The text of the sink's mapping when the attempt began; undefined if the sink has none. */
  readonly mapping?: string | undefined;
  /** The fields of the deliveries' mappings, in order, for the sink; undefined if all leads are sent as received. */
  readonly columns?: readonly MappedColumn[] | undefined;
  /** Oldest first. Never empty. */
  readonly deliveries: readonly Delivery[];
}

/** A batch and its lease, for a carrier. Contains no personal data. */
export interface BatchRef {
  readonly sink: string;
  readonly batch: string;
  /** Fencing token. The ledger accepts attempts only under the current lease. */
  readonly lease: number;
  /** The former lease of the batch. A carrier can remove the job of that lease. */
  readonly replaces?: number | undefined;
}
