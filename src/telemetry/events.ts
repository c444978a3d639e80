/**
 * Everything that leadsync reports while it runs. The list is closed: logs, metrics and tests are drawn from it.
 * No event holds a secret or any of a lead's text; a lead is named by source and id.
 */
export type Event =
  | {
      type: 'started';
      version: string;
      carrier: 'in-process' | 'bullmq';
      sources: number;
      sinks: number;
      dataDir: string;
    }
  /** There is no ledger, and who could tell whether there was one does not answer: each with the reason. It is asked again and again. */
  | { type: 'start-waiting'; reasons: readonly string[]; dataDir: string; patienceMs: number }
  /** What the configuration has changed since leadsync last ran. */
  | { type: 'configured'; changes: readonly string[] }
  | {
      type: 'reloaded';
      trigger: string;
      generation: number;
      changes: readonly string[];
      /** Options that take effect with the next restart. */
      restart: readonly string[];
    }
  /** The configuration is valid, and something in it may not be meant: a sentence with where it stands. */
  | { type: 'config-warning'; warning: string }
  /** The last valid configuration stays in force. */
  | { type: 'reload-failed'; trigger: string; generation: number; faults: readonly string[] }
  | { type: 'stopping'; signal: string; graceMs: number }
  | { type: 'stopped'; clean: boolean }
  | { type: 'poll-started'; source: string; poll: number }
  | {
      type: 'poll-progress';
      source: string;
      poll: number;
      listed: number;
      recorded: number;
      leadsPerSecond: number;
    }
  | {
      type: 'poll-finished';
      source: string;
      poll: number;
      status: 'success' | 'unchanged';
      listed: number;
      new: number;
      changed: number;
      rejected: number;
      bytes: number;
      durationMs: number;
    }
  | {
      type: 'poll-failed';
      source: string;
      poll: number | undefined;
      status: 'partial' | 'failed';
      code: string;
      reason: string;
      hint: string;
      /** ms until the next try. */
      retryInMs: number;
      /** Failures in a row, this one included. */
      failures: number;
      /** What was recorded before a `partial` poll broke off. */
      recorded?:
        | { listed: number; new: number; changed: number; rejected: number; bytes: number }
        | undefined;
      durationMs?: number | undefined;
    }
  | { type: 'listing-emptied'; source: string; poll: number; before: number }
  | { type: 'leads-rejected'; source: string; poll: number; rejected: number; reasons: readonly string[] }
  | { type: 'token-renewed'; source: string; grant: string; expiresAt: Date | undefined }
  | { type: 'token-fallback'; source: string; reason: string }
  | { type: 'backfill'; sink: string; owed: number; skipped: number; done: boolean }
  | {
      type: 'batch-settled';
      sink: string;
      batch: string;
      delivered: number;
      refused: number;
      unavailable: number;
      durationMs: number;
      /** Why the first of those that failed did. */
      reason?: string | undefined;
      /** For each delivered lead since its content was first listed, in seconds. Not of replays, nor of the word of an erasure. */
      secondsToDelivery: readonly number[];
    }
  | ({ type: 'delivery-refused' } & FailedDelivery)
  | ({ type: 'delivery-dead'; attempts: number } & FailedDelivery)
  | { type: 'deliveries-revived'; sink: string; revived: number }
  | { type: 'batch-stale'; sink: string; batch: string }
  | { type: 'sink-held'; sink: string; reason: string; probeAt: Date | undefined }
  | { type: 'sink-recovered'; sink: string; heldMs: number }
  | { type: 'sink-paused'; sink: string; reason: string }
  | { type: 'sink-resumed'; sink: string }
  | { type: 'carrier-unavailable'; reason: string; hint: string }
  | { type: 'carrier-recovered'; downMs: number }
  | { type: 'carrier-warning'; reason: string; hint: string }
  /** The worker of a sink's queue began nothing, although it could, and was replaced. */
  | { type: 'carrier-replaced'; sink: string; waiting: number; silentMs: number }
  | { type: 'ledger-failed'; operation: string; reason: string; hint: string }
  /** The file was removed, or another put in its place; leadsync stops. */
  | { type: 'ledger-replaced'; dataDir: string }
  /** The program on disk is another version than the one that runs, or is gone. */
  | { type: 'program-replaced' }
  /** The ledger has this version's schema now. `copy`: where it is kept as it was; or `reason`, why it is not. */
  | {
      type: 'ledger-upgraded';
      fromSchema: number;
      toSchema: number;
      copy: string | undefined;
      reason: string | undefined;
    }
  /** The ledger is a copy or was restored from a backup: deliveries made since then may go out again. */
  | { type: 'ledger-restored'; dataDir: string }
  /** A query that somebody left open keeps so much of what was written out of the ledger's file. */
  | { type: 'ledger-held-up'; bytes: number }
  /** What was older than the configuration wants it kept, and is gone: how many of each kind. */
  | { type: 'retained'; leads: number; versions: number; attempts: number; rejected: number }
  /** The ledger was restored from before these leads were erased. */
  | { type: 'erased-again'; leads: number }
  /** A scheduled export is where it belongs; `removed` older ones are there no longer. */
  | {
      type: 'export-made';
      export: string;
      place: string;
      rows: number;
      bytes: number;
      removed: number;
      durationMs: number;
    }
  | {
      type: 'export-failed';
      export: string;
      reason: string;
      hint: string;
      /** Failures in a row, this one included. */
      failures: number;
      retryInMs: number;
    }
  | { type: 'clock-set-back'; byMs: number; moved: number }
  /** Deliveries go on: only what the ledger knows beside the leads is not brought there. */
  | { type: 'mirror-failed'; sink: string; reason: string; hint: string }
  /** Somebody is to be told that something is wrong, or, once a day, that it still is. `about` is empty where there is only one. */
  | { type: 'alert'; condition: string; about: string; reason: string; hint: string; lasts: boolean }
  | { type: 'alert-over'; condition: string; about: string; reason: string; lastedMs: number }
  | { type: 'alert-sent'; to: string; notices: number }
  /** It is tried again, with growing pauses. */
  | { type: 'alert-unsent'; to: string; reason: string; hint: string; retryInMs: number }
  /** Until it can be written, a restart forgets who was told what. */
  | { type: 'alerts-unkept'; reason: string }
  /** Said once, until traces can be sent again. They are dropped. */
  | { type: 'traces-unsent'; reason: string }
  | { type: 'check-failed'; sink: string; reason: string; hint: string };

/** A delivery that a sink refused, or that was given up. */
export interface FailedDelivery {
  readonly sink: string;
  readonly source: string;
  readonly lead: string;
  readonly delivery: string;
  /** It was to tell that the lead is erased: what is answered to that is not kept. */
  readonly ofErased: boolean;
  readonly reason: string;
}

/** The name of an event; a line of the log has it as `event`. */
export type EventType = Event['type'];

/** Takes an event; never throws and never waits. */
export type Emit = (event: Event) => void;

/** The codes of a failed poll that waiting does not mend. */
export const NEEDS_SOMEBODY: ReadonlySet<string> = new Set([
  'credentials',
  'login-needed',
  'unauthorized',
  'forbidden',
  'other-origin',
]);
