import type { LeadId } from './lead.ts';

/** What happened to a lead that a sink can ask to hear of. An `erased` lead has nothing left but its id. */
export type LeadEvent = 'created' | 'updated' | 'erased';

/** `dead` was given up and `skipped` was left out on purpose, each with a reason. */
export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'skipped';

/** One lead owed to one sink, with all that a sink needs to bring it there. */
export interface Delivery {
  /**
   * Names this delivery for ever: the same over every attempt, over restarts and after a restored backup.
   * Receivers recognise a repeat by it.
   */
  readonly id: string;
  readonly source: string;
  readonly leadId: LeadId;
  /** 1 for the content first seen; one more for each change. */
  readonly version: number;
  readonly event: LeadEvent;
  /** Somebody asked for the lead to be sent again. */
  readonly replay: boolean;
  readonly firstSeenAt: Date;
  /** When this version was first listed; for an erased lead, when it was erased. */
  readonly changedAt: Date;
  /** The poll that first listed this version, by its number in the ledger. */
  readonly poll?: number | undefined;
  readonly hash: string;
  /** The lead's JSON as received. */
  readonly raw: string;
}

/** The deliveries of one sink that are attempted together. A batch that is attempted again is the same batch. */
export interface Batch {
  /** Stable over attempts; sinks may derive names from it. Letters and digits. */
  readonly id: string;
  readonly sink: string;
  readonly createdAt: Date;
  /** Never empty. In order of age. */
  readonly deliveries: readonly Delivery[];
}

/** What travels through a carrier: which batch, and under which lease. Holds nobody's data. */
export interface BatchRef {
  readonly sink: string;
  readonly batch: string;
  /** Fencing token: an attempt under another lease than the ledger's is refused. */
  readonly lease: number;
  /** The lease that this one took the place of: what still travels under it can be taken off its way. */
  readonly replaces?: number | undefined;
}
