import type { LeadId } from '../../leads/lead.ts';
import type { RetainedKind } from '../../leads/retention.ts';
import type { DeclaredSink, DeclaredSource, LastDeclaration } from './declared.ts';
import type { DeliveryFilter } from './ledger-queries.ts';

/** A filter of the leads to replay. A lead matches if it meets every given condition. */
export interface LeadChoice {
  readonly source?: string | undefined;
  readonly lead?: LeadId | undefined;
  /** The lead was first seen, or its present content was first listed, at or after `since` and before `until`. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** The methods by which the configuration and operators change which leads are owed, when deliveries are due, and what is deleted. */
export interface LedgerControl {
  /**
   * Declares the configured sinks. A sink that is new, or configured again, is owed no earlier leads until `backfill` has run. A sink
   * that is no longer configured keeps its deliveries and is owed no further leads.
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
  /** Pauses deliveries to a sink. Returns false if there is no such sink. */
  pause(sink: string, reason: string): Promise<boolean>;
  /** Ends a pause or a hold, and makes deliveries that wait for the next probe due now. Returns false if there is no such sink. */
  resume(sink: string): Promise<boolean>;
  /**
   * Skips all pending deliveries of a sink that is no longer declared, except those that are being attempted. Returns the number of
   * skipped deliveries, or undefined if there is no such sink or it is still declared.
   */
  forget(sink: string): Promise<number | undefined>;
  /**
   * Makes dead or pending deliveries due now with a new retry schedule; of several deliveries of a lead to a sink, only the last.
   * Returns how many. A lead that never arrived is sent in its newest content. Works in chunks, so that other processes can write in
   * between; after a crash, call it again for the rest.
   */
  retry(filter: DeliveryFilter): Promise<number>;
  /**
   * Owes the present version of leads to a sink again, as new deliveries that are marked as replays. Returns how many. Works in
   * chunks; after a crash `finishReplays` owes the rest, and none twice.
   */
  replay(sink: string, leads: LeadChoice): Promise<number>;
  /** Finishes replays that a crash interrupted. Returns the total number of leads that these replays owe. */
  finishReplays(): Promise<number>;
  /** Returns the time of the last poll or of the last `clockWentBack`: the clock by which due times were computed. */
  clockAt(): Promise<Date>;
  /**
   * Moves due times back by as many ms as the clock was set back, so that deliveries are not delayed by that time. Returns how many
   * deliveries it moved. Works in chunks; after a crash the next call moves some twice, which makes them due early.
   */
  clockWentBack(byMs: number): Promise<number>;
  /**
   * Computes client keys for one chunk of leads. Call it until it returns true. Removes existing keys if there is no secret or the
   * secret has changed.
   */
  computeClientKeys(secret: string | undefined): Promise<boolean>;
  /**
   * Deletes one chunk of what is older than `before`: content of leads or of earlier versions, attempts, or rejected leads. Call it
   * again with the `next` that it returns until that is undefined. Keeps every id, and content that is still owed.
   */
  removeOld(
    kind: RetainedKind,
    before: Date,
    after: number,
  ): Promise<{ readonly removed: number; readonly next: number | undefined }>;
}
