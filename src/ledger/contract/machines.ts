import type { Ledger } from './ledger.ts';
import type { ReloadAnswer } from './status-rows.ts';

/** What a process shows to people with each beat. No process decides anything by it. */
export interface ProcessFacts {
  /** Its version of leadsync. */
  readonly version: string;
  /** Fingerprint of its configuration in force; see `configFingerprint`. */
  readonly config: string;
  /** The clock of its machine when it sent the beat, in ms. */
  readonly clockMs: number;
  /** What became of the last request to all processes to reload; undefined if there was none. */
  readonly reload: ReloadAnswer | undefined;
}

/** What a process reports about itself with each beat. */
export interface OwnLife {
  /** The name of its machine. */
  readonly machine: string;
  /** What it was started as, such as `run`. */
  readonly role: string;
  /** The sinks that it dispatches to. A sink stays declared as long as a living process names it. */
  readonly sinks: readonly string[];
  /** The sinks whose folder is only on its machine. */
  readonly folders: readonly string[];
  /** The duties that it would take, and keeps if it holds them. It gives up all others that it holds. */
  readonly wants: readonly string[];
  /** Those of the duties for which it stands behind the other processes. */
  readonly reluctant: readonly string[];
  /** Absent: it shows nothing to people. */
  readonly facts?: ProcessFacts | undefined;
}

/** A process that works on the ledger. */
export interface KnownProcess extends Omit<OwnLife, 'facts'> {
  /** The name under which it holds leases; drawn at each start. */
  readonly holder: string;
  /** How long ago its last beat was, in ms by the ledger's clock. Negative if that clock was set back. */
  readonly seenMsAgo: number;
  /** Differs after each of its beats. */
  readonly lastBeat: string;
}

/** What one process tells the others, so that they need not wait for their next beats. May get lost. */
export type Message =
  /** A duty was given up. */
  | { readonly kind: 'given-up' }
  /** The process that polls the source is to poll it now. */
  | { readonly kind: 'poll'; readonly source: string }
  /** The process that makes exports is to make this one now. */
  | { readonly kind: 'export'; readonly name: string }
  /** Every process is to read its configuration again. The id tells a request from its repetitions. */
  | { readonly kind: 'reload'; readonly request: string };

/** A duty in the ledger, and who holds it. */
export interface KnownDuty {
  readonly duty: string;
  /** The process that holds it, or held it until its lease ended; undefined if it was given up. */
  readonly holder: string | undefined;
  /** Drawn when the duty was taken. */
  readonly token: string;
  /** Counts how often the holder has renewed its lease. */
  readonly renewals: number;
  /** How long ago the duty was taken, in ms by the ledger's clock. */
  readonly heldForMs: number;
  /** How long the lease lasts, in ms by the ledger's clock. Negative if it has ended, or since the duty was given up. */
  readonly leftMs: number;
}

/** The processes and the duties as one beat found them. */
export interface Found {
  readonly processes: readonly KnownProcess[];
  readonly duties: readonly KnownDuty[];
}

/** A duty that this process holds, and the token under which it does. */
export interface HeldToken {
  readonly duty: string;
  readonly token: string;
}

/** The answer to a beat. */
export interface Beat extends Found {
  /** The duties whose leases this beat has renewed or begun. */
  readonly held: readonly HeldToken[];
}

/** The processes that work on one ledger, and the duties among them, for one of these processes. */
export interface Machines {
  /** The name of this process. Never used again after `leave`. */
  readonly holder: string;
  /**
   * Writes a sign of life, renews the leases of the duties that this process holds, gives up those that it no longer wants, and takes those that
   * `choose` returns, in one transaction. `choose` returns duties by name; it may be called several times, so it must have no effects. A duty that
   * another process takes or renews at the same time is left to that process.
   */
  beat(own: OwnLife, choose: (found: Found) => readonly string[]): Promise<Beat>;
  /** Gives up every duty, and removes this process from the others. */
  leave(): Promise<void>;
  /**
   * Gives up every duty of a process that is dead, and removes it. Does nothing if it is alive: if `lastBeat` is given, and is no longer its last
   * beat. Returns whether the process is removed, or was before. Another process that is removed counts as missing.
   */
  remove(holder: string, lastBeat?: string): Promise<boolean>;
  /** Tells the other processes. */
  tell(message: Message): Promise<void>;
  /** Calls `hear` with what another process tells. */
  onMessage(hear: (message: Message) => void): void;
}

/** A ledger on which processes of several machines may work. */
export interface SharedLedger extends Ledger {
  /** Returns the processes of this ledger and their duties, for this process. `leaseMs` must be the same in all of them. */
  machines(leaseMs: number): Machines;
}

/** Whether processes of several machines may work on this ledger. */
export function isShared(ledger: Ledger): ledger is SharedLedger {
  return 'machines' in ledger;
}

/** A duty that this process holds. */
export interface HeldDuty {
  /**
   * Drawn when the duty was taken. The ledger refuses a poll that begins under a token which is no longer the one of the duty. Undefined if no other
   * process can hold the duty.
   */
  readonly token: string | undefined;
  /** Whether no other process can hold the duty yet, by the clocks of this machine. True only while the signal of the work has not aborted. */
  isTrusted(): boolean;
  /** Aborts when the work should return at the next place where nothing is in progress, so that another process can take the duty. */
  readonly retiring: AbortSignal;
  /** Reports that this duty works badly in this process. For five minutes, other processes come before it. */
  preferOthers(): void;
}

/** The work of one duty. Its signal aborts when the duty is lost. */
export type DutyWork = (held: HeldDuty, signal: AbortSignal) => Promise<void>;
