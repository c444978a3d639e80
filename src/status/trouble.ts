import type { ExportView } from './export-view.ts';

/**
 * A thing that is wrong, in whole sentences, with what to do next; `about` names the source, sink or export, or is null. Texts from
 * outside are in it as they came: whoever shows it makes it safe for where it is shown.
 */
export interface Trouble {
  readonly severity: 'warning' | 'critical';
  readonly about: string | null;
  readonly what: string;
  readonly next: string;
}

/** What is known beside the ledger. */
export interface Circumstances {
  readonly now: Date;
  /** A `run` or `sync` holds the data directory. */
  readonly running: boolean;
  /** Whether the running leadsync answers, where it can be asked. */
  readonly answers: boolean;
  /** Why the running leadsync cannot do its work, as it says itself; when it does not answer, that it does not. */
  readonly unready: readonly string[];
  /** It keeps to an earlier configuration: since when the file is not valid, and each fault. */
  readonly stale: { readonly since: Date; readonly faults: readonly string[] } | undefined;
  /** Deliveries travel through Redis, or may do so. */
  readonly queued: boolean;
  readonly exports: readonly ExportView[];
  /** When the ledger was found to be a copy, or restored from one. */
  readonly restoredAt?: Date | undefined;
  /** How a command is shown that is the next step, from its words: `status`. */
  readonly command: (words: string) => string;
}

/** How long after its time a poll or a delivery is still not late, in ms: starting it takes a moment. */
export const LATE_MS = 60_000;
/** The next step where nothing better is known. */
export const SEE_LOG = 'See what leadsync logs.';

/** Makes a trouble that keeps leads from being seen or delivered. */
export function critical(about: string | null, what: string, next: string): Trouble {
  return { severity: 'critical', about, what, next };
}

/** Makes a trouble that somebody should look at in time. */
export function warning(about: string | null, what: string, next: string): Trouble {
  return { severity: 'warning', about, what, next };
}
