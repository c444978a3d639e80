/* The rows that the ledger returns to status, pages and commands. */

import type { Delivery, DeliveryState, LeadEvent } from '../../leads/delivery.ts';
import type { ListingSize } from '../../leads/listing-shrinkage.ts';
import type { DestinationRecord } from '../../leads/outcome.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';

/** Identifies a poll in this ledger. Later polls have larger numbers. */
export type PollId = number;

/** A delivery as commands and pages show it, without the lead's content. */
export interface DeliveryRow {
  readonly delivery: string;
  readonly source: string;
  readonly lead: string;
  readonly version: number;
  readonly event: LeadEvent;
  readonly sink: string;
  readonly state: DeliveryState;
  readonly reason: string | undefined;
  /** The number of attempts since the last retry by an operator that count towards the retry schedule. */
  readonly attempts: number;
  /** The number of all attempts that the ledger still contains. `retention` removes the attempts of settled deliveries. */
  readonly attemptsMade: number;
  /** The last of these attempts; undefined if there is none. `httpStatus` is undefined if the destination did not answer by HTTP. */
  readonly lastAttempt: { readonly httpStatus: number | undefined; readonly durationMs: number } | undefined;
  /** Whether the ledger has the destination's answer to one of these attempts. */
  readonly hasAnswer: boolean;
  readonly replay: boolean;
  readonly owedAt: Date;
  readonly nextAttemptAt: Date | undefined;
  /** Whether the delivery is in a batch: it is being attempted, or the batch waits to be attempted again. */
  readonly inBatch: boolean;
  readonly settledAt: Date | undefined;
  /** Whether the delivery was dead until an operator discarded it. `reason` then says who did so, and the operator's note. */
  readonly discarded: boolean;
  /** The record or message that the lead became at the destination; undefined if the destination did not report it. */
  readonly ref: DestinationRecord | undefined;
}

/** The state of a source in the ledger. */
export interface SourceStatus {
  readonly source: string;
  readonly leads: number;
  readonly listed: number;
  /** The number of rejected leads in the last complete listing. */
  readonly rejected: number;
  /** The size of the largest complete listing of the last week, in leads. */
  readonly listedLately: number;
  readonly lastPoll: PollRow | undefined;
  readonly lastSuccessAt: Date | undefined;
  /** The last poll that has ended, if it failed and another one runs now. */
  readonly failedBefore?: PollRow | undefined;
  /** When the first poll that failed after the last complete one began; undefined if the last poll that has ended did not fail. */
  readonly failingSince: Date | undefined;
}

/** The states of a poll. */
export const POLL_STATUSES = ['running', 'success', 'unchanged', 'partial', 'failed'] as const;
/**
 * `unchanged`: the same listing as before. `partial`: the poll recorded part of the listing and then failed. `failed`: it recorded nothing,
 * or leadsync stopped before the poll finished.
 */
export type PollStatus = (typeof POLL_STATUSES)[number];

/** A poll as commands and pages show it. */
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

/** The deliveries that a sink is owed, and its health. Cheap to query. */
export interface Backlog {
  readonly sink: string;
  readonly pending: number;
  readonly dead: number;
  /** When the oldest pending delivery was owed. */
  readonly oldestOwedAt: Date | undefined;
  readonly health: SinkHealth;
  /** Whether the sink is configured. A sink that is no longer configured keeps its pending deliveries. */
  readonly active: boolean;
}

/** The most frequent reason among the last 1,000 dead deliveries of a sink, and how many of them have it. */
export interface DeadReason {
  readonly reason: string;
  readonly deliveries: number;
}

/** The state of a sink in the ledger. */
export interface SinkStatus extends Backlog {
  /** Undefined if no delivery is dead. */
  readonly deadReason: DeadReason | undefined;
  /** When the first of the present dead deliveries became dead; undefined if no delivery is dead. */
  readonly deadSince: Date | undefined;
  /** When the most recent of them became dead. */
  readonly lastDeadAt: Date | undefined;
  readonly delivered: number;
  readonly skipped: number;
  /** The number of leads that `where` has left out since a lead was last delivered. Counts only the last 1,000 skipped leads. */
  readonly leftOut: number;
  /** When the earliest pending delivery became due, or will become due; undefined if none is pending. */
  readonly dueSince: Date | undefined;
  /** The pending deliveries whose last attempt failed; undefined if there are none. */
  readonly retrying: Retrying | undefined;
  /** The number of pending deliveries that belong to replays. */
  readonly replays: number;
}

/** Deliveries whose last attempt failed, and that leadsync will retry. */
export interface Retrying {
  readonly deliveries: number;
  /** When the delivery that has been failing for the longest time was first attempted. */
  readonly since: Date;
  /** The reason why the last attempt failed, for the delivery whose retry comes first. */
  readonly reason: string;
  /** When that delivery will be retried. */
  readonly nextAttemptAt: Date;
}

