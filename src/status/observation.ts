import type { ExportState } from '../exports/export-states.ts';
import type { ListingSize } from '../leads/listing-fall.ts';
import type { SinkHealth } from '../leads/sink-health.ts';
import type { StaleConfig } from './problem.ts';
import type { PollFailure } from './shared-problems.ts';

/** How things are at one moment: what the conditions are judged by. Holds nothing of a lead. */
export interface Observation {
  readonly at: Date;
  /** Undefined while the ledger cannot be read: then nobody knows. */
  readonly sources: readonly ObservedSource[] | undefined;
  readonly sinks: readonly ObservedSink[] | undefined;
  readonly exports: readonly ObservedExport[];
  readonly stale: StaleConfig | undefined;
  /** Why no delivery can travel. */
  readonly carrier: string | undefined;
  /** Why nothing can be recorded, or read. */
  readonly ledger: Reason | undefined;
}

interface Reason {
  readonly reason: string;
  readonly hint: string;
}

/** A configured export, as its last runs left it. */
export type ObservedExport = Pick<ExportState, 'done' | 'failed'> & { readonly name: string };

/** A configured source, by its polls and by when its leads came in the last weeks. */
export interface ObservedSource {
  readonly name: string;
  /** When the first poll was due after the last complete one; undefined when none is due yet. */
  readonly overdueSince: Date | undefined;
  readonly lastSuccessAt: Date | undefined;
  /** Undefined: the ledger does not know the source yet. */
  readonly listing: ListingSize | undefined;
  /** Why the last poll failed; undefined when it did not. */
  readonly failure: PollFailure | undefined;
  /** Less likely than this, by its own history, was so long a time without a new lead; undefined when that cannot be said. */
  readonly silence: { readonly since: Date; readonly until: Date; readonly probability: number } | undefined;
}

/** An enabled sink that the ledger knows. `pending` and `dead` count deliveries. */
export interface ObservedSink {
  readonly name: string;
  readonly health: SinkHealth;
  readonly pending: number;
  readonly dead: number;
  /** When the oldest pending delivery was owed. */
  readonly oldestOwedAt: Date | undefined;
  readonly lastDeadAt: Date | undefined;
  /** How long the oldest lead waits for its batch to fill, in ms: that is wanted. */
  readonly batchWaitMs: number;
  /** Owed → delivered, in ms, of leads that were new lately. */
  readonly recentMs: readonly number[];
}
