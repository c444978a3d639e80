/* What the ledger reports of itself to status, pages and commands. */

import type { Delivery, DeliveryState, LeadEvent } from '../../leads/delivery.ts';
import type { ListingSize } from '../../leads/listing-fall.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';

/** Identifies a poll in this ledger. Later polls have larger numbers. */
export type PollId = number;

/** A delivery as people see it; contains nothing of the lead's content. */
export interface DeliveryRow {
  readonly delivery: string;
  readonly source: string;
  readonly lead: string;
  readonly version: number;
  readonly event: LeadEvent;
  readonly sink: string;
  readonly state: DeliveryState;
  readonly reason: string | undefined;
  readonly attempts: number;
  readonly replay: boolean;
  readonly owedAt: Date;
  readonly nextAttemptAt: Date | undefined;
  readonly settledAt: Date | undefined;
}

/** What the ledger knows of a source. */
export interface SourceStatus {
  readonly source: string;
  readonly leads: number;
  readonly listed: number;
  /** How many elements of the last complete listing did not match the service's schema. */
  readonly rejected: number;
  /** The size of the largest complete listing of the last week, in leads. */
  readonly listedLately: number;
  readonly lastPoll: PollRow | undefined;
  readonly lastSuccessAt: Date | undefined;
}

/** The states of a poll. */
export const POLL_STATUSES = ['running', 'success', 'unchanged', 'partial', 'failed'] as const;
/** `unchanged`: the listing was the same as before. `partial`: the poll broke off after part of the listing was recorded. `failed`: it broke off before. */
export type PollStatus = (typeof POLL_STATUSES)[number];

/** A poll as people see it. */
export interface PollRow {
  readonly poll: PollId;
  readonly source: string;
  readonly startedAt: Date;
  readonly finishedAt: Date | undefined;
  readonly status: PollStatus;
  readonly listed: number;
  readonly new: number;
  readonly changed: number;
  readonly rejected: number;
  readonly error: string | undefined;
}

/** What a sink is owed, and its health. Cheap to query. */
export interface Backlog {
  readonly sink: string;
  readonly pending: number;
  readonly dead: number;
  /** When the oldest pending delivery was owed. */
  readonly oldestOwedAt: Date | undefined;
  readonly health: SinkHealth;
  /** False for a sink that is no longer configured; its pending deliveries are kept. */
  readonly active: boolean;
}

/** What the ledger knows of a sink. */
export interface SinkStatus extends Backlog {
  readonly delivered: number;
  readonly skipped: number;
  /** When the earliest pending delivery became due, or will; undefined when none is pending. */
  readonly dueSince: Date | undefined;
  /** The pending deliveries whose last attempt failed; undefined when there are none. */
  readonly retrying: Retrying | undefined;
}

/** Deliveries that failed and will be tried again. */
export interface Retrying {
  readonly deliveries: number;
  /** The first attempt of the delivery that has been failing for longest. */
  readonly since: Date;
  /** Why the delivery that is next in line failed last. */
  readonly reason: string;
  /** When the next of them is attempted. */
  readonly nextAttemptAt: Date;
}

/** The inputs of alerts. Cheap to query, however large the ledger is. */
export interface Vitals {
  readonly sources: readonly (ListingSize & {
    readonly source: string;
    readonly lastSuccessAt: Date | undefined;
  })[];
  readonly sinks: readonly (Backlog & {
    /** When the newest of the deliveries that are dead now became dead. */
    readonly lastDeadAt: Date | undefined;
    /** Times from owed to delivered, in ms, of the last few thousand leads that are new since `recent` and were owed when first seen. */
    readonly recentMs: readonly number[];
  })[];
}

/** What a range of finished polls of a source found. */
export interface PolledHours {
  readonly hours: readonly { readonly hour: Date; readonly leads: number }[];
  /** When the last poll that found a new lead began. */
  readonly lastNewAt: Date | undefined;
  /** When the last poll that read the complete listing began. */
  readonly until: Date | undefined;
  /** The last of these polls, to continue after it; undefined when there were none. */
  readonly through: PollId | undefined;
}

/** Every source and sink that was ever configured. */
export interface LedgerStatus {
  readonly sources: readonly SourceStatus[];
  readonly sinks: readonly SinkStatus[];
  /** When leadsync noticed that the ledger is a copy or was restored from a backup; undefined when it never was. */
  readonly restoredAt: Date | undefined;
}

/** The next delivery of a lead to a sink: the pending one, else the last one, else the one that a replay would make. */
export interface Upcoming {
  readonly delivery: Delivery;
  /** Undefined when the lead was never owed to the sink. */
  readonly state: DeliveryState | undefined;
  readonly reason: string | undefined;
  readonly settledAt: Date | undefined;
}

/** Version, sizes and schema of a ledger file. */
export interface DatabaseStats {
  /** The version of SQLite. */
  readonly sqlite: string;
  /** The number of schema migrations applied. */
  readonly shape: number;
  readonly bytes: number;
  /** Of these, free pages that SQLite will reuse. */
  readonly freeBytes: number;
  /** The number of rows of each table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly schema: readonly string[];
}

/** One event in the history of a lead. */
export interface TraceEntry {
  readonly at: Date;
  readonly what: string;
  readonly sink: string | undefined;
  readonly delivery: string | undefined;
  readonly detail: string | undefined;
  /** What a destination answered. It may repeat the lead's text, and is shown only on request. */
  readonly answer: string | undefined;
}
