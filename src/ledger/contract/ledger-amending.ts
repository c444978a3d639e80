import type { LeadId } from '../../leads/lead.ts';
import type { Retained } from '../../leads/retention.ts';
import type { DeclaredSink, DeclaredSource, LastDeclared } from './declared.ts';
import type { DeliveryFilter } from './ledger-asking.ts';

/** Which leads a replay means. All that are given must hold. */
export interface LeadChoice {
  readonly source?: string | undefined;
  readonly lead?: LeadId | undefined;
  /** At or after, before: when a lead was first seen, or its current content first listed; one of the two is enough. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** What the configuration and operators ask to change: who is owed what, since when, and for how long it is kept. */
export interface LedgerAmending {
  /**
   * Tells which sinks there are now. One that is new (or is back) owes nothing for the past until `backfill` has run;
   * one that is missing keeps its deliveries and is owed nothing more.
   */
  declareSinks(sinks: readonly DeclaredSink[]): Promise<void>;
  /** Tells which sources there are, and how they are configured. */
  declareSources(sources: readonly DeclaredSource[]): Promise<void>;
  /** What was last declared, by which it is told what another configuration would change. */
  lastDeclared(): Promise<LastDeclared>;
  /**
   * Owes (or records as skipped) a part of what was listed before a sink was there; call it until `done`. A crash
   * between two calls loses nothing and repeats nothing.
   */
  backfill(sink: string): Promise<{ owed: number; skipped: number; done: boolean }>;
  /** Lets nothing go out to a sink until it is resumed. False when there is no such sink. */
  pause(sink: string, reason: string): Promise<boolean>;
  /** Ends a pause, and a hold as well: what waits is tried now. False when there is no such sink. */
  resume(sink: string): Promise<boolean>;
  /**
   * Skips what a sink is owed that is no longer declared, for good; what is on its way is left alone. Gives how many deliveries
   * that were, or undefined when there is no such sink or it is declared.
   */
  forget(sink: string): Promise<number | undefined>;
  /**
   * Makes dead or waiting deliveries due now, with a fresh retry schedule; of several deliveries of a lead to a sink only the last one.
   * Returns how many. What never arrived is sent in the lead's newest content. Many are done in parts, so that nobody waits long for
   * the ledger: whoever is killed in the middle has to ask again for the rest.
   */
  retry(filter: DeliveryFilter): Promise<number>;
  /**
   * Owes the current version of leads to a sink once more, as new deliveries that are marked as replays. Gives how many.
   * Many are done in parts; when the process is killed in the middle, `finishReplays` owes the rest, and nothing twice.
   */
  replay(sink: string, leads: LeadChoice): Promise<number>;
  /** Finishes replays whose process was killed in the middle. Gives how many leads these owe in all. */
  finishReplays(): Promise<number>;
  /** How far the clock had come when a poll last began, or `clockWentBack` was last told: what is due was reckoned by it. */
  clockAt(): Promise<Date>;
  /**
   * The clock was set back by so many ms, rounded to whole ones: pulls what is due in the future back by as much, so that
   * nobody waits for times that come again. Gives how many deliveries that were. Many are done in parts; when the process is
   * killed in the middle, whoever tells the ledger next pulls some of them twice, which makes them due early.
   */
  clockWentBack(byMs: number): Promise<number>;
  /**
   * Gives leads the keys of their clients, some at a time; call it until it gives true. Without a secret, or with another one
   * than before, the keys that there are go.
   */
  keyClients(secret: string | undefined): Promise<boolean>;
  /**
   * Removes one part of what is older than `before`: the content of leads or of their earlier versions, attempts, or what was set
   * aside. Goes on with what it gives as `next` until there is none. No id is forgotten, and no content that is still owed.
   */
  removeOld(
    kind: Retained,
    before: Date,
    after: number,
  ): Promise<{ readonly removed: number; readonly next: number | undefined }>;
}
