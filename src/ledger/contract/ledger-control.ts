import type { DeliveryState } from '../../leads/delivery.ts';
import type { LeadId } from '../../leads/lead.ts';
import type { LeadKey } from '../../leads/person.ts';
import type { RetainedKind } from '../../leads/retention.ts';
import type { DeclaredSink, DeclaredSource, LastDeclaration } from './declaration.ts';
import type { ActionFilter, ResultFilter, SelectedIds } from './ledger-queries.ts';

/**
 * A filter for the leads to replay. A lead matches if it meets every given condition. The conditions of `ResultFilter` are met if one delivery
 * of the lead to the sink meets all of them.
 */
export interface LeadChoice extends ResultFilter {
  readonly source?: string | undefined;
  readonly lead?: LeadId | undefined;
  /** The lead was first seen, or its present content was first listed, at or after `since` and before `until`. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /**
   * The sink's mapping left out the lead's last delivery, and the sink cannot have the lead's present content. A sink that does not subscribe
   * to updates must have no version of the lead at all.
   */
  readonly leftOut?: boolean | undefined;
  /** The lead is one of these, or has one of these deliveries to the sink. */
  readonly ids?: SelectedIds | undefined;
}

/** The deliveries that an action would change. */
export interface ActionTotals {
  readonly deliveries: number;
  readonly groups: readonly ActionGroup[];
  /** The given ids that select no delivery. */
  readonly unmatched: readonly string[];
}

/** Deliveries of one source to one sink that are in the same state for the same reason. */
export interface ActionGroup {
  readonly sink: string;
  readonly source: string;
  readonly state: DeliveryState;
  readonly reason: string | undefined;
  readonly deliveries: number;
}

/** The leads that a replay would record as owed. */
export interface ReplayTotals {
  readonly leads: number;
  readonly sources: readonly string[];
  /** The first of these leads, at most 10. */
  readonly sample: readonly LeadKey[];
  /** The given ids that belong neither to a lead nor to a delivery to the sink. */
  readonly unmatched: readonly string[];
}

/** What the cancellation of a sink's replays did, or would do, with their pending deliveries. */
export interface ReplayCancellation {
  /** Number of deliveries that are skipped. */
  readonly cancelled: number;
  /**
   * Number of deliveries that stay because they are being attempted, or because they may have arrived together with other deliveries of their
   * batch.
   */
  readonly attempted: number;
  /** Number of deliveries that stay because the sink would otherwise never get a version that it was owed independently of the replay. */
  readonly needed: number;
}

/** Who discards deliveries, and why. */
export interface DiscardNote {
  readonly by: string;
  readonly note: string;
}

