import type { LeadId } from '../../leads/lead.ts';
import type { RetainedKind } from '../../leads/retention.ts';
import type { DeclaredSink, DeclaredSource, LastDeclaration } from './declared.ts';
import type { DeliveryFilter } from './ledger-queries.ts';

/** A filter of the leads to replay. A lead matches when it meets every given condition. */
export interface LeadChoice {
  readonly source?: string | undefined;
  readonly lead?: LeadId | undefined;
  /** The lead was first seen, or its present content was first listed, at or after `since` and before `until`. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** What the configuration and operators change: which sinks are owed leads, when deliveries are due, and what is deleted. */
export interface LedgerControl {
  /**
   * Declares the configured sinks. A sink that is new, or back, is owed no earlier leads until `backfill` has run. A sink that is
   * no longer configured keeps its deliveries and is owed nothing more.
   */
  declareSinks(sinks: readonly DeclaredSink[]): Promise<void>;
  /** Declares the configured sources. */
  declareSources(sources: readonly DeclaredSource[]): Promise<void>;
  /** Returns what was last declared, to compare another configuration with. */
  lastDeclaration(): Promise<LastDeclaration>;
  /**
   * Owes a sink, or records as skipped, one chunk of the leads that were listed before the sink was declared. Call it until `done`.
   * A crash between two calls loses nothing and repeats nothing.
   */
  backfill(sink: string): Promise<{ owed: number; skipped: number; done: boolean }>;
  /** Pauses deliveries to a sink. Returns false when there is no such sink. */
  pause(sink: string, reason: string): Promise<boolean>;
  /** Ends a pause or a hold, and makes waiting deliveries due now. Returns false when there is no such sink. */
  resume(sink: string): Promise<boolean>;
  /**
   * Skips for good whatever a sink that is no longer declared is owed, except deliveries that are being attempted. Returns how many
   * deliveries it skipped, or undefined when there is no such sink or it is still declared.
   */
  forget(sink: string): Promise<number | undefined>;
  /**
   * Makes dead or waiting deliveries due now with a new retry schedule; of several deliveries of a lead to a sink, only the last.
   * Returns how many. A lead that never arrived is sent in its newest content. Works in chunks, so that others can write in between;
   * after a crash, retry again for the rest.
   */
  retry(filter: DeliveryFilter): Promise<number>;
  /**
   * Owes the present version of leads to a sink once more, as new deliveries that are marked as replays. Returns how many. Works in
   * chunks; after a crash `finishReplays` owes the rest, and none twice.
   */
  replay(sink: string, leads: LeadChoice): Promise<number>;
  /** Finishes replays that a crash interrupted. Returns how many leads these replays owe in all. */
  finishReplays(): Promise<number>;
  /** Returns the time of the last poll or of the last `clockWentBack`: the clock by which due times were computed. */
  clockAt(): Promise<Date>;
  /**
   * Moves due times back by as many ms as the clock was set back, so that deliveries do not wait for hours that come again. Returns
   * how many deliveries it moved. Works in chunks; after a crash the next call moves some twice, which makes them due early.
   */
  clockWentBack(byMs: number): Promise<number>;
  /**
   * Computes client keys for one chunk of leads. Call it until it returns true. Removes existing keys when there is no secret, or
   * another than before.
   */
  computeClientKeys(secret: string | undefined): Promise<boolean>;
  /**
   * Deletes one chunk of what is older than `before`: content of leads or of earlier versions, attempts, or rejected elements. Call
   * it again with the `next` that it returns until that is undefined. Keeps every id, and content that is still owed.
   */
  removeOld(
    kind: RetainedKind,
    before: Date,
    after: number,
  ): Promise<{ readonly removed: number; readonly next: number | undefined }>;
}
