import { isDeepStrictEqual } from 'node:util';
import { AuditFailed, type AuditStore } from '../../audit/audit-store.ts';
import type { ChangedOption } from '../../config/changes/changed-options.ts';
import { configWarnings } from '../../config/config-warnings.ts';
import type { Config, ConfigValue } from '../../config/contract/config.ts';
import { ConfigError, formatFault } from '../../config/contract/config-error.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { StaleConfig } from '../../status/problems/problem.ts';
import type { Emit } from '../../telemetry/events.ts';
import type { RunningUnits } from './running-units.ts';

/** What triggered a reload. */
export type ReloadTrigger = 'SIGHUP' | 'request' | 'watch' | 'all';

/** State of the current configuration. */
interface ConfigState {
  /** Number of configurations applied since startup, including the first. */
  readonly generation: number;
  readonly loadedAt: Date;
  /** Since when and why the configuration file is invalid or not applied. Undefined if it is in force. */
  readonly stale: StaleConfig | undefined;
  /** Every current value with its origin; secrets are masked. */
  readonly values: readonly ConfigValue[];
}

/** Why nothing was applied. */
type Refusal = {
  /** Faults of the configuration; empty if it is valid. */
  readonly faults: readonly string[];
  /** Why a valid configuration could not be applied, with the next step: for example, the ledger is locked. Null if the configuration has faults. */
  readonly failure: string | null;
};

/** Result of a reload: the changes, or why nothing was applied. */
export type ReloadResult =
  | {
      readonly applied: true;
      readonly generation: number;
      /** One short sentence for each change; empty if nothing changed. */
      readonly changes: readonly string[];
      /** Changed options that take effect at the next restart. */
      readonly restart: readonly string[];
    }
  | ({ readonly applied: false; readonly generation: number } & Refusal);

/** What a reload would change, or the faults in the configuration. */
export type ReloadPreview = { readonly file: string } & (
  | {
      readonly options: readonly ChangedOption[];
      /**
       * One sentence for each source, sink, export and backup that would change, with the number of leads. Empty if it was not requested. The
       * error if the ledger could not be read.
       */
      readonly plan: readonly string[] | LedgerError;
    }
  | { readonly faults: readonly string[] }
);

/** Reads the configuration from its current files. */
export interface ConfigReader {
  /** @throws ConfigError */
  readonly load: () => Config;
  /** Returns a string that changes whenever one of the files changes. */
  readonly stamp: (files: ConfigFiles) => string;
}

/** The files that a configuration was read from. */
export type ConfigFiles = Pick<Config, 'file' | 'secretFiles'>;

/** What was read from the files, and their stamp before that. */
interface Reading {
  readonly files: ConfigFiles;
  readonly stamp: string;
  /** Returns the configuration. @throws ConfigError */
  readonly config: () => Config;
  /** Whether the system refused to read the file, so that it must be read again although it has not changed. */
  readonly isUnread?: boolean;
}

/** What the reloader needs of the running sources and sinks. */
type Units = Pick<RunningUnits, 'apply' | 'changedOptions' | 'planned'>;

/** Why nothing is applied at a stop. */
const STOPPING = 'leadsync is stopping. The next start reads the file.';

/** Applies the configuration from its current files, one reload at a time. A failed reload leaves the last valid configuration in force. */
export class Reloader {
  readonly #units: Units;
  readonly #read: ConfigReader;
  readonly #clock: Clock;
  readonly #emit: Emit;
  readonly #audit: Pick<AuditStore, 'write' | 'hint'>;
  #isClosed = false;
  #state: ConfigState;
  #last: Promise<unknown>;
  /** The reading of the last reload, whether it succeeded or failed. */
  #loaded: Reading;
  /** The last reading of a reload or a preview. */
  #latest: Reading;

  /**
   * `config` is the first configuration, and `loadedStamp` the stamp of its files when it was read. Reloads wait for `ready`, which resolves
   * when that configuration is running.
   */
  constructor(
    units: Units,
    read: ConfigReader,
    parts: {
      readonly clock: Clock;
      readonly emit: Emit;
      readonly config: Config;
      readonly loadedStamp: string;
      readonly ready: Promise<void>;
      readonly audit: Pick<AuditStore, 'write' | 'hint'>;
    },
  ) {
    const { clock, emit, config, loadedStamp, ready, audit } = parts;
    this.#loaded = { files: config, stamp: loadedStamp, config: () => config };
    this.#latest = this.#loaded;
    this.#last = ready;
    this.#units = units;
    this.#read = read;
    this.#clock = clock;
    this.#emit = emit;
    this.#audit = audit;
    this.#state = { generation: 1, loadedAt: clock.now(), stale: undefined, values: config.values };
  }

  get state(): ConfigState {
    return this.#state;
  }

  /** Files of the last reload, whether it succeeded or failed. */
  get files(): ConfigFiles {
    return this.#loaded.files;
  }

  /** Stamp of the files at the last reload, whether it succeeded or failed; empty if the file could not be read, so that it is read again. */
  get loadedStamp(): string {
    return this.#loaded.isUnread ? '' : this.#loaded.stamp;
  }