/** The methods by which the configuration and operators change which leads are owed, when deliveries are due, and what is deleted. */
export interface LedgerControl {
  /**
   * Declares the configured sinks. A sink that is new, or configured again, is owed no earlier leads until `backfill` has run. A sink that
   * is no longer configured keeps its deliveries, but is owed no further leads.
   */
  declareSinks(sinks: readonly DeclaredSink[]): Promise<void>;
  /** Declares the configured sources. */
  declareSources(sources: readonly DeclaredSource[]): Promise<void>;
  /** Returns the last declared configuration, so that the caller can compare another configuration with it. */
  lastDeclaration(): Promise<LastDeclaration>;
  /**
   * Handles one chunk of the leads that were listed before the sink was declared: records them as owed to the sink, or as skipped. The
   * caller repeats the call until `done` is true. A crash between two calls neither loses nor repeats a lead.
   */
  backfill(sink: string): Promise<{ owed: number; skipped: number; done: boolean }>;
  /** Pauses deliveries to a sink. Returns false if there is no such sink. */
  pause(sink: string, reason: string): Promise<boolean>;
  /**
   * Ends a pause, and makes the next probe of a held sink due now. The result of the probe decides whether the hold ends. Returns false if
   * there is no such sink.
   */
  resume(sink: string): Promise<boolean>;
  /**
   * Skips all pending deliveries of a sink that is no longer declared, except those that are being attempted. Returns the number of
   * skipped deliveries, or undefined if there is no such sink or it is still declared.
   */
  forget(sink: string): Promise<number | undefined>;
  /** Counts what `forget` would skip now. Returns undefined if there is no such sink or it is still declared. */
  forgettable(sink: string): Promise<number | undefined>;
  /**
   * Makes dead or pending deliveries due now, with a new retry schedule. Also retries discarded deliveries if `states` includes `discarded`,
   * or if the filter names deliveries by id and has no `states`. Does not retry a dead or discarded delivery if the sink has a later delivery
   * of the same lead that was not skipped. A lead that is known not to have arrived is sent with its newest content. Works in chunks, so that
   * other processes can write between chunks; after a crash, the caller calls it again for the rest. Returns how many deliveries it made due.
   */
  retry(filter: ActionFilter): Promise<number>;
  /** Counts what `retry` would make due now. */
  retriable(filter: ActionFilter): Promise<ActionTotals>;
  /**
   * Discards the dead deliveries that match: they become skipped, with the note as their reason, and `retry` can still make them pending
   * again. Works in chunks; after a crash, the caller calls it again for the rest. Returns how many it discarded.
   */
  discard(filter: ActionFilter, note: DiscardNote): Promise<number>;
  /** Counts what `discard` would discard now. */
  discardable(filter: ActionFilter): Promise<ActionTotals>;
  /**
   * Records the present versions of leads as owed to a sink again, in new deliveries. Their messages are marked as replays unless `leftOut` is
   * set. Works in chunks; after a crash, `finishReplays` adds the missing deliveries and duplicates none. Returns how many leads are owed
   * again.
   */
  replay(sink: string, leads: LeadChoice): Promise<number>;
  /** Counts the leads that `replay` would record as owed now. */
  replayable(sink: string, leads: LeadChoice): Promise<ReplayTotals>;
  /**
   * Cancels the replays of a sink: skips their pending deliveries, apart from those that `ReplayCancellation` counts as `attempted` or
   * `needed`, and ends the replays that have not yet recorded all of their leads as owed. Works in chunks; after a crash, the caller calls it
   * again for the rest. Returns undefined if there is no such sink.
   */
  cancelReplays(sink: string): Promise<ReplayCancellation | undefined>;
  /** Counts what `cancelReplays` would do now. Returns undefined if there is no such sink. */
  cancellable(sink: string): Promise<ReplayCancellation | undefined>;
  /** Finishes the replays that a crash interrupted. Returns how many leads these replays owe in total. */
  finishReplays(): Promise<number>;
  /**
   * Returns when the last poll began, or when `clockWentBack` last ran if that was later. If the clock now shows an earlier time, it was
   * set back.
   */
  clockAt(): Promise<Date>;
  /**
   * Moves due times back by as many ms as the clock was set back, so that the clock change does not delay deliveries. Works in chunks; after a crash,
   * the next call may move some deliveries a second time, which makes them due early. Returns the number of deliveries moved. A ledger whose server
   * has a clock uses only that clock, and returns undefined if the server's clock was not set back.
   * @param byMs by how much the clock of this machine was set back
   */
  clockWentBack(byMs: number): Promise<number | undefined>;
  /**
   * Computes client keys for one chunk of leads. The caller repeats the call until it returns true. Removes the existing keys if there is
   * no secret or the secret has changed.
   */
  computeClientKeys(secret: string | undefined): Promise<boolean>;
  /**
   * Deletes one chunk of the data of the given kind that is older than `before`: the content of leads or of earlier versions, attempts, or
   * rejected leads. The caller passes the returned `next` as `after` until `next` is undefined. Keeps the id of every lead, and content that a
   * pending or dead delivery may still send.
   */
  removeOld(
    kind: RetainedKind,
    before: Date,
    after: number,
  ): Promise<{ readonly removed: number; readonly next: number | undefined }>;
}
