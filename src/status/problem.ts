import { SEVERITY } from '../alerts/condition.ts';
import type { ExportView } from './export-view.ts';

/** How grave is what can be wrong: the conditions of alerts, and what only somebody who looks is told of. */
const SEVERITIES = {
  ...SEVERITY,
  not_running: 'critical',
  not_ready: 'critical',
  ledger_restored: 'warning',
  source_removed: 'warning',
  never_polled: 'warning',
  poll_failed: 'critical',
  poll_late: 'critical',
  leads_rejected: 'warning',
  leads_retried: 'warning',
  leads_stuck: 'critical',
  sink_new: 'warning',
  sink_removed: 'warning',
  sink_disabled: 'warning',
} as const;

/** What can be wrong. */
export type ProblemId = keyof typeof SEVERITIES;

/**
 * A thing that is wrong, in whole sentences, with what to do next; `about` names the source, sink or export, or is null. Texts from
 * outside are in it as they came: whoever shows it makes it safe for where it is shown.
 */
export interface Problem {
  readonly code: ProblemId;
  readonly severity: 'warning' | 'critical';
  readonly about: string | null;
  readonly what: string;
  readonly next: string;
}

/** To whom a trouble is told. */
export interface TextOptions {
  /** How a command is shown that is the next step, from its words: `status`. */
  readonly command: (words: string) => string;
  /** Absent: it is read at some later time, when ages would no longer be right. */
  readonly now?: Date;
}

/** The file is not valid since then, and an earlier configuration stays in force. */
export interface StaleConfig {
  readonly since: Date;
  readonly faults: readonly string[];
}

/** What is known beside the ledger. */
export interface ProblemContext extends TextOptions {
  readonly now: Date;
  /** A `run` or `sync` holds the data directory. */
  readonly running: boolean;
  /** Whether the running leadsync answers, where it can be asked. */
  readonly answers: boolean;
  /** Why the running leadsync cannot do its work, as it says itself; when it does not answer, that it does not. */
  readonly unready: readonly string[];
  readonly stale: StaleConfig | undefined;
  /** Deliveries travel through Redis, or may do so. */
  readonly queued: boolean;
  readonly exports: readonly ExportView[];
  /** When the ledger was found to be a copy, or restored from one. */
  readonly restoredAt?: Date | undefined;
}

/** How long after its time a poll or a delivery is still not late, in ms: starting it takes a moment. */
export const LATE_MS = 60_000;
/** The next step where nothing better is known. */
export const SEE_LOG = 'See what leadsync logs.';

/** Makes a trouble, as grave as its code says. */
export function problem(code: ProblemId, about: string | null, what: string, next: string): Problem {
  return { code, severity: SEVERITIES[code], about, what, next };
}

/** Returns what was found as a list, which is empty for what is well. */
export function listOf(found: Problem | undefined): Problem[] {
  return found ? [found] : [];
}

/** Shows a command in a text that is rewritten later into what its reader types. */
export function commandInText(words: string): string {
  return `\`leadsync ${words}\``;
}