  /**
   * Returns the changes that a reload would make now, with the plan if `withPlan` is true, or the faults. Changes nothing. Without the plan, reads the
   * files only if they have changed since they were last read, or could not be read, because an open page asks every few seconds, and reading takes the main thread.
   */
  async preview(withPlan: boolean): Promise<ReloadPreview> {
    const { file } = this.#loaded.files;
    try {
      const { files, stamp, isUnread = false } = this.#latest;
      if (withPlan || isUnread || this.#read.stamp(files) !== stamp)
        this.#latest = readAll(this.#read, files);
      const next = this.#latest.config();
      const plan = withPlan ? await this.#planned(next) : [];
      return { file, options: this.#units.changedOptions(next), plan };
    } catch (error) {
      const { faults, failure } = refusalOf(error);
      return { file, faults: failure === null ? faults : [failure] };
    }
  }

  /** Returns the plan. Returns an error of the ledger rather than throwing it, because it is no fault of the configuration. */
  async #planned(next: Config): Promise<readonly string[] | LedgerError> {
    try {
      return await this.#units.planned(next);
    } catch (error) {
      if (error instanceof LedgerError) return error;
      throw error;
    }
  }

  /** Reloads the configuration. Never rejects: if the reload fails, the result and the log state why. */
  reload(trigger: ReloadTrigger): Promise<ReloadResult> {
    const reload = this.#last.then(() => this.#reload(trigger));
    this.#last = reload;
    return reload;
  }

  /** Applies nothing more, because leadsync stops. */
  close(): void {
    this.#isClosed = true;
  }

  async #reload(trigger: ReloadTrigger): Promise<ReloadResult> {
    const { generation } = this.#state;
    if (this.#isClosed) return { applied: false, generation, faults: [], failure: STOPPING };
    try {
      const next = this.#load();
      await this.#record(trigger);
      const { changes, restart } = await this.#units.apply(next);
      const now = changes.length > 0 ? generation + 1 : generation;
      const loadedAt = changes.length > 0 ? this.#clock.now() : this.#state.loadedAt;
      this.#state = { generation: now, loadedAt, stale: undefined, values: next.values };
      this.#emit({ type: 'reloaded', trigger, generation: now, changes, restart });
      if (changes.length > 0)
        for (const warning of configWarnings(next)) this.#emit({ type: 'config-warning', warning });
      return { applied: true, generation: now, changes, restart };
    } catch (error) {
      const refusal = refusalOf(error);
      const { faults, failure } = refusal;
      const reason = failure ?? undefined;
      const { stale } = this.#state;
      this.#state = {
        ...this.#state,
        stale: { since: stale?.since ?? this.#clock.now(), faults, failure: reason },
      };
      // A file that cannot be read is tried every second.
      const isKnown =
        trigger === 'watch' && this.#loaded.isUnread && isDeepStrictEqual(stale?.faults, faults);
      if (!isKnown) this.#emit({ type: 'reload-failed', trigger, generation, faults, reason });
      return { applied: false, generation, ...refusal };
    }
  }

  /**
   * Records a reload that no client requests. The admin server has recorded the others, with the client. @throws AuditFailed; nothing may then
   * be applied
   */
  async #record(trigger: ReloadTrigger): Promise<void> {
    if (trigger === 'request') return;
    await this.#audit.write({ who: 'leadsync', via: trigger, what: 'reload' }).catch((error: unknown) => {
      throw new AuditFailed(error, this.#audit);
    });
  }

  /** Reads the configuration. @throws ConfigError */
  #load(): Config {
    this.#loaded = readAll(this.#read, this.#loaded.files);
    this.#latest = this.#loaded;
    return this.#loaded.config();
  }
}

/**
 * Reads the configuration. Takes the stamp first, so that an edit made while it reads counts as a new change. Only reading the configuration
 * shows which files hold secrets; if that list differs from the one in `before`, reads everything again.
 */
function readAll(read: ConfigReader, before: ConfigFiles): Reading {
  const stamp = read.stamp(before);
  const reading = readOnce(read, before);
  const { files } = reading;
  if (isDeepStrictEqual(files.secretFiles, before.secretFiles)) return { ...reading, stamp };
  return readAll(read, files);
}

function readOnce(read: ConfigReader, before: ConfigFiles): Omit<Reading, 'stamp'> {
  try {
    const config = read.load();
    return { files: config, config: () => config };
  } catch (error) {
    const { secretFiles } = error instanceof ConfigError ? error : before;
    const isUnread = error instanceof ConfigError && error.isUnread;
    const fail = () => {
      throw error;
    };
    return { files: { file: before.file, secretFiles }, config: fail, isUnread };
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof ConfigError) return { faults: error.faults.map(formatFault), failure: null };
  return { faults: [], failure: failureOf(error) };
}

function failureOf(error: unknown): string {
  if (error instanceof LedgerError || error instanceof AuditFailed)
    return `${error.message} ${error.hint}`.trim();
  // The next reload or start completes what this reload left undone: every sink without a unit gets one.
  const replaced = replacedProgram();
  if (replaced) return `${replaced.message} ${replaced.hint}`;
  const name = error instanceof Error ? error.name : typeof error;
  return `Unexpected error (${name}): reload again or restart, and please report it.`;
}