/** The inputs of alerts. Cheap to query, however large the ledger is. */
export interface Vitals {
  readonly sources: readonly (ListingSize & {
    readonly source: string;
    readonly lastSuccessAt: Date | undefined;
    /** The number of rejected leads in the last complete listing. */
    readonly rejected: number;
  })[];
  readonly sinks: readonly (Backlog & {
    readonly deadReason: DeadReason | undefined;
    /** When the most recent of the present dead deliveries became dead. */
    readonly lastDeadAt: Date | undefined;
    /**
     * Times from when new leads were first seen until they were delivered, in ms. Covers only the last few thousand deliveries of all sinks,
     * and of these only the ones that were owed at or after `recent`; see `Delivery.isNewLead`.
     */
    readonly recentMs: readonly number[];
  })[];
}

/** The new leads in a range of finished polls of a source. */
export interface PolledHours {
  readonly hours: readonly { readonly hour: Date; readonly leads: number }[];
  /** When the last poll that found a new lead started. */
  readonly lastNewAt: Date | undefined;
  /** When the last poll that read the complete listing, or found it unchanged, started. */
  readonly until: Date | undefined;
  /** The last poll of the range, to continue after it; undefined if the range is empty. */
  readonly through: PollId | undefined;
}

/** The state of every source and sink that has ever been configured. */
export interface LedgerStatus {
  readonly sources: readonly SourceStatus[];
  readonly sinks: readonly SinkStatus[];
  /** When leadsync detected that the ledger is a copy or was restored from a backup; undefined if it is neither. */
  readonly restoredAt: Date | undefined;
  /** The present time by the server's clock, which the ledger goes by; absent for a ledger in a file, which goes by the clock of its machine. */
  readonly serverNow?: Date | undefined;
  /** The processes and their duties; absent for a ledger in a file, on which only one machine works. */
  readonly machines?: MachinesStatus | undefined;
}

/** The processes that work on a ledger, those that are missing, and the duties that none of them has. */
export interface MachinesStatus {
  /** In the order of their machines. */
  readonly processes: readonly ProcessRow[];
  readonly free: readonly FreeDuty[];
}

/** What became of a request to reload. */
export interface ReloadAnswer {
  /** The id of the request. */
  readonly request: string;
  readonly result: 'applied' | 'unchanged' | 'refused';
  /** One sentence for each change; if the reload was refused, the reasons. */
  readonly lines: readonly string[];
}

/** A process, as people see it. Times go by the ledger's clock. */
export interface ProcessRow {
  readonly holder: string;
  readonly machine: string;
  readonly role: string;
  readonly startedAt: Date;
  readonly seenAt: Date;
  /** Whether it was killed, is frozen or is cut off: it was not seen for a lease, and has not stopped in order. Such a process is shown for 10 minutes. */
  readonly isMissing: boolean;
  readonly sinks: readonly string[];
  /** The duties that it has now. */
  readonly duties: readonly string[];
  /** What it shows of itself; undefined if it shows nothing. `clockAheadMs` is how far the clock of its machine is ahead of the ledger's. */
  readonly facts:
    | {
        readonly version: string;
        readonly config: string;
        readonly clockAheadMs: number;
        readonly reload: ReloadAnswer | undefined;
      }
    | undefined;
}

/** A duty that no process has. */
export interface FreeDuty {
  readonly duty: string;
  readonly since: Date;
  /** Whether a living process would take it. */
  readonly isWanted: boolean;
}

/**
 * The next delivery of a lead to a sink: the pending delivery; if there is none, the last delivery; if there was none, the delivery that a
 * backfill would create.
 */
export interface Upcoming {
  readonly delivery: Delivery;
  /** Undefined if the lead was never owed to the sink. */
  readonly state: DeliveryState | undefined;
  readonly reason: string | undefined;
  readonly settledAt: Date | undefined;
}

/** Version, sizes and schema of a ledger. */
export interface DatabaseStats {
  /** The version of SQLite; undefined if the ledger is in PostgreSQL. */
  readonly sqlite: string | undefined;
  /** The version of PostgreSQL, if the ledger is there. */
  readonly postgres?: string | undefined;
  /** The number of schema migrations applied. */
  readonly shape: number;
  readonly bytes: number;
  /** The part of `bytes` in free pages, which SQLite will reuse; undefined if the server does not tell. */
  readonly freeBytes: number | undefined;
  /** The number of rows of each table. */
  readonly rows: Readonly<Record<string, number>>;
  /** The size of each table with its indexes in bytes, and its deleted rows that the server has not removed yet; undefined in SQLite. */
  readonly tables?:
    | Readonly<Record<string, { readonly bytes: number; readonly deadRows: number }>>
    | undefined;
  /** The settings of the server on which the ledger depends, as they are without leadsync's own; undefined in SQLite. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  readonly schema: readonly string[];
}

/** One event in the history of a lead. */
export interface TraceEntry {
  readonly at: Date;
  readonly what: string;
  readonly sink: string | undefined;
  readonly delivery: string | undefined;
  readonly detail: string | undefined;
  /** The destination's answer. It may repeat the lead's text, so commands show it only on request. */
  readonly answer: string | undefined;
  /** The record or message that the lead became at the destination. */
  readonly ref?: DestinationRecord | undefined;
}
