import type { SecretOption } from '../../config/contract/config.ts';
import { type AlertCode, PROBLEMS, type Severity, type StatusCode } from '../../leads/problems.ts';
import type { MachinesStatus } from '../../ledger/contract/status-rows.ts';
import { printMomentAndAge } from '../../platform/text/human-readable.ts';
import type { ExportView } from '../export-view.ts';

/**
 * A problem in whole sentences, with its next step. `about` names the source, sink or export, or is null. The message and
 * the steps can contain text from outside, which the caller must escape for its medium.
 */
export interface Problem {
  readonly code: StatusCode;
  readonly severity: Severity;
  readonly about: string | null;
  readonly message: string;
  readonly nextStep: string;
  /** The next step without the commands for which pages have a button or a link. */
  readonly pageStep: string;
}

/** How the text of a problem is written. */
export interface TextOptions {
  /** Formats a command for a next step. `words` is the command without `leadsync`, such as `status`. */
  readonly command: (words: string) => string;
  /** Current time, for ages. Absent if the text is read later, when ages would be wrong. */
  readonly now?: Date;
  /**
   * Whether the text may say where a value of the configuration comes from: an environment variable, a file with a secret, or a place in the
   * configuration file. Only a reader who may see the configuration gets such a text; alerts have other readers. Any text may name the value itself, such
   * as a directory or an address, because the page of a sink shows it to everyone, too.
   */
  readonly namesOrigins?: boolean;
}

/** A configuration file that is not valid or could not be applied, while an earlier configuration stays in force. */
export interface StaleConfig {
  readonly since: Date;
  /** Faults of the file; empty if it is valid. */
  readonly faults: readonly string[];
  /** Why a valid file could not be applied, with the next step; for example, because the ledger cannot be written. */
  readonly failure?: string | undefined;
}

/** The free space on the disk of the data directory, and the space below which it is a problem, in bytes. */
export interface DiskSpace {
  /** Undefined if it is not known. */
  readonly freeBytes: number | undefined;
  readonly minFreeBytes: number;
  /** By how many bytes the free space shrank in a period, negative if it grew; undefined if that is not known. */
  readonly change?: { readonly lostBytes: number; readonly overMs: number } | undefined;
}

/** A condition of an alert that has lasted long enough to be reported. */
export interface ActiveAlert {
  readonly condition: AlertCode;
  readonly about: string | undefined;
  readonly what: string;
  readonly severity: Severity;
}

/** What `findProblems` knows in addition to the ledger. */
export interface ProblemContext extends TextOptions {
  readonly now: Date;
  /** Whether a `run` or `sync` process uses the data directory. */
  readonly running: boolean;
  /** If none does: the processes that work on the ledger without this data directory, or were killed in the last 10 seconds. */
  readonly usedElsewhere?: string | undefined;
  /** Whether the running leadsync answers requests. True if it has no admin address, or if no leadsync is running. */
  readonly answers: boolean;
  /** Why the running leadsync is not ready, as it states itself. If it does not answer, a sentence that says so. */
  readonly unready: readonly string[];
  readonly stale: StaleConfig | undefined;
  /** Whether deliveries travel, or can travel, through Redis. */
  readonly queued: boolean;
  readonly exports: readonly ExportView[];
  /** Returns the options that hold secrets; undefined if they are not known because the configuration has faults. Called only for a text that needs them. */
  readonly secrets?: () => readonly SecretOption[] | undefined;
  readonly disk?: DiskSpace | undefined;
  /** When leadsync found that the ledger is a copy or was restored from a backup. */
  readonly restoredAt?: Date | undefined;
  /** The alerts that are active. Absent: they are not known. */
  readonly alerts?: readonly ActiveAlert[];
  /** The processes on a ledger that several machines may use. */
  readonly machines?: MachinesStatus | undefined;
}

/** Tolerance before a poll or a delivery counts as late, in ms. */
export const LATE_MS = 60_000;
/** Length of a hold or of a series of failed polls, in ms, up to which it is a warning, because most of this length end by themselves. */
export const SHORT_MS = 300_000;
/** Next step if no better one is known. */
export const SEE_LOG = 'See the log of leadsync.';

/** Returns a problem. Unless stated otherwise, its severity is that of its code. */
export function problem(
  code: StatusCode,
  about: string | null,
  message: string,
  nextStep: string,
  pageStep = nextStep,
  severity: Severity = PROBLEMS[code].severity,
): Problem {
  return { code, severity, about, message, nextStep, pageStep };
}

/** Returns a list with the problem, or an empty list if there is none. */
export function listOf(found: Problem | undefined): Problem[] {
  return found ? [found] : [];
}

/** Formats a command in backticks, for text whose commands are rewritten later for this installation. */
export function commandInText(words: string): string {
  return `\`leadsync ${words}\``;
}

/** Returns `has been STATE since …` for text that is read now, and `is STATE` for an alert, which states the start on a line of its own. */
export function isSince(state: string, at: Date, { now }: TextOptions): string {
  return now ? `has been ${state} since ${printMomentAndAge(at, now)}` : `is ${state}`;
}

/** Returns clauses as one sentence, with semicolons between them; empty if there are none. */
export function sentenceOf(clauses: readonly string[]): string {
  return clauses.length === 0 ? '' : `${clauses.join('; ')}.`;
}
