import { isDeepStrictEqual } from 'node:util';
import { configWarnings } from '../../config/config-warnings.ts';
import type { Config } from '../../config/contract/config.ts';
import { ConfigError, formatFault } from '../../config/contract/config-error.ts';
import type { ConfigValue } from '../../config/effective-values.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { StaleConfig } from '../../status/problem.ts';
import type { Emit } from '../../telemetry/events.ts';
import type { Installation } from './installation.ts';

/** Who asked for a reload. */
export type ReloadTrigger = 'SIGHUP' | 'request' | 'watch';

/** Which configuration is in force. */
interface ConfigState {
  /** Counts the configurations that were put in force since the start; the first is 1. */
  readonly generation: number;
  readonly loadedAt: Date;
  /** The file, or what it names, is no valid configuration since then, and why; undefined when it is. */
  readonly stale: StaleConfig | undefined;
  /** Every value in force, with where it comes from; secrets are masked. */
  readonly values: readonly ConfigValue[];
}

/** What came of a reload: what has changed, or what is wrong with the configuration. */
export type ReloadResult =
  | {
      readonly applied: true;
      readonly generation: number;
      /** In a few words each; none: the configuration is the one that was in force. */
      readonly changes: readonly string[];
      /** Options that have changed and take effect with the next restart. */
      readonly restart: readonly string[];
    }
  | { readonly applied: false; readonly generation: number; readonly faults: readonly string[] };

/** Reads the configuration's present text. @throws ConfigError */
export interface ConfigReader {
  readonly load: () => Config;
  /** Every value of it, with where it comes from. */
  readonly describe: () => readonly ConfigValue[];
  /** Differs when one of the files does. */
  readonly stamp: (files: ConfigFiles) => string;
}

/** What a configuration is read from. */
export type ConfigFiles = Pick<Config, 'file' | 'secretFiles'>;

/** Puts the configuration's present text in force, one reload at a time. One that fails leaves the last valid one in force. */
export class Reloader {
  readonly #installation: Pick<Installation, 'apply'>;
  readonly #read: ConfigReader;
  readonly #clock: Clock;
  readonly #emit: Emit;
  #state: ConfigState;
  #last: Promise<unknown>;
  #files: ConfigFiles;
  #loadedStamp: string;

  /** The first configuration was read from `files`, as `loadedStamp`. No reload begins before `ready`: it has to be at work. */
  constructor(
    installation: Pick<Installation, 'apply'>,
    read: ConfigReader,
    parts: {
      readonly clock: Clock;
      readonly emit: Emit;
      readonly files: ConfigFiles;
      readonly loadedStamp: string;
      readonly ready: Promise<void>;
    },
  ) {
    const { clock, emit, files, loadedStamp, ready } = parts;
    this.#files = files;
    this.#loadedStamp = loadedStamp;
    this.#last = ready;
    this.#installation = installation;
    this.#read = read;
    this.#clock = clock;
    this.#emit = emit;
    this.#state = { generation: 1, loadedAt: clock.now(), stale: undefined, values: read.describe() };
  }

  get state(): ConfigState {
    return this.#state;
  }

  /** What was read last, or could not be read. */
  get files(): ConfigFiles {
    return this.#files;
  }

  /** The stamp of what was read last, whatever came of it. */
  get loadedStamp(): string {
    return this.#loadedStamp;
  }

  /** Never rejects: the result says what is wrong, and so does the log. */
  reload(trigger: ReloadTrigger): Promise<ReloadResult> {
    const reload = this.#last.then(() => this.#reload(trigger));
    this.#last = reload;
    return reload;
  }

  async #reload(trigger: ReloadTrigger): Promise<ReloadResult> {
    const { generation } = this.#state;
    try {
      const [next, values] = [this.#load(), this.#read.describe()];
      const { changes, restart } = await this.#installation.apply(next);
      const now = changes.length > 0 ? generation + 1 : generation;
      this.#state = { generation: now, loadedAt: this.#clock.now(), stale: undefined, values };
      this.#emit({ type: 'reloaded', trigger, generation: now, changes, restart });
      if (changes.length > 0)
        for (const warning of configWarnings(next)) this.#emit({ type: 'config-warning', warning });
      return { applied: true, generation: now, changes, restart };
    } catch (error) {
      const faults = faultsOf(error);
      this.#state = {
        ...this.#state,
        stale: { since: this.#state.stale?.since ?? this.#clock.now(), faults },
      };
      this.#emit({ type: 'reload-failed', trigger, generation, faults });
      return { applied: false, generation, faults };
    }
  }

  /**
   * Takes the stamp first: what changes while it is read is seen as a change. Which files hold secrets is known behind that; where
   * they are others than before, all is read again. @throws ConfigError
   */
  #load(): Config {
    const before = this.#files;
    this.#loadedStamp = this.#read.stamp(before);
    try {
      const config = this.#read.load();
      this.#files = config;
      if (isDeepStrictEqual(config.secretFiles, before.secretFiles)) return config;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const { secretFiles } = error;
      this.#files = { file: before.file, secretFiles };
      if (isDeepStrictEqual(secretFiles, before.secretFiles)) throw error;
    }
    return this.#load();
  }
}

function faultsOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.faults.map(formatFault);
  if (error instanceof LedgerError) return [`${error.message} ${error.hint}`];
  // What it may have left undone, the next reload or start does: every sink without a unit gets one.
  const replaced = replacedProgram();
  if (replaced) return [`${replaced.message} ${replaced.hint}`];
  const name = error instanceof Error ? error.name : typeof error;
  return [`An unexpected fault (${name}): reload once more or restart, and please report it`];
}
