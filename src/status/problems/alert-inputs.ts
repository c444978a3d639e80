import type { Grant, SecretOption } from '../../config/contract/config.ts';
import type { ListingSize } from '../../leads/listing-shrinkage.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { DeadReason, MachinesStatus } from '../../ledger/contract/status-rows.ts';
import type { FileRuns } from '../export-view.ts';
import type { PollFailure } from './poll-checks.ts';
import type { DiskSpace, StaleConfig } from './problem.ts';

/** State of the installation at one moment, from which the conditions are evaluated. Contains no lead data. */
export interface AlertInputs {
  readonly at: Date;
  /** `sources` and `sinks` are undefined while the ledger cannot be read. */
  readonly sources: readonly ObservedSource[] | undefined;
  readonly sinks: readonly ObservedSink[] | undefined;
  /** The processes on the ledger, and the time of its server; undefined if it cannot be read, or if only one machine can use it. */
  readonly machines?: { readonly status: MachinesStatus; readonly now: Date } | undefined;
  /** The configured exports and backups. */
  readonly exports: readonly FileRuns[];
  readonly disk: DiskSpace;
  readonly stale: StaleConfig | undefined;
  /** Reason why the carrier does not work; undefined if it works. */
  readonly carrier: string | undefined;
  /** Reason why the ledger fails; undefined if it works. */
  readonly ledger: Reason | undefined;
}

interface Reason {
  readonly reason: string;
  readonly hint: string;
}

/** A configured source, with its polls and the recent arrival of its leads. */
export interface ObservedSource {
  readonly name: string;
  /** Time at which the first poll after the last complete one was due. Undefined if none is due yet. */
  readonly overdueSince: Date | undefined;
  readonly lastSuccessAt: Date | undefined;
  /** Undefined if the ledger does not know the source yet. */
  readonly listing: ListingSize | undefined;
  /** How leadsync authenticates, if that is configured. */
  readonly grant?: Grant | undefined;
  /** The number of rejected leads in the last complete listing. */
  readonly rejected: number;
  /** The most frequent fault of the newest rejected leads, and how many of them have it; undefined if there are none. */
  readonly rejectedReason?: { readonly reason: string; readonly leads: number } | undefined;
  /** Failure of the last poll; undefined if it succeeded. */
  readonly failure: PollFailure | undefined;
  /**
   * Time from the last poll with a new lead to the last complete poll, and the probability of no new lead in that time, judging by the
   * source's history. Undefined if no complete poll has followed a poll with a new lead.
   */
  readonly silence: { readonly since: Date; readonly until: Date; readonly probability: number } | undefined;
}

/** An enabled sink that the ledger knows. `pending` and `dead` count deliveries. */
export interface ObservedSink {
  readonly name: string;
  readonly health: SinkHealth;
  readonly pending: number;
  readonly dead: number;
  /** Time at which the oldest pending delivery was owed. */
  readonly oldestOwedAt: Date | undefined;
  readonly deadReason: DeadReason | undefined;
  readonly lastDeadAt: Date | undefined;
  /** Time that leads wait on purpose for a batch to fill, in ms. */
  readonly batchWaitMs: number;
  /** Times that recent new leads took from being owed to being delivered, in ms. */
  readonly recentMs: readonly number[];
  /** Returns the options of the configuration that hold secrets. */
  readonly secrets?: () => readonly SecretOption[] | undefined;
}
